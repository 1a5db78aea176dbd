import { describe, expect, it } from "vitest";
import { currentTimeTool } from "../../../src/tools/builtins/current-time.ts";
import { callBuiltin } from "../../helpers/builtin-call.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";

describe("current_time", () => {
  const clock = new ManualClock("2026-01-01T23:30:05.678Z");

  it.each([
    [{}, "2026-01-01T23:30:05+00:00", "Thursday", "UTC"],
    [{ timezone: "Europe/Berlin" }, "2026-01-02T00:30:05+01:00", "Friday", "Europe/Berlin"],
    [{ timezone: "Asia/Kathmandu" }, "2026-01-02T05:15:05+05:45", "Friday", "Asia/Kathmandu"],
    [{ timezone: "America/New_York" }, "2026-01-01T18:30:05-05:00", "Thursday", "America/New_York"],
  ])("tells it for %j", async (args, time, weekday, timezone) => {
    const { result } = await callBuiltin(currentTimeTool(), args, clock);
    expect(result).toEqual({ time, weekday, timezone });
  });

  it("knows summer time and midnight", async () => {
    const summer = new ManualClock("2026-06-30T22:00:00.000Z");
    const { result } = await callBuiltin(currentTimeTool(summer), { timezone: "Europe/Berlin" });
    expect(result).toMatchObject({ time: "2026-07-01T00:00:00+02:00", weekday: "Wednesday" });
  });

  it("fails for a zone that there is not", async () => {
    expect(await callBuiltin(currentTimeTool(), { timezone: "Mars/Base" }, clock)).toMatchObject({
      outcome: "failure",
      error: expect.stringContaining('There is no time zone "Mars/Base".'),
    });
  });
});
