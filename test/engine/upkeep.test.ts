import { describe, expect, it } from "vitest";
import { platformJobs, startUpkeep } from "../../src/engine/upkeep.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

const hourMs = 3_600_000;
const settle = () => new Promise((resolve) => setImmediate(resolve));

function setUp() {
  const clock = new ManualClock();
  const [ran, errors]: [string[], unknown[]] = [[], []];
  const job = (name: string) => async () => void ran.push(name);
  return { clock, ran, errors, job, onError: (error: unknown) => void errors.push(error) };
}

describe("upkeep", () => {
  it("runs its jobs at the start and every hour, one after the other", async () => {
    const { clock, ran, errors, job, onError } = setUp();
    let end = () => {};
    const slow = async () => {
      ran.push("slow");
      await new Promise<void>((resolve) => (end = resolve));
    };
    const upkeep = startUpkeep({ clock, onError, jobs: [slow, job("quick")] });
    await settle();
    clock.advance(hourMs);
    expect(ran).toEqual(["slow"]);
    end();
    await settle();
    expect(ran).toEqual(["slow", "quick"]);
    clock.advance(hourMs - 1);
    expect(ran).toHaveLength(2);
    clock.advance(1);
    end();
    await settle();
    expect(ran).toEqual(["slow", "quick", "slow", "quick"]);
    await upkeep.stop();
    expect({ pending: clock.pending, errors }).toEqual({ pending: 0, errors: [] });
  });

  it("reports a job that fails, runs the others, and runs it again next time", async () => {
    const { clock, ran, errors, job, onError } = setUp();
    const failing = async () => {
      ran.push("failing");
      throw new Error(`failure ${errors.length + 1}`);
    };
    const upkeep = startUpkeep({ clock, onError, jobs: [failing, job("next")] });
    await settle();
    clock.advance(hourMs);
    await settle();
    expect(ran).toEqual(["failing", "next", "failing", "next"]);
    expect(errors.map((error) => (error as Error).message)).toEqual(["failure 1", "failure 2"]);
    await upkeep.stop();
  });

  it("stops after the job that runs, and begins no other", async () => {
    const { clock, ran, job, onError } = setUp();
    let end = () => {};
    const slow = () => new Promise<void>((resolve) => (end = resolve));
    const upkeep = startUpkeep({ clock, onError, jobs: [slow, job("next")] });
    let isStopped = false;
    const stopped = upkeep.stop().then(() => (isStopped = true));
    await settle();
    expect(isStopped).toBe(false);
    end();
    await stopped;
    clock.advance(hourMs);
    await settle();
    expect(ran).toEqual([]);
  });

  it("makes partitions, and removes idempotency keys and deliveries that are old", async () => {
    const { clock, ran, onError, job } = setUp();
    const jobs = platformJobs({
      partitions: { ensure: job("partitions") },
      idempotency: { sweep: job("keys") },
      webhooks: {
        removeEnded: async ({ olderThanDays }: { olderThanDays: number }) =>
          void ran.push(`deliveries of ${olderThanDays} days`),
      },
    } as unknown as Parameters<typeof platformJobs>[0]);
    const upkeep = startUpkeep({ clock, onError, jobs });
    await settle();
    expect(ran).toEqual(["partitions", "keys", "deliveries of 30 days"]);
    await upkeep.stop();
  });
});
