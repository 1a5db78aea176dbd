import { Command, isCommand, START, type StateSnapshot } from "@langchain/langgraph";
import type { GraphState, GraphUpdate } from "../state/channels.ts";
import { isRecord } from "../state/is-record.ts";
import { tryUpdate, writesIn, type UpdatableAgent } from "./check-update.ts";
import type { GraphNode } from "./graph-builder.ts";
import type { LoopParts } from "./loop/parts.ts";

/** One update of `bulkUpdateState`. */
export interface StateUpdate {
  readonly values?: unknown;
  readonly asNode?: string | undefined;
}

export interface Superstep {
  readonly updates: readonly StateUpdate[];
}

/** An agent's graph as far as its turns go. */
export interface EditableTurns extends UpdatableAgent {
  readonly parts: LoopParts;
  readonly nodes: ReadonlyMap<string, Pick<GraphNode, "moveOn">>;
}

type Values = Readonly<Record<string, unknown>>;

/** A turn between two supersteps. */
interface Turn {
  readonly values: Values;
  /** Number of the last superstep. */
  readonly superstep: number;
  /** The nodes that are next; null where only the values tell. */
  readonly next: readonly string[] | null;
  /** Whether the thread is new, or its input is not applied yet. */
  readonly isUnbegun: boolean;
}

/**
 * Checks supersteps of `bulkUpdateState` and adds which nodes are next after each. Nodes say where a turn goes on with
 * what they write, so LangGraph by itself would leave nothing next. What was next stays next, unless an update moves the
 * turn: it writes what tells where the turn stands (`status`, `branches`, a draft, a plan), or acts for a node, which then
 * need not run. A command with a `goto` of its own goes there.
 *
 * @throws InvalidStateUpdateError, NoRouteError, ExpressionError
 */
export function routeUpdates(
  graph: EditableTurns,
  snapshot: StateSnapshot,
  supersteps: readonly Superstep[],
): readonly Superstep[] {
  let turn = turnAt(snapshot);
  return supersteps.map(({ updates }) => {
    const made = routeSuperstep(graph, turn, updates);
    turn = made.turn;
    return { updates: made.updates };
  });
}

function turnAt({ values, tasks, next, metadata, createdAt }: StateSnapshot): Turn {
  const stored = isRecord(values) ? values : {};
  // Tasks that have ended beside others are applied with the update, and what they have triggered is not listed yet.
  const isWhole = next.length === tasks.length;
  // Edits by earlier versions have left nothing next.
  const isLost = next.length === 0 && !isOver(stored);
  return {
    values: stored,
    superstep: metadata?.step ?? -1,
    next: isWhole && !isLost ? next : null,
    isUnbegun: createdAt === undefined || next.includes(START),
  };
}

interface Routed {
  readonly turn: Turn;
  readonly updates: readonly StateUpdate[];
}

function routeSuperstep(graph: EditableTurns, turn: Turn, updates: readonly StateUpdate[]): Routed {
  const [update] = updates;
  if (update === undefined || updates.length > 1) return routeNodes(graph, turn, updates);
  const { values, asNode } = update;
  switch (asNode) {
    case "__copy__": {
      if (!isPairs(values)) return { turn, updates };
      const copied = { ...turn, superstep: turn.superstep + 1 };
      const ofNodes = values.map(([value, node]) => ({ values: value, asNode: node as string }));
      const made = routeNodes(graph, copied, ofNodes);
      const pairs = made.updates.map((one) => [one.values, one.asNode]);
      return { turn: made.turn, updates: [{ ...update, values: pairs }] };
    }
    case "__end__":
      return { turn: { ...turn, next: [] }, updates };
    case "__input__":
    case START:
      return asStart(graph, turn, update);
    case undefined:
      if (values === null || values === undefined) return { turn, updates };
      if (turn.isUnbegun) return asStart(graph, turn, update);
      return asNobody(routeNodes(graph, turn, updates));
    default:
      return routeNodes(graph, turn, updates);
  }
}

/** LangGraph looks for a node that has ended, and finds none where several have together. All of them write alike. */
function asNobody({ turn, updates }: Routed): Routed {
  return { turn, updates: updates.map(({ values }) => ({ values, asNode: "initialize" })) };
}

