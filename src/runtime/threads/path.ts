import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { pendingTasks } from "../../compile/guards/waiting.ts";
import type { PathCheckpoint } from "../../durable-saver.ts";
import { checkThreadId } from "../errors.ts";
import { archiveOf, checkpointAt, type ThreadServices } from "./services.ts";
import { valuesOf } from "./stored.ts";

/** A node that a thread or one of its nested agents ran, or runs next. */
export interface PathEntry {
  /** Empty for the thread itself; `node:task` for a nested agent, joined by `|` for deeper levels. */
  readonly namespace: string;
  /** The nodes around the nested agent, outermost first; subtasks of planners by their ids. */
  readonly within: readonly string[];
  readonly node: string;
  /** Of the thread, from 0. */
  readonly turn: number;
  /** Of the turn in its namespace, from 0. */
  readonly attempt: number;
  /** LangGraph's number of the superstep on its branch. Nodes of one superstep ran in parallel. */
  readonly superstep: number;
  /** Position among the nodes of its superstep, from 0. */
  readonly lane: number;
  /** `pending`: it has not ended. `failure`: it threw, and runs again when the thread is resumed. */
  readonly outcome: "success" | "interrupted" | "failure" | "pending";
  /** When the checkpoint from which it ran was made; null if that is not stored. ISO 8601. */
  readonly startedAt: string | null;
  /** When the checkpoint after it was made; null until then. ISO 8601. */
  readonly endedAt: string | null;
  /** The checkpoint after it; null until then. */
  readonly checkpointId: string | null;
  /** Whether a task of its superstep waited for a person or an event, or failed, before it ended. */
  readonly wasInterrupted: boolean;
  readonly hadFailed: boolean;
  /** Whether the newest checkpoint continues it. False for what a replay from an earlier checkpoint left behind. */
  readonly isCurrent: boolean;
}

export interface ThreadPath {
  readonly entries: readonly PathEntry[];
  /** Whether older checkpoints than the newest 10,000 are left out. */
  readonly isCut: boolean;
}

/** Checkpoints that are read. */
const maxCheckpoints = 10_000;
/** Nested agents under way whose next nodes are read. */
const maxOpen = 50;

export async function readPath(services: ThreadServices, threadId: string): Promise<ThreadPath> {
  const archive = archiveOf(services, "path", "listPath", "drain");
  await archive.drain(checkThreadId(threadId));
  const found = await archive.listPath({ threadId, limit: maxCheckpoints + 1 });
  const checkpoints = found.slice(0, maxCheckpoints).toReversed();
  const newest = checkpoints.findLast(({ namespace }) => namespace === "");
  if (newest === undefined) throw services.noCheckpoint(threadId, null);
  const open: CheckpointTuple[] = [];
  for (const { namespace, id } of openEnds(checkpoints, newest).slice(-maxOpen)) {
    const at = { threadId, namespace, checkpointId: id };
    open.push(await checkpointAt(services, at));
  }
  const last = open.find(({ checkpoint: { id } }) => id === newest.id);
  const turn = last === undefined ? undefined : valuesOf(last)["turn_number"];
  const lastTurn = typeof turn === "number" ? turn : -1;
  return { entries: pathOf(checkpoints, { open, lastTurn }), isCut: found.length > maxCheckpoints };
}

/** Returns the newest checkpoint of the thread, and those of nested agents that run within its next nodes. */
function openEnds(
  checkpoints: readonly PathCheckpoint[],
  newest: PathCheckpoint,
): readonly PathCheckpoint[] {
  const ends = new Map(checkpoints.map((one) => [one.namespace, one]));
  const isOpen = ({ namespace, parents, status }: PathCheckpoint): boolean => {
    if (namespace === "") return true;
    return parents[""] === newest.id && !(status !== null && isOver.has(status));
  };
  return [...ends.values()].filter(isOpen);
}

const isOver: ReadonlySet<string> = new Set(["COMPLETED", "FAILED", "CANCELLED"]);

interface Numbers {
  readonly turn: number;
  /** Attempt of the nodes that made the checkpoint. */
  readonly attempt: number;
  /** Attempt of the next nodes, unless it is `finalize`, which ends the attempt of the nodes before it. */
  readonly next: number;
}

