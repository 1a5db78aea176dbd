import type { RunnableConfig } from "@langchain/core/runnables";
import type { Interrupt } from "@langchain/langgraph";
import { v5 as uuidv5 } from "uuid";
import { isRecord } from "../../state/is-record.ts";
import type { Redactions } from "../../state/redactions.ts";
import { isSettled, type SubtaskState, type SubtaskStates } from "../../state/subtask-state.ts";
import { checkpointPlace } from "../checkpoint-place.ts";

/**
 * Where subtasks are kept while others of their plan still run: as writes of the saver beside the planner's checkpoint.
 *
 * A superstep of LangGraph is a barrier, so that subtasks that were nodes of their own (`Send`) would wait for the slowest
 * of their level. Two ways start a successor before its siblings end, and both were measured (bench/planning.ts, "how
 * results are kept"). LangGraph's `task` keeps its result as such a write too, but looks at every task under way each
 * time that one of them ends: 0.5 ms a subtask for 250 of them, 1 for 1,000 and 4 for 4,000. It does not wait for the write
 * either, and knows a task by the order of the calls. Writes of our own cost the same for any number, are durable
 * before a successor begins, and are known by the subtask's id; LangGraph ignores writes of tasks that it does not know.
 */
export interface SubtaskLog {
  /** What earlier runs of the node left; settled subtasks, and those that were begun and are to be begun again. */
  load(): Promise<KeptPlan>;
  /**
   * Durable when it resolves. Several are written together.
   * @param redactions what the marks in them stand for, as far as this run of the node has made them
   */
  settle(states: SubtaskStates, redactions: Redactions): Promise<void>;
  /** An attempt has failed and another is to follow. */
  failed(id: string, state: SubtaskState): Promise<void>;
  /** A subtask waits for people, whom it asks `interrupts`; what it asked before counts no more. */
  waits(id: string, state: SubtaskState, interrupts: readonly Interrupt[]): Promise<void>;
  /** The run is about to wait: also a thread that keeps one checkpoint a turn keeps that, and all of this beside it. */
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
 * @param config what LangGraph gave the node
 * @param run `turn.run`: what one execution of a turn has kept is not taken for another's
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
      // What is kept beside a checkpoint is lost with it: LangGraph may be still writing it, and those around it.
      await saver.durable?.(String(at.configurable?.["thread_id"]));
      // What is replayed is done again.
      if (isReplay(config)) return nothing;
      const writes = (await saver.getTuple(at))?.pendingWrites ?? [];
      for (const { id } of waitsIn(writes)) waited.set(id, (waited.get(id) ?? 0) + 1);
      return { subtasks: keptSubtasks(writes), redactions: keptRedactions(writes) };
    },
    async settle(states, redactions) {
      const [first] = Object.keys(states);
      if (first === undefined) return;
      // Whoever finds the states has to find these.
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

/** What is kept of subtasks in these writes. Of several for one, where attempts failed or it waited, the last stands. */
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

/** What the marks in kept subtasks stand for. */
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
 * What subtasks of a plan under way ask people, from the writes beside the planner's checkpoint. LangGraph itself keeps
 * interrupts when the task ends that all subtasks are in, and kept one of them before version 1.7.
 */
export function waitsOfSubtasks(writes: Writes): readonly Interrupt[] {
  return [...lastWaits(writes).values()].flatMap(({ interrupts }) => interrupts);
}

/** Ids of the subtasks that have asked people and are not settled. */
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
