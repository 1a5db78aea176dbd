import { expect, it } from "vitest";
import { simulate } from "../helpers/queue-simulation/simulate.ts";

const schedules = Number(process.env["SCHEDULES"] ?? 400);

it(`keeps its rules in ${schedules} schedules of kills, frozen processes, cut connections and clocks that differ`, async () => {
  const broken: object[] = [];
  const sums = { faults: 0, leaseEnds: 0, takeovers: 0 };
  for (let schedule = 0; schedule < schedules; schedule += 1) {
    const { violations, faults, leaseEnds, takeovers } = await simulate(schedule);
    if (violations.length > 0) broken.push({ schedule, violations });
    sums.faults += faults;
    sums.leaseEnds += leaseEnds;
    sums.takeovers += takeovers;
  }
  expect(broken).toEqual([]);
  // The schedules meet what they are to meet.
  for (const sum of Object.values(sums)) expect(sum).toBeGreaterThan(schedules / 4);
});

it("repeats a schedule by its seed and number", async () => {
  expect(await simulate(7, 1)).toEqual(await simulate(7, 1));
});
