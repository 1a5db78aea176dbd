import type { RunnableConfig } from "@langchain/core/runnables";
import type { Interrupt } from "@langchain/langgraph";
import { v5 as uuidv5 } from "@langchain/core/utils/uuid";
import type { GraphState } from "../../state/channels.ts";
import {
  isSettled,
  type Subtask,
  type SubtaskState,
  type SubtaskStates,
  type TaskPlan,
} from "../../state/plan.ts";
import type { Redactions } from "../../state/rails.ts";
import type { StepRecord, ToolResult } from "../../state/step-record.ts";
import { isRecord } from "../../values/json.ts";
import type { NodeContext } from "../loop/node.ts";
import { emptyStep } from "../loop/step.ts";
import { checkpointPlace } from "../run/turn-calls.ts";

/**
 * Storage of subtasks while others of their plan still run: as writes of the saver at the planner's checkpoint.
 *
 * A superstep of LangGraph is a barrier, so subtasks as nodes of their own (`Send`) would wait for the slowest of their
 * level. Two designs start a successor before its siblings end, and both were measured (bench/planning.ts, "how results
 * are kept"). LangGraph's `task` also stores its result as such a write, but scans every running task each time that
 * one ends: 0.5 ms a subtask for 250 of them, 1 for 1,000 and 4 for 4,000. It does not await the write either, and
 * identifies a task by the order of the calls. Our own writes cost the same for any number, are durable before a
 * successor starts, and are identified by the subtask's id; LangGraph ignores writes of unknown tasks.
 */
export interface SubtaskLog {
  /** Returns the subtasks of earlier runs of the node: settled ones, and those that must restart. */
  load(): Promise<KeptPlan>;
  /**
   * Stores settled subtasks; durable when it resolves. Several are written together.
   *
   * @param redactions the values of the placeholders in them, as far as this run of the node made them
   */
  settle(states: SubtaskStates, redactions: Redactions): Promise<void>;
  /** Stores a failed attempt that another will follow. */
  failed(id: string, state: SubtaskState): Promise<void>;
  /** Stores a subtask that waits for people, with its `interrupts`. They replace its earlier ones. */
  waits(id: string, state: SubtaskState, interrupts: readonly Interrupt[]): Promise<void>;
  /**
   * Flushes everything before the run waits. A thread that stores one checkpoint per turn then stores it too, with all
   * of this.
   */
  flush(): Promise<void>;
}

interface KeptPlan {
  readonly subtasks: SubtaskStates;
  readonly redactions: Redactions;
}

interface KeptWait {
  readonly id: string;
  /** How often it has waited before. */
  readonly times: number;
  readonly interrupts: readonly Interrupt[];
}

const subtasksChannel = "subtasks";
const redactionsChannel = "subtask_redactions";
const waitsChannel = "subtask_waits";

/**
 * @param config LangGraph's config of the node
 * @param run `turn.run`, which keeps the entries of different executions of a turn apart
 */
export function subtaskLog(config: RunnableConfig, run: string): SubtaskLog {
  const place = checkpointPlace(config);
  if (place === null) return forgetful;
  const { saver, config: at, task, isKeptLate } = place;
  const waited = new Map<string, number>();
  const late: (() => Promise<void>)[] = [];
  const put = async (key: readonly unknown[], channel: string, value: unknown) => {
    const write = () =>
      saver.putWrites(at, [[channel, value]], uuidv5(JSON.stringify([run, ...key]), task));
    if (isKeptLate) late.push(write);
    else await write();
  };
  return {
    async load() {
      // Writes are lost with their checkpoint, which LangGraph may still be writing.
      await saver.flush?.(String(at.configurable?.["thread_id"]));
      // A replay repeats everything.
      if (isReplay(config)) return nothing;
      const writes = (await saver.getTuple(at))?.pendingWrites ?? [];
      for (const { id } of waitsIn(writes)) waited.set(id, (waited.get(id) ?? 0) + 1);
      return { subtasks: keptSubtasks(writes), redactions: keptRedactions(writes) };
    },
    async settle(states, redactions) {
      const [first] = Object.keys(states);
      if (first === undefined) return;
      // Written first: readers of the states need them.
      if (Object.keys(redactions).length > 0) {
        await put(["redacted", first], redactionsChannel, redactions);
      }
      await put(["settled", first], subtasksChannel, states);
    },
    failed: (id, state) => put(["failed", id, state.attempts], subtasksChannel, { [id]: state }),
    async waits(id, state, interrupts) {
      const times = waited.get(id) ?? 0;
      waited.set(id, times + 1);
      await put(["begun", id, times], subtasksChannel, { [id]: state });
      await put(["waits", id, times], waitsChannel, { id, times, interrupts } satisfies KeptWait);
    },
    async flush() {
      await Promise.all(late.splice(0).map((write) => write()));
    },
  };
}

const nothing: KeptPlan = Object.freeze({ subtasks: {}, redactions: {} });

const forgetful: SubtaskLog = {
  load: async () => nothing,
  settle: async () => {},
  failed: async () => {},
  waits: async () => {},
  flush: async () => {},
};

