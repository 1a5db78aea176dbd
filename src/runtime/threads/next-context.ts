import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { callsModel, inspectorOf, type StepContext } from "../../compile/context-inspector.ts";
import type { GraphState } from "../../state/channels.ts";
import { type ContextOverrides, NothingReadError } from "./context-options.ts";
import { graphStateAt, redactionsIn } from "./stored.ts";
import {
  beginTurn,
  beginTurnWithoutRequest,
  isBeginning,
  configInside,
  passBeginning,
  startOfCancelled,
  startOfNextTurn,
  type DryRunAgent,
  type DryRunPosition,
} from "./next-turn.ts";
import {
  namespaceInside,
  namespaceOf,
  pendingTasks,
  type PendingTask,
} from "../../compile/guards/waiting.ts";

/** The context of the next step, and the checkpoint it was composed from. */
export interface NextContext {
  readonly tuple: CheckpointTuple;
  readonly context: StepContext;
  readonly state: GraphState;
  readonly withoutRequest: boolean;
}

interface ContextLookup {
  readonly source: Pick<BaseCheckpointSaver, "getTuple">;
  readonly agent: DryRunAgent;
  readonly threadId: string;
  readonly overrides: ContextOverrides;
}

/**
 * Returns what the next step of a thread would read if it resumed now. A turn that waits for tools or people must
 * resume first.
 *
 * @param input the input of a new turn
 * @throws NothingReadError; with an input UnfinishedTurnError, TurnLimitError, InvalidInputError
 */
export async function nextContext(
  looking: ContextLookup,
  { last, input }: { readonly last: CheckpointTuple; readonly input: unknown },
): Promise<NextContext> {
  const { agent, threadId } = looking;
  const { status } = graphStateAt(agent.graph, last);
  const isInside = namespaceOf(last) !== "";
  const isOver = pendingTasks(last).length === 0;
  if (!isInside && input === undefined && status === "CANCELLED") {
    const start = await tupleAt(looking, await startOfCancelled(agent.graph, threadId));
    // The pending nodes run again, regardless of what they wrote when they were cancelled.
    return pending(looking, start, pendingTasks(start));
  }
  if (!isInside && (input !== undefined || isOver || status === "FAILED")) {
    const start = await tupleAt(looking, await startOfNextTurn(agent, threadId));
    return newTurn(looking, start, input);
  }
  if (isOver) throw new NothingReadError(threadId, "the agent of this node has ended its turn.");
  const tasks = pendingTasks(last).filter((task) => task.state !== "done");
  return pending(looking, last, tasks);
}

async function tupleAt(
  { source }: ContextLookup,
  config: Parameters<BaseCheckpointSaver["getTuple"]>[0],
): Promise<CheckpointTuple> {
  const tuple = await source.getTuple(config);
  if (tuple === undefined) throw new TypeError("a checkpoint that was just read is gone");
  return tuple;
}

/** Returns the context of the pending node at a checkpoint. */
async function pending(
  looking: ContextLookup,
  tuple: CheckpointTuple,
  tasks: readonly PendingTask[],
): Promise<NextContext> {
  const { agent, threadId } = looking;
  const superstep = stepOf(tuple) + 1;
  let state = graphStateAt(agent.graph, tuple);
  const beginning = tasks.find(({ node }) => isBeginning(node));
  if (beginning !== undefined) {
    const { node } = beginning;
    const given: unknown = tuple.checkpoint.channel_values["__start__"];
    if (node === "__start__" && typeof given === "object") state = { ...state, ...given };
    const reached = await passBeginning(agent, { state, node, superstep });
    return readAt(looking, tuple, reached);
  }
  const names = tasks.map(({ node }) => node).toSorted();
  const readable = names.filter((name) => {
    const node = agent.inspector.nodes.get(name);
    return node !== undefined && callsModel(node);
  });
  if (readable.length > 0) {
    return readAt(looking, tuple, { state, next: readable, superstep, asked: 0 });
  }
  for (const task of tasks) {
    const inside = await contextInside(looking, tuple, task);
    if (inside !== null) return inside;
  }
  const why = tasks.map((task) => `${task.node} ${whyNot(task, looking)}`).join(", ");
  throw new NothingReadError(
    threadId,
    `next is ${why}, and the context of the step after it is not known yet. Past steps can be inspected by number.`,
  );
}

function whyNot({ node, state }: PendingTask, { agent }: ContextLookup): string {
  if (state === "interrupted") return "(waits for a person)";
  const type = agent.inspector.nodes.get(node)?.type;
  return type === "tool" ? "(calls tools)" : `(of type ${type ?? "unknown"})`;
}

/** Returns the context of the pending step in a nested agent; null if there is none, or it has not begun. */
async function contextInside(
  looking: ContextLookup,
  tuple: CheckpointTuple,
  task: PendingTask,
): Promise<NextContext | null> {
  const [graph] = looking.agent.inspector.nodes.get(task.node)?.subgraphs ?? [];
  const inspector = graph && inspectorOf(graph);
  if (graph === undefined || inspector === undefined) return null;
  const namespace = namespaceInside(task, namespaceOf(tuple));
  const last = await looking.source.getTuple({
    configurable: { thread_id: looking.threadId, checkpoint_ns: namespace },
  });
  if (last === undefined) return null;
  const inherited = { ...looking.agent.inherited, ...redactionsIn(tuple) };
  return nextContext(
    { ...looking, agent: { graph, inspector, inherited, around: configInside(looking.agent) } },
    { last, input: undefined },
  );
}

async function newTurn(
  looking: ContextLookup,
  tuple: CheckpointTuple,
  input: unknown,
): Promise<NextContext> {
  const { agent, threadId } = looking;
  const state = graphStateAt(agent.graph, tuple);
  const step = stepOf(tuple);
  if (input !== undefined) {
    return readAt(looking, tuple, await beginTurn(agent, { state, step, input }));
  }
  if (agent.inspector.loop.definition.spec.workflow_graph !== undefined) {
    throw new NothingReadError(
      threadId,
      "its last turn has ended, and what workflow nodes read depends on the next input. Pass an input, or inspect a past step by its number.",
    );
  }
  const begun = { ...beginTurnWithoutRequest({ state, step }), next: ["reason"], asked: 0 };
  return { ...(await readAt(looking, tuple, begun)), withoutRequest: true };
}

async function readAt(
  { agent, threadId, overrides }: ContextLookup,
  tuple: CheckpointTuple,
  { state, next, superstep, asked }: DryRunPosition,
): Promise<NextContext> {
  for (const node of next) {
    const context = await agent.inspector.read(state, {
      ...overrides,
      node,
      superstep,
      inherited: agent.inherited,
      around: agent.around,
    });
    if (context === null) continue;
    const asksBefore = asked + context.asksBefore;
    return { tuple, context: { ...context, asksBefore }, state, withoutRequest: false };
  }
  throw new NothingReadError(threadId, `next is ${next.join(", ")}, which calls no model.`);
}

function stepOf({ metadata }: CheckpointTuple): number {
  return metadata?.step ?? -1;
}