/** The graph begins with an edge, which LangGraph knows. */
function asStart(graph: EditableTurns, turn: Turn, update: StateUpdate): Routed {
  const values = { ...turn.values, ...tryUpdate(graph, turn.values, update.values) };
  const isUnbegun = update.asNode === "__input__";
  const next = isUnbegun ? [START] : ["initialize"];
  return {
    turn: { values, superstep: turn.superstep + 1, next, isUnbegun },
    updates: [update],
  };
}

function routeNodes(graph: EditableTurns, turn: Turn, updates: readonly StateUpdate[]): Routed {
  const superstep = turn.superstep + 1;
  let { values } = turn;
  const isRouted = updates.some(
    ({ values: one }) => isCommand(one) && [one.goto].flat().length > 0,
  );
  const written = updates.map((update) => {
    const writes = writesIn(update.values);
    values = { ...values, ...tryUpdate(graph, values, update.values) };
    const moves = isRouted ? {} : movesOf(graph, { ...turn, values, superstep }, update, writes);
    values = { ...values, ...tryUpdate(graph, values, moves) };
    return [...writes, ...Object.entries(moves)];
  });
  const after = { values, superstep, isUnbegun: false };
  if (isRouted) return { turn: { ...after, next: null }, updates };
  const next = nextAfter(graph, turn, { values, updates });
  return {
    turn: { ...after, next },
    updates: updates.map((update, index) => ({
      ...update,
      // All nodes of a superstep together say what is next: the last of them says it.
      values: new Command({
        update: written[index] as [string, unknown][],
        goto: index === updates.length - 1 ? [...next] : [],
      }),
    })),
  };
}

function nextAfter(
  graph: EditableTurns,
  { values: before, next }: Turn,
  of: { readonly values: Values; readonly updates: readonly StateUpdate[] },
): readonly string[] {
  if (of.updates.some(({ asNode }) => asNode === "finalize")) return [];
  const after = standing(graph, of.values);
  return next !== null && isSame(standing(graph, before), after) ? next : after;
}

/** What an update has to write besides, so that the node that it acts for need not run. */
function movesOf(
  graph: EditableTurns,
  { values, next, superstep }: Turn,
  { asNode = "" }: StateUpdate,
  writes: readonly (readonly [string, unknown])[],
): GraphUpdate {
  const isNext = next?.includes(asNode) ?? false;
  if (isOver(values) && !isNext) return {};
  const state = values as unknown as GraphState;
  const moved = graph.nodes.get(asNode)?.moveOn?.(state, { superstep, parts: graph.parts });
  if (moved === null || moved === undefined) return {};
  const draft = state.turn?.draft ?? null;
  const all: GraphUpdate = { ...moved, ...(draft !== null && { turn: { draft: null } }) };
  const given = new Set(writes.map(([channel]) => channel));
  const moves = Object.fromEntries(Object.entries(all).filter(([channel]) => !given.has(channel)));
  const after = { ...values, ...tryUpdate(graph, values, moves) };
  // It was the last to run, and the turn has moved on already.
  return !isNext && next !== null && isSame(standing(graph, after), next) ? {} : moves;
}

/** The nodes that are next by what the state tells. */
function standing({ parts }: EditableTurns, values: Values): readonly string[] {
  const state = values as unknown as GraphState;
  switch (state.status) {
    case undefined:
    case "CREATED":
      return [];
    case "INITIALIZING":
      return ["initialize"];
    case "PLANNING":
      return [parts.attempts.node];
    case "EXECUTING":
    case "AWAITING_TOOL":
    case "AWAITING_HUMAN":
      return (state.turn?.draft ?? null) === null ? parts.attempts.next(state) : ["reflect"];
    case "REFLECTING":
      return ["reflect"];
    case "COMPLETED":
    case "FAILED":
    case "CANCELLED":
      return ["finalize"];
  }
}

/** Whether no turn is under way. */
function isOver({ status = "CREATED" }: Values): boolean {
  return ["CREATED", "COMPLETED", "FAILED", "CANCELLED"].includes(status as string);
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((node) => others.includes(node));
}

/** What is copied may be changed node by node. */
function isPairs(values: unknown): values is readonly (readonly [unknown, unknown])[] {
  const isPair = (one: unknown) => Array.isArray(one) && one.length === 2;
  return Array.isArray(values) && values.length > 0 && values.every(isPair);
}