function isReplay({ configurable = {} }: RunnableConfig): boolean {
  return configurable["__pregel_replay_state"] !== undefined;
}

type Writes = readonly (readonly [string, string, unknown])[];

/**
 * Returns the subtasks in these writes. Of several entries for one, after failed attempts or waits, the last is valid.
 */
export function keptSubtasks(writes: Writes): SubtaskStates {
  const states: Record<string, SubtaskState> = {};
  for (const [, channel, value] of writes) {
    if (channel !== subtasksChannel || !isRecord(value)) continue;
    for (const [id, state] of Object.entries(value as SubtaskStates)) {
      const known = states[id];
      if (known === undefined || isLater(state, known)) states[id] = state;
    }
  }
  return states;
}

/** Returns the values of placeholders in stored subtasks. */
export function keptRedactions(writes: Writes): Redactions {
  const kept = writes.flatMap(([, channel, value]) =>
    channel === redactionsChannel && isRecord(value) ? [value as Redactions] : [],
  );
  return Object.assign({}, ...kept) as Redactions;
}

function isLater(state: SubtaskState, known: SubtaskState): boolean {
  if (isSettled(known)) return false;
  return isSettled(state) || state.attempts > known.attempts;
}

/**
 * Returns the pending interrupts of a running plan's subtasks, from the writes at the planner's checkpoint. LangGraph
 * itself stores interrupts when the task of all subtasks ends, and only one of them before version 1.7.
 */
export function waitsOfSubtasks(writes: Writes): readonly Interrupt[] {
  return [...lastWaits(writes).values()].flatMap(({ interrupts }) => interrupts);
}

/** Returns the ids of subtasks that wait for people and are not settled. */
export function waitingSubtasks(writes: Writes): ReadonlySet<string> {
  return new Set(lastWaits(writes).keys());
}

function lastWaits(writes: Writes): ReadonlyMap<string, KeptWait> {
  const states = keptSubtasks(writes);
  const last = new Map<string, KeptWait>();
  for (const wait of waitsIn(writes)) {
    const state = states[wait.id];
    const known = last.get(wait.id);
    if (state !== undefined && isSettled(state)) continue;
    if (known === undefined || wait.times > known.times) last.set(wait.id, wait);
  }
  return last;
}

function waitsIn(writes: Writes): readonly KeptWait[] {
  return writes.flatMap(([, channel, value]) =>
    channel === waitsChannel ? [value as KeptWait] : [],
  );
}

/**
 * Returns the run subtasks as step records, in the order of their end: one worker call each, with its result. Requests
 * render them like tool calls, and drop the oldest if there is no room.
 */
export function recordsOf(of: {
  readonly state: GraphState;
  readonly run: NodeContext;
  readonly plan: TaskPlan;
  /** Settled subtasks. */
  readonly subtasks: SubtaskStates;
}): readonly StepRecord[] {
  const { state, run, plan, subtasks } = of;
  const ran = plan.subtasks.flatMap((subtask): readonly [Subtask, SubtaskState][] => {
    const settled = subtasks[subtask.id];
    return settled === undefined ? [] : [[subtask, settled]];
  });
  const inOrder = ran.toSorted(([, a], [, b]) => compare(a.ended_at ?? "", b.ended_at ?? ""));
  return inOrder.map(([subtask, settled], i) => {
    const { worker, started_at, ended_at, usage } = settled;
    const place = placeOf(state, run, started_at ?? ended_at ?? "");
    const call = { id: subtask.id, name: worker, args: argsOf(subtask), reason: "" };
    return {
      ...emptyStep({ ...place, step_index: place.step_index + i }),
      next_action: "use_tools",
      tool_predictions: [call],
      tool_results: [resultOf(subtask, settled)],
      concurrent_execution: false,
      usage,
    };
  });
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Returns the position of a planner's next record. It has one turn and makes its records one after the other. */
export function placeOf(state: GraphState, run: NodeContext, timestamp: string) {
  return {
    turn_number: state.turn_number ?? 0,
    attempt_number: state.attempt_number ?? 0,
    step_index: state.steps.length,
    node: run.node,
    timestamp,
    approach: "",
  };
}

/** Returns the arguments of a record's call, with the id, by which further plans refer to results. */
function argsOf({ id, description }: Subtask) {
  return { id, task: description };
}

function resultOf(subtask: Subtask, settled: SubtaskState): ToolResult {
  const { status, worker, result, warning, error, started_at, ended_at } = settled;
  const took =
    started_at === null || ended_at === null ? 0 : Date.parse(ended_at) - Date.parse(started_at);
  return {
    id: subtask.id,
    name: worker,
    args: argsOf(subtask),
    result,
    error: error?.message ?? null,
    outcome:
      status === "done" ? "success" : error?.code.includes("timeout") ? "timeout" : "failure",
    execution_time_ms: Math.max(0, took),
    insights: "",
    learning: "",
    relevance: "",
    ...(warning !== undefined && { warning }),
  };
}
