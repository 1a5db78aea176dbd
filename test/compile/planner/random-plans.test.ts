import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WorkerTask } from "../../../src/definition/worker.ts";
import type { Subtask } from "../../../src/state/plan.ts";
import { timedPlans } from "../../helpers/arbitrary-plan.ts";
import { plannerThread } from "../../helpers/run-plan.ts";
import { withTime } from "../../helpers/with-time.ts";

const retries = 2;

interface Story {
  readonly subtasks: readonly Subtask[];
  /** By id: attempts that find everything busy, and whether the next one fails for good. */
  readonly fates: ReadonlyMap<string, { readonly busy: number; readonly broken: boolean }>;
}

const fate = fc.record({
  busy: fc.constantFrom(0, 0, 0, 0, 1, 2, 3),
  broken: fc.constantFrom(false, false, false, true),
});

const stories: fc.Arbitrary<Story> = timedPlans(12).chain(({ subtasks }) =>
  fc
    .array(fate, { minLength: subtasks.length, maxLength: subtasks.length })
    .map((fates) => ({ subtasks, fates: new Map(subtasks.map(({ id }, at) => [id, fates[at]!])) })),
);

/** What each subtask has to come to, by the definition. */
function expectedOf({ subtasks, fates }: Story) {
  const byId = new Map(subtasks.map((subtask) => [subtask.id, subtask]));
  const known = new Map<string, readonly [status: string, attempts: number, result: unknown]>();
  const outcome = (id: string): readonly [string, number, unknown] => {
    const before = known.get(id);
    if (before !== undefined) return before;
    const { dependencies = [] } = byId.get(id) ?? {};
    const { busy = 0, broken = false } = fates.get(id) ?? {};
    const results = [...new Set(dependencies)].map(outcome);
    const attempts = Math.min(busy, retries) + 1;
    const found = results.some(([status]) => status !== "done")
      ? (["skipped", 0, null] as const)
      : busy > retries || broken
        ? (["failed", attempts, null] as const)
        : (["done", attempts, `${id}(${results.map(([, , result]) => result).join()})`] as const);
    known.set(id, found);
    return found;
  };
  return Object.fromEntries(subtasks.map(({ id }) => [id, outcome(id)]));
}

async function run({ subtasks, fates }: Story, maxParallel: number) {
  const gauge = { now: 0, most: 0 };
  const early: string[] = [];
  const ended = new Set<string>();
  const thread = await plannerThread({
    plan: { subtasks },
    retries,
    max_parallel: maxParallel,
    max_depth: 0,
    on_failure: "partial",
    execution_config: { max_attempts: 1, timeout_seconds: 86_400 },
    does: async ({ id, attempt, results }: WorkerTask) => {
      gauge.most = Math.max(gauge.most, (gauge.now += 1));
      early.push(...Object.keys(results).filter((one) => !ended.has(one)));
      for (let turns = 0; turns < (id.length % 3) + 1; turns += 1) {
        await new Promise(setImmediate);
      }
      gauge.now -= 1;
      const { busy, broken } = fates.get(id)!;
      if (attempt <= busy) throw Object.assign(new Error("busy"), { status: 503 });
      if (broken) throw new Error("broken");
      ended.add(id);
      return `${id}(${Object.values(results).join()})`;
    },
  });
  const { status } = await withTime(thread.clock, thread.start(), 1000);
  const { subtasks: states } = await thread.planning();
  const outcomes = Object.entries(states).map(([id, state]) => [
    id,
    [state.status, state.attempts, state.result],
  ]);
  return { status, outcomes: Object.fromEntries(outcomes), most: gauge.most, early };
}

describe("any plan", () => {
  it("comes to what its dependencies and failures say, however many run at once", async () => {
    await fc.assert(
      fc.asyncProperty(stories, fc.integer({ min: 1, max: 12 }), async (story, maxParallel) => {
        const expected = expectedOf(story);
        const isAnyDone = Object.values(expected).some(([status]) => status === "done");
        const { status, outcomes, most, early } = await run(story, maxParallel);
        expect(outcomes).toEqual(expected);
        expect([status, early]).toEqual([isAnyDone ? "COMPLETED" : "FAILED", []]);
        expect(most).toBeLessThanOrEqual(maxParallel);
      }),
      { numRuns: 40 },
    );
  }, 60_000);
});