/** Returns the entries of checkpoints, which come oldest first. */
function pathOf(
  checkpoints: readonly PathCheckpoint[],
  { open, lastTurn }: { readonly open: readonly CheckpointTuple[]; readonly lastTurn: number },
): readonly PathEntry[] {
  const byId = new Map(checkpoints.map((one) => [keyOf(one.namespace, one.id), one]));
  const current = currentIds(checkpoints, byId);
  const numbers = numbersOf(checkpoints, { byId, lastTurn });
  const turnAround = ({ namespace, parents }: PathCheckpoint, own: number) =>
    namespace === "" ? own : (numbers.get(keyOf("", parents[""] ?? ""))?.turn ?? 0);
  const entries: PathEntry[] = [];
  for (const one of checkpoints) {
    const { namespace, id, parentId, step, createdAt } = one;
    const key = keyOf(namespace, id);
    const parent = parentId === null ? undefined : byId.get(keyOf(namespace, parentId));
    const { turn, attempt } = numbers.get(key)!;
    one.nodes.forEach((node, lane) => {
      entries.push({
        namespace,
        within: namesIn(namespace),
        node,
        turn: turnAround(one, turn),
        attempt,
        superstep: step ?? 0,
        lane,
        outcome: "success",
        startedAt: parent?.createdAt ?? null,
        endedAt: createdAt,
        checkpointId: id,
        wasInterrupted: (parent?.interrupts ?? 0) > 0,
        hadFailed: (parent?.failures ?? 0) > 0,
        isCurrent: current.has(key),
      });
    });
  }
  for (const tuple of open) {
    const namespace = String(tuple.config.configurable?.["checkpoint_ns"] ?? "");
    const key = keyOf(namespace, tuple.checkpoint.id);
    const from = byId.get(key);
    if (from === undefined) continue;
    const { turn, attempt, next } = numbers.get(key)!;
    const begins = namespace === "" && isBeginning(from);
    pendingTasks(tuple).forEach(({ node, state }, lane) => {
      entries.push({
        namespace,
        within: namesIn(namespace),
        node,
        turn: turnAround(from, begins ? turn + 1 : turn),
        attempt: begins ? 0 : node === "finalize" ? attempt : next,
        superstep: (from.step ?? -1) + 1,
        lane,
        outcome: outcomes[state],
        startedAt: from.createdAt,
        endedAt: null,
        checkpointId: null,
        wasInterrupted: state === "interrupted",
        hadFailed: state === "failed",
        isCurrent: current.has(key),
      });
    });
  }
  return entries;
}

const outcomes = {
  pending: "pending",
  done: "success",
  interrupted: "interrupted",
  failed: "failure",
} as const;

function keyOf(namespace: string, id: string): string {
  return `${id} ${namespace}`;
}

/** `team:1|execute:2|survey:3` becomes `team`, `execute`, `survey`. */
function namesIn(namespace: string): readonly string[] {
  if (namespace === "") return [];
  return namespace.split("|").map((part) => part.slice(0, part.lastIndexOf(":")));
}

/** Whether a turn begins with the next node. */
function isBeginning({ source, nodes }: PathCheckpoint): boolean {
  return source === "input" || nodes.includes("finalize");
}

/** Returns the keys of the newest checkpoint's ancestors, and of those of nested agents that ran from them. */
function currentIds(
  checkpoints: readonly PathCheckpoint[],
  byId: ReadonlyMap<string, PathCheckpoint>,
): ReadonlySet<string> {
  const current = new Set<string>();
  const ends = new Map(checkpoints.map((one) => [one.namespace, one]));
  const namespaces = [...ends.keys()].toSorted((a, b) => a.length - b.length);
  for (const namespace of namespaces) {
    let one = ends.get(namespace);
    const around = namespace.slice(0, Math.max(0, namespace.lastIndexOf("|")));
    const from = one?.parents[around] ?? one?.parents[""];
    const isReached =
      namespace === "" ||
      (from !== undefined && (current.has(keyOf(around, from)) || current.has(keyOf("", from))));
    if (!isReached) continue;
    while (one !== undefined && !current.has(keyOf(namespace, one.id))) {
      current.add(keyOf(namespace, one.id));
      one = one.parentId === null ? undefined : byId.get(keyOf(namespace, one.parentId));
    }
  }
  return current;
}

/**
 * Returns the turn and the attempt of each checkpoint, counted from its parent: a turn begins with `initialize`, and
 * `reflect` ends an attempt. `finalize` belongs to the attempt before it, which was judged or broke off. Turns of the
 * thread are shifted so that the newest has its stored number, as in a thread that began as a fork.
 */
function numbersOf(
  checkpoints: readonly PathCheckpoint[],
  of: { readonly byId: ReadonlyMap<string, PathCheckpoint>; readonly lastTurn: number },
): ReadonlyMap<string, Numbers> {
  const counted = new Map<string, Numbers>();
  let newest: Numbers | undefined;
  for (const { namespace, id, parentId, nodes } of checkpoints) {
    const parentKey = keyOf(namespace, parentId ?? "");
    const before = counted.get(parentKey) ?? { turn: -1, attempt: 0, next: 0 };
    const hadEnded = of.byId.get(parentKey)?.nodes.includes("finalize") === true;
    const begins = nodes.includes("initialize") || (hadEnded && nodes.length > 0);
    const attempt = begins ? 0 : nodes.includes("finalize") ? before.attempt : before.next;
    const next = attempt + (nodes.includes("reflect") ? 1 : 0);
    const now = {
      turn: before.turn + (begins ? 1 : 0),
      ...(nodes.length === 0 ? before : { attempt, next }),
    };
    counted.set(keyOf(namespace, id), now);
    if (namespace === "") newest = now;
  }
  const shift = newest === undefined ? 0 : of.lastTurn - newest.turn;
  if (shift === 0) return counted;
  const isRoot = (key: string) => key.endsWith(" ");
  return new Map(
    [...counted].map(([key, numbers]) => [
      key,
      isRoot(key) ? { ...numbers, turn: Math.max(0, numbers.turn + shift) } : numbers,
    ]),
  );
}
