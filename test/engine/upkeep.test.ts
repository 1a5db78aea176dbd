import { describe, expect, it } from "vitest";
import { ephemeralThreadsJob, platformJobs, startUpkeep } from "../../src/engine/upkeep.ts";
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

  it("deletes the threads of ended stateless runs, although one of them fails", async () => {
    const { clock, errors, onError } = setUp();
    const thread = (id: string) => ({ id, tenantId: "t", threadId: id, at: "now" });
    const batches = [[thread("a"), thread("b")], [thread("c"), thread("d")], []];
    const asked: object[] = [];
    const endedEphemeral = async (of: object) => (asked.push(of), batches.shift() ?? []);
    const deleted: string[] = [];
    const job = ephemeralThreadsJob({
      platform: { instances: { endedEphemeral } } as never,
      clock,
      deleteThread: async ({ threadId }) => {
        if (threadId === "b") throw new Error("in use");
        deleted.push(threadId);
      },
      isBusy: () => false,
      isStopped: () => deleted.includes("c"),
      onError,
    });
    await job();
    const before = new Date(clock.now().getTime() - 60_000);
    expect(asked).toEqual([
      { before, limit: 100 },
      { before, limit: 100, after: thread("b") },
    ]);
    expect(deleted).toEqual(["a", "c"]);
    expect(errors).toEqual([new Error("in use")]);
  });

  it("pauses for 50 ms before each deletion while runs execute, and deletes nothing once stopped", async () => {
    const { clock, errors, onError } = setUp();
    const threads = ["a", "b", "c", "d"].map((id) => ({ id, tenantId: "t", threadId: id }));
    const batches = [threads, []];
    const deleted: string[] = [];
    let [isBusy, isStopped] = [true, false];
    const job = ephemeralThreadsJob({
      platform: { instances: { endedEphemeral: async () => batches.shift() ?? [] } } as never,
      clock,
      deleteThread: async ({ threadId }) => void deleted.push(threadId),
      isBusy: () => isBusy,
      isStopped: () => isStopped,
      onError,
    });
    let isEnded = false;
    const ended = job().finally(() => (isEnded = true));
    await settle();
    clock.advance(49);
    await settle();
    expect(deleted).toEqual([]);
    clock.advance(1);
    await settle();
    expect(deleted).toEqual(["a"]);
    // The next one has begun its pause.
    isBusy = false;
    clock.advance(50);
    await settle();
    expect([deleted, isEnded]).toEqual([["a", "b", "c", "d"], true]);
    await ended;

    batches.push(threads);
    isBusy = true;
    const again = job();
    await settle();
    isStopped = true;
    clock.advance(50);
    await again;
    expect([deleted.length, errors, clock.pending]).toEqual([4, [], 0]);
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
