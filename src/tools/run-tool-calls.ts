import {
  type AgentTool,
  isClientTool,
  type StatefulTool,
  type StatelessTool,
} from "../definition/tool/tool.ts";
import { createSlices } from "../event-loop.ts";
import type { AgentState, Awaitable } from "../state/tiers.ts";
import type { ToolPrediction, ToolResult } from "../state/step-record.ts";
import { admitCall, type CallFinding, type CallRules } from "./admit-call.ts";
import { callStateful, callStateless, type StatefulCallEnv } from "./call.ts";
import { callClient, type ClientEnd } from "./client-call.ts";
import { type HandlerInterrupts, interruptIn, refusedCall } from "./tool-result.ts";
import {
  type CallEnded,
  type CallLog,
  isJournalled,
  journalledCall,
  type JournalledCall,
} from "./journal.ts";

export interface RunToolCallsOptions extends CallRules {
  readonly calls: readonly ToolPrediction[];
  /** Calls that were asked for earlier in the turn. */
  readonly callsSoFar: number;
  readonly state: AgentState<unknown, unknown>;
  readonly env: StatefulCallEnv;
  /** How many calls may be under way at once. Default 16, minimum 1. */
  readonly concurrency?: number;
  /** How the calls of client tools ended, by their ids. Default none. */
  readonly clientEnds?: ReadonlyMap<string, ClientEnd> | undefined;
  /** Where calls are written down, so that none that has ended is made again. Left out, they are not. */
  readonly log?: CallLog | undefined;
  /**
   * Inspects a call's result before it is read, results of the journal included. An exception ends the other calls.
   */
  readonly inspect?: ((result: ToolResult, tool: AgentTool) => Awaitable<ToolResult>) | undefined;
  /** Told of every call as it ends, refused ones included; not in the order of the calls. */
  readonly onResult?: (result: ToolResult) => void;
  /** Receives the state that a stateful call left, together with its result. */
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
 * call order, each on the state that the former left, concurrently with the others.
 * @throws HandlerMutationError, HandlerReturnError, HandlerTierError, the reason of `env.signal`, and what the journal
 * throws: then the other calls are aborted. The interrupt of the first call whose handler asks a person, when the others
 * have ended.
 */
export async function runToolCalls(options: RunToolCallsOptions): Promise<RunToolCallsResult> {
  const { calls, callsSoFar, onResult } = options;
  const results = Array.from<ToolResult>({ length: calls.length });
  const record = (index: number, result: ToolResult) => {
    results[index] = result;
    onResult?.(result);
  };

  const admitted: Admitted<AgentTool>[] = [];
  // Rules read what was redacted, and may repeat it; models read what they say.
  const { redact = (value) => value } = options.env;
  for (const [index, call] of calls.entries()) {
    const { tool, refusal, findings } = admitCall(call, callsSoFar + index, options);
    if (findings.length > 0) options.onFindings?.(call, redact(findings));
    if (refusal !== null) record(index, refusedCall(call, redact(refusal)));
    else admitted.push({ index, call, tool });
  }

  const { log, inspect } = options;
  const { interrupts } = options.env;
  // Answers are given in the order of the calls, so that calls which may take one are made one after the other.
  const isAnswered = interrupts?.hasAnswers === true;
  const waiting: { readonly index: number; readonly interrupt: Error }[] = [];
  let areAnswersLost = false;
  const once = async (index: number, made: Omit<JournalledCall, "log">) => {
    const make = async () => {
      if (areAnswersLost) return { result: refusedCall(made.call, answersLost) };
      return isAnswered ? counted(made.make, interrupts) : made.make();
    };
    try {
      const ended: CallEnded =
        log !== undefined && isJournalled(made.tool)
          ? await journalledCall({ ...made, make, log })
          : await make();
      const { asked = 0, recovered } = ended.result;
      if (recovered === "recorded") interrupts?.skip(asked);
      // The number of answers it has taken is unknown.
      if (recovered === "unknown" && interrupts?.hasAnswers === true) areAnswersLost = true;
      return ended;
    } catch (thrown) {
      const interrupt = interrupts === undefined ? undefined : interruptIn(thrown);
      if (interrupt === undefined) throw thrown;
      waiting.push({ index, interrupt });
      return null;
    }
  };
  let state = options.state;
  const stateless =
    ({ index, call }: Admitted<AgentTool>, tool: StatelessTool): Task =>
    async (env) => {
      const make = () =>
        isClientTool(tool)
          ? callClient(tool, call, { env, end: options.clientEnds?.get(call.id) })
          : callStateless(tool, call, env);
      const ended = await once(index, { tool, call, state, env, make });
      if (ended === null) return;
      record(index, (await inspect?.(ended.result, tool)) ?? ended.result);
    };
  let isStateHeld = false;
  const stateful =
    ({ index, call }: Admitted<AgentTool>, tool: StatefulTool): Task =>
    async (env) => {
      // It comes after one that waits for a person, whose state it is made on.
      if (isStateHeld) return;
      const before = state;
      const make = () => callStateful(tool, call, before, env);
      const ended = await once(index, { tool, call, state, env, make });
      if (ended === null) {
        isStateHeld = true;
        return;
      }
      state = ended.state ?? state;
      const result = (await inspect?.(ended.result, tool)) ?? ended.result;
      options.onState?.(state);
      record(index, result);
    };
  const taskOf = (one: Admitted<AgentTool>): Task =>
    one.tool.kind === "stateful" ? stateful(one, one.tool) : stateless(one, one.tool);
  const chain = admitted.filter(({ tool }) => tool.kind === "stateful").map(taskOf);
  const sliceEnd = createSlices();
  const inOneLane: Task = (env) => runInOrder(chain, env, sliceEnd);
  const tasks = isAnswered
    ? admitted.map(taskOf)
    : [
        ...(chain.length > 0 ? [inOneLane] : []),
        ...admitted.filter(({ tool }) => tool.kind === "stateless").map(taskOf),
      ];
  const most = isAnswered ? 1 : Math.max(1, options.concurrency ?? defaultConcurrency);
  const lanes = Math.min(tasks.length, most);
  await runTasks(tasks, { lanes, env: options.env, sliceEnd });
  const [first] = waiting.toSorted((a, b) => a.index - b.index);
  if (first !== undefined) throw first.interrupt;
  return { results, state, concurrent: lanes > 1 };
}

/** A call whose rules let it be made. */
interface Admitted<Tool> {
  readonly index: number;
  readonly call: ToolPrediction;
  readonly tool: Tool;
}

/** The end of a call with how many answers it took. */
const answersLost =
  "The call was not made: a person's answer may be for an earlier call of the step, whose outcome is not known. Call the tool again to have the person asked again.";

async function counted(
  make: () => Promise<CallEnded>,
  interrupts: HandlerInterrupts,
): Promise<CallEnded> {
  const before = interrupts.asked;
  const ended = await make();
  const asked = interrupts.asked - before;
  return asked === 0 ? ended : { ...ended, result: { ...ended.result, asked } };
}

const defaultConcurrency = 16;

type Task = (env: StatefulCallEnv) => Promise<void>;

type SliceEnd = ReturnType<typeof createSlices>;

/** Runs one task after the other. Handlers that do no I/O leave the event loop no other turn than those of `sliceEnd`. */
async function runInOrder(
  tasks: Iterable<Task>,
  env: StatefulCallEnv,
  sliceEnd: SliceEnd,
): Promise<void> {
  for (const task of tasks) {
    const turn = sliceEnd();
    if (turn !== null) await turn;
    await task(env);
  }
}

/** Runs tasks in a number of lanes. When one throws, the signal of the others aborts and no further one starts. */
async function runTasks(
  tasks: readonly Task[],
  of: {
    readonly lanes: number;
    readonly env: StatefulCallEnv;
    readonly sliceEnd: SliceEnd;
  },
): Promise<void> {
  const { lanes, env, sliceEnd } = of;
  if (lanes < 2) return runInOrder(tasks, env, sliceEnd);
  const stop = new AbortController();
  const onAbort = () => stop.abort(env.signal.reason);
  if (env.signal.aborted) onAbort();
  env.signal.addEventListener("abort", onAbort);
  const laneEnv = { ...env, signal: stop.signal };
  const queue = tasks.values();
  const runLane = async () => {
    try {
      await runInOrder(queue, laneEnv, sliceEnd);
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
