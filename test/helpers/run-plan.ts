import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { definePlanner, defineWorker, executeAgent } from "../../src/index.ts";
import type { CodeWorker } from "../../src/definition/worker.ts";
import type { ExecuteOptions } from "../../src/runtime/execute-agent.ts";
import type { SubtaskStates } from "../../src/state/plan.ts";
import { insideOf } from "./nested-agents.ts";
import { repliesByPrompt } from "./prompt-replies.ts";
import { testRuntime, type TestRun } from "./run-agent.ts";
import type { ScriptedReply } from "./scripted-model.ts";

/** A plan as a planner's model gives it. */
export const asPlan = (plan: object) => ({ calls: [{ name: "plan", args: plan }] });

/** A verdict as a planner's model gives it. */
export const asGaps = (...gaps: readonly string[]) => ({
  calls: [{ name: "judge", args: { gaps } }],
});

type Replies = Parameters<typeof repliesByPrompt>[0];

/** A model that joins to `Joined.`, finds no gaps, and says what else it is given by the beginning of what it is asked. */
export function plannerReplies(others: Replies = {}, calls?: number): ScriptedReply[] {
  const usual = { "Give the result": "Joined.", "Judge the result": asGaps() };
  return repliesByPrompt({ ...usual, ...others }, calls);
}

/** The worker `w` of most plans in tests. */
export const codeWorker = (run: CodeWorker["run"], name = "w") =>
  defineWorker({ name, description: `Does what is ${name}.`, run });

export interface PlanRunOptions extends Omit<Parameters<typeof definePlanner>[0], "workers"> {
  readonly workers?: Parameters<typeof definePlanner>[0]["workers"];
  /** The worker `w`, where no `workers` are given. */
  readonly does?: CodeWorker["run"];
  /** Null where the model makes it. */
  readonly plan: unknown;
  readonly script?: readonly ScriptedReply[];
  readonly checkpointer?: BaseCheckpointSaver;
  readonly run?: Pick<ExecuteOptions, "signal" | "durability">;
}

/** A planner in a runtime of its own, in memory, on the thread `t`. */
export async function plannerThread(options: PlanRunOptions) {
  const { does = () => "ok", plan, script, checkpointer, run, ...config } = options;
  const planner = definePlanner({
    execution_config: { max_attempts: 1 },
    workers: [codeWorker(does)],
    ...config,
  });
  const test: TestRun = await testRuntime(script ?? plannerReplies(), {
    ...(checkpointer !== undefined && { checkpointer }),
  });
  const { runtime, onEvent } = test;
  const input = { message: "Do it.", ...(plan !== null && { plan }) };
  const of = { runtime, threadId: "t", onEvent, ...run };
  /** What is stored of the plan. */
  const stored = async () => {
    const [planning] = await runtime.threads.plans("t");
    if (planning === undefined) throw new Error("There is no plan.");
    return planning;
  };
  return {
    ...test,
    planner,
    start: () => executeAgent(planner, input, of),
    resume: () => executeAgent(planner, null, of),
    planning: stored,
    /** The last state of the planner's own graph. */
    inside: () => insideOf(runtime.checkpointer, "planner"),
    /** Each subtask's status, by id. */
    statuses: async () => statusesOf((await stored()).subtasks),
  };
}

export function statusesOf(subtasks: SubtaskStates): Readonly<Record<string, string>> {
  const entries = Object.entries(subtasks);
  return Object.fromEntries(entries.map(([id, { status }]) => [id, status]));
}

/** Runs a planner to its end. */
export async function runPlan(options: PlanRunOptions) {
  const thread = await plannerThread(options);
  return { ...thread, result: await thread.start() };
}
