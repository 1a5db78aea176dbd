import type { AgentTool, StatefulTool, StatelessTool } from "../definition/tool.ts";
import type { AgentState, Awaitable } from "../state/agent-state.ts";
import type { ToolPrediction, ToolResult } from "../state/step-record.ts";
import { admitCall, type CallRules } from "./admit-call.ts";
import type { CallFinding } from "./argument-rules.ts";
import { callStateful, callStateless, type StatefulCallEnv } from "./call.ts";
import { isJournalled } from "./journal.ts";
import {
  journalledCall,
  type CallEnded,
  type CallLog,
  type JournalledCall,
} from "./journalled-call.ts";
import { refusedCall } from "./tool-result.ts";

export interface RunToolCallsOptions extends CallRules {
  readonly calls: readonly ToolPrediction[];
  /** Calls that were asked for earlier in the turn. */
  readonly callsSoFar: number;
  readonly state: AgentState<unknown, unknown>;
  readonly env: StatefulCallEnv;
  /** How many calls may be under way at once. Default 16, minimum 1. */
  readonly concurrency?: number;
  /** Where calls are written down, so that none that has ended is made again. Left out, they are not. */
  readonly log?: CallLog | undefined;
  /**
   * Looks at what a call gave before anybody reads it, results of the journal included. What it throws ends the others.
   */
  readonly inspect?: ((result: ToolResult, tool: AgentTool) => Awaitable<ToolResult>) | undefined;
  /** Told of every call as it ends, refused ones included; not in the order of the calls. */
  readonly onResult?: (result: ToolResult) => void;
  /** Told the state that a stateful call left, at the moment when its result is told. */
  readonly onState?: (state: AgentState<unknown, unknown>) => void;
  /** Told what tool rails found of a call, before any is made. */
  readonly onFindings?: (call: ToolPrediction, findings: readonly CallFinding[]) => void;
}

export interface RunToolCallsResult {
  /** In the order of the calls. */
  readonly results: readonly ToolResult[];
  readonly state: AgentState<unknown, unknown>;
  /** Whether calls were under way at the same time. */
  readonly concurrent: boolean;
}

/**
 * Runs the calls of one step. Tools without state run at the same time; those with state run one after the other in
 * call order, each on the state that the former left, beside the others.
 * @throws HandlerMutationError, HandlerReturnError, the reason of `env.signal`, and what the journal throws: then the
 * other calls are aborted.
 */
export async function runToolCalls(options: RunToolCallsOptions): Promise<RunToolCallsResult> {
  const { calls, callsSoFar, onResult } = options;
  const results = Array.from<ToolResult>({ length: calls.length });
  const record = (index: number, result: ToolResult) => {
    results[index] = result;
    onResult?.(result);
  };

  const stateful: { index: number; call: ToolPrediction; tool: StatefulTool }[] = [];
  const stateless: { index: number; call: ToolPrediction; tool: StatelessTool }[] = [];
  // Rules read what was redacted, and may repeat it; models read what they say.
  const { hide = (value) => value } = options.env;
  for (const [index, call] of calls.entries()) {
    const { tool, refusal, findings } = admitCall(call, callsSoFar + index, options);
    if (findings.length > 0) options.onFindings?.(call, hide(findings));
    if (refusal !== null) record(index, refusedCall(call, hide(refusal)));
    else if (tool.kind === "stateful") stateful.push({ index, call, tool });
    else stateless.push({ index, call, tool });
  }

  const { log, inspect } = options;
  const once = (made: Omit<JournalledCall, "log">): Promise<CallEnded> =>
    log !== undefined && isJournalled(made.tool) ? journalledCall({ ...made, log }) : made.make();
  let state = options.state;
  const tasks: Task[] = stateless.map(({ index, call, tool }) => async (env) => {
    const make = () => callStateless(tool, call, env);
    const { result } = await once({ tool, call, state, env, make });
    record(index, (await inspect?.(result, tool)) ?? result);
  });
  if (stateful.length > 0) {
    tasks.unshift(async (env) => {
      for (const { index, call, tool } of stateful) {
        const before = state;
        const make = () => callStateful(tool, call, before, env);
        const ended = await once({ tool, call, state, env, make });
        state = ended.state ?? state;
        const result = (await inspect?.(ended.result, tool)) ?? ended.result;
        options.onState?.(state);
        record(index, result);
      }
    });
  }
  const lanes = Math.min(tasks.length, Math.max(1, options.concurrency ?? defaultConcurrency));
  await runTasks(tasks, lanes, options.env);
  return { results, state, concurrent: lanes > 1 };
}

const defaultConcurrency = 16;

type Task = (env: StatefulCallEnv) => Promise<void>;

/** Runs tasks in so many lanes. When one throws, the signal of the others aborts and no further one starts. */
async function runTasks(
  tasks: readonly Task[],
  lanes: number,
  env: StatefulCallEnv,
): Promise<void> {
  if (lanes < 2) {
    for (const task of tasks) await task(env);
    return;
  }
  const stop = new AbortController();
  const onAbort = () => stop.abort(env.signal.reason);
  if (env.signal.aborted) onAbort();
  env.signal.addEventListener("abort", onAbort);
  const laneEnv = { ...env, signal: stop.signal };
  const queue = tasks.values();
  const runLane = async () => {
    try {
      for (const task of queue) await task(laneEnv);
    } catch (thrown) {
      stop.abort(thrown);
      throw thrown;
    }
  };
  try {
    await Promise.all(Array.from({ length: lanes }, runLane));
  } finally {
    env.signal.removeEventListener("abort", onAbort);
  }
}
