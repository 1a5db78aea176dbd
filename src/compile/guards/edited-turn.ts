import type { RunnableConfig } from "@langchain/core/runnables";
import { Command, isCommand, START, type StateSnapshot } from "@langchain/langgraph";
import type { GraphState, GraphUpdate } from "../../state/channels.ts";
import { isRecord } from "../../values/json.ts";
import { overrideGraph } from "../agent-graph.ts";
import type { GraphNode } from "../graph-builder.ts";
import type { LoopConfig } from "../loop/loop-config.ts";
import { tryUpdate, type UpdatableAgent, writesIn } from "./updates.ts";

/** One update of `bulkUpdateState`. */
export interface StateUpdate {
  readonly values?: unknown;
  readonly asNode?: string | undefined;
}

interface Superstep {
  readonly updates: readonly StateUpdate[];
}

/** An agent's graph, as far as its turns are concerned. */
export interface EditableTurns extends UpdatableAgent {
  readonly loop: LoopConfig;
  readonly nodes: ReadonlyMap<string, Pick<GraphNode, "moveOn">>;
}

type Values = Readonly<Record<string, unknown>>;

/** A turn between two supersteps. */
interface Turn {
  readonly values: Values;
  /** Number of the last superstep. */
  readonly superstep: number;
  /** The next nodes; null if only the values determine them. */
  readonly next: readonly string[] | null;
  /** Whether the thread is new, or its input is not applied yet. */
  readonly isUnbegun: boolean;
}

/**
 * Checks the supersteps of `bulkUpdateState` and adds the next nodes after each. Nodes decide the next nodes with their
 * writes, so LangGraph by itself would leave none. The next nodes stay the same, unless an update advances the turn. It
 * does that by writing its position (`status`, `branches`, a draft, a plan), or by acting for a node, which then need
 * not run. A command with its own `goto` goes there.
 *
 * @throws InvalidStateUpdateError, NoRouteError, ExpressionError
 */
function routeUpdates(
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
  // Completed sibling tasks are applied with the update, and the nodes they trigger are not listed yet.
  const isWhole = next.length === tasks.length;
  // Edits by earlier versions have left no next nodes.
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

/**
 * Removes the node from updates. LangGraph looks for a node that has ended, and finds none if several ended together.
 * All of them write alike.
 */
function asNobody({ turn, updates }: Routed): Routed {
  return { turn, updates: updates.map(({ values }) => ({ values, asNode: "initialize" })) };
}

/** Acts for the graph's start, which is an edge that LangGraph knows. */
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
      // The last node of a superstep sets the next nodes for all.
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

/** Returns the additional writes of an update, so that the node that it acts for need not run. */
function movesOf(
  graph: EditableTurns,
  { values, next, superstep }: Turn,
  { asNode = "" }: StateUpdate,
  writes: readonly (readonly [string, unknown])[],
): GraphUpdate {
  const isNext = next?.includes(asNode) ?? false;
  if (isOver(values) && !isNext) return {};
  const state = values as unknown as GraphState;
  const moved = graph.nodes.get(asNode)?.moveOn?.(state, { superstep, loop: graph.loop });
  if (moved === null || moved === undefined) return {};
  const draft = state.turn?.draft ?? null;
  const all: GraphUpdate = { ...moved, ...(draft !== null && { turn: { draft: null } }) };
  const given = new Set(writes.map(([channel]) => channel));
  const moves = Object.fromEntries(Object.entries(all).filter(([channel]) => !given.has(channel)));
  const after = { ...values, ...tryUpdate(graph, values, moves) };
  // It was the last to run, and the turn has already advanced.
  return !isNext && next !== null && isSame(standing(graph, after), next) ? {} : moves;
}

/** Returns the next nodes according to the state. */
function standing({ loop }: EditableTurns, values: Values): readonly string[] {
  const state = values as unknown as GraphState;
  switch (state.status) {
    case undefined:
    case "CREATED":
      return [];
    case "INITIALIZING":
      return ["initialize"];
    case "PLANNING":
      return [loop.attempts.node];
    case "EXECUTING":
    case "AWAITING_TOOL":
    case "AWAITING_HUMAN":
      return (state.turn?.draft ?? null) === null ? loop.attempts.next(state) : ["reflect"];
    case "REFLECTING":
      return ["reflect"];
    case "COMPLETED":
    case "FAILED":
    case "CANCELLED":
      return ["finalize"];
  }
}

/** Returns whether no turn is running. */
function isOver({ status = "CREATED" }: Values): boolean {
  return ["CREATED", "COMPLETED", "FAILED", "CANCELLED"].includes(status as string);
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((node) => others.includes(node));
}

/** Returns whether values are pairs, which a copied state may be. */
function isPairs(values: unknown): values is readonly (readonly [unknown, unknown])[] {
  const isPair = (one: unknown) => Array.isArray(one) && one.length === 2;
  return Array.isArray(values) && values.length > 0 && values.every(isPair);
}

/** The parts of a compiled graph that the guard needs: `updateState` goes through `bulkUpdateState`. */
interface Updatable {
  readonly channels: Readonly<Record<string, unknown>>;
  getState(config: RunnableConfig): Promise<StateSnapshot>;
  bulkUpdateState(
    config: never,
    supersteps: { updates: { values?: never; asNode?: string }[] }[],
  ): Promise<RunnableConfig>;
  withConfig(config: never): unknown;
}

interface UpdatedAgent {
  readonly loop: LoopConfig;
  readonly nodes: readonly GraphNode[];
}

/**
 * Makes a graph check `updateState` against the agent's schemas and reducers before LangGraph writes anything, keep the
 * next nodes, and returns it. LangGraph by itself stores the writes first, ignores unknown channels, accepts any value
 * for a channel without a reducer, and leaves no next nodes. Changes the graph itself; graphs derived by `withConfig`
 * do the same, and graphs of nested agents have their own guard.
 */
export function guardUpdates<Compiled extends Updatable>(
  compiled: Compiled,
  agent: UpdatedAgent,
): Compiled {
  return overrideGraph(compiled, (graph) => {
    const bulkUpdateState = graph.bulkUpdateState.bind(graph);
    return {
      bulkUpdateState: async (config: RunnableConfig, supersteps: readonly Superstep[]) =>
        bulkUpdateState(config as never, (await routed(graph, agent, config, supersteps)) as never),
    };
  });
}

/** @throws InvalidStateUpdateError, NoRouteError, ExpressionError */
async function routed(
  graph: Updatable,
  { loop, nodes }: UpdatedAgent,
  config: RunnableConfig,
  supersteps: readonly Superstep[],
): Promise<readonly Superstep[]> {
  if (isOfSubgraph(config)) return supersteps;
  const turns = {
    definition: loop.definition,
    channels: graph.channels,
    loop,
    nodes: new Map(nodes.map((node) => [node.name, node])),
  };
  return routeUpdates(turns, await graph.getState(config), supersteps);
}

/** Returns whether an update is for a nested graph, which checks it itself. */
function isOfSubgraph({ configurable = {} }: RunnableConfig): boolean {
  const namespace: unknown = configurable["checkpoint_ns"];
  const isHandedOn = configurable["__pregel_checkpointer"] !== undefined;
  return typeof namespace === "string" && namespace !== "" && !isHandedOn;
}
