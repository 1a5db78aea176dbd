import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { asksModels, readerOf, type StepContext } from "../../compile/context-reader.ts";
import type { GraphState } from "../../state/channels.ts";
import { NothingReadError } from "./context-errors.ts";
import type { ContextWishes } from "./context-options.ts";
import { graphStateAt } from "./graph-state.ts";
import {
  beginTurn,
  beginTurnWithoutRequest,
  isBeginning,
  partsInside,
  passBeginning,
  startOfCancelled,
  startOfNextTurn,
  type LookedAt,
  type Reached,
} from "./next-turn.ts";
import { redactionsIn } from "./redactions-around.ts";
import {
  namespaceInside,
  namespaceOf,
  pendingTasks,
  type PendingTask,
} from "../../compile/pending-tasks.ts";

/** What the next step reads, and from which checkpoint it is made. */
export interface NextContext {
  readonly tuple: CheckpointTuple;
  readonly context: StepContext;
  readonly state: GraphState;
  readonly withoutRequest: boolean;
}

interface Looking {
  readonly source: Pick<BaseCheckpointSaver, "getTuple">;
  readonly agent: LookedAt;
  readonly threadId: string;
  readonly wishes: ContextWishes;
}

/**
 * What the next step of a thread would read if it went on now. A turn that waits for tools or people has to go on first.
 *
 * @param input what a new turn would be given
 * @throws NothingReadError; with an input UnfinishedTurnError, TurnLimitError, InvalidInputError
 */
export async function nextContext(
  looking: Looking,
  { last, input }: { readonly last: CheckpointTuple; readonly input: unknown },
): Promise<NextContext> {
  const { agent, threadId } = looking;
  const { status } = graphStateAt(agent.graph, last);
  const isInside = namespaceOf(last) !== "";
  const isOver = pendingTasks(last).length === 0;
  if (!isInside && input === undefined && status === "CANCELLED") {
    const start = await tupleAt(looking, await startOfCancelled(agent.graph, threadId));
    // What was next there runs again, whatever it wrote when it was cancelled.
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
  { source }: Looking,
  config: Parameters<BaseCheckpointSaver["getTuple"]>[0],
): Promise<CheckpointTuple> {
  const tuple = await source.getTuple(config);
  if (tuple === undefined) throw new TypeError("a checkpoint that was just read is gone");
  return tuple;
}

/** What is pending at a checkpoint. */
async function pending(
  looking: Looking,
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
    const node = agent.reader.nodes.get(name);
    return node !== undefined && asksModels(node);
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
    `next is ${why}, and what the step after it reads is not known before. Steps that were made can be looked at by their numbers.`,
  );
}

function whyNot({ node, state }: PendingTask, { agent }: Looking): string {
  if (state === "interrupted") return "(waits for a person)";
  const type = agent.reader.nodes.get(node)?.type;
  return type === "tool" ? "(calls tools)" : `(of type ${type ?? "unknown"})`;
}

/** What is pending in the agent of an agent node; null where there is none, or it has not begun. */
async function contextInside(
  looking: Looking,
  tuple: CheckpointTuple,
  task: PendingTask,
): Promise<NextContext | null> {
  const [graph] = looking.agent.reader.nodes.get(task.node)?.subgraphs ?? [];
  const reader = graph && readerOf(graph);
  if (graph === undefined || reader === undefined) return null;
  const namespace = namespaceInside(task, namespaceOf(tuple));
  const last = await looking.source.getTuple({
    configurable: { thread_id: looking.threadId, checkpoint_ns: namespace },
  });
  if (last === undefined) return null;
  const inherited = { ...looking.agent.inherited, ...redactionsIn(tuple) };
  return nextContext(
    { ...looking, agent: { graph, reader, inherited, around: partsInside(looking.agent) } },
    { last, input: undefined },
  );
}

async function newTurn(
  looking: Looking,
  tuple: CheckpointTuple,
  input: unknown,
): Promise<NextContext> {
  const { agent, threadId } = looking;
  const state = graphStateAt(agent.graph, tuple);
  const step = stepOf(tuple);
  if (input !== undefined) {
    return readAt(looking, tuple, await beginTurn(agent, { state, step, input }));
  }
  if (agent.reader.parts.definition.spec.workflow_graph !== undefined) {
    throw new NothingReadError(
      threadId,
      "its last turn has ended, and what the nodes of a workflow read depends on what the next one is given. Give it an input, or look at a step that was made by its number.",
    );
  }
  const begun = { ...beginTurnWithoutRequest({ state, step }), next: ["reason"], asked: 0 };
  return { ...(await readAt(looking, tuple, begun)), withoutRequest: true };
}

async function readAt(
  { agent, threadId, wishes }: Looking,
  tuple: CheckpointTuple,
  { state, next, superstep, asked }: Reached,
): Promise<NextContext> {
  for (const node of next) {
    const context = await agent.reader.read(state, {
      ...wishes,
      node,
      superstep,
      inherited: agent.inherited,
      around: agent.around,
    });
    if (context === null) continue;
    const asksBefore = asked + context.asksBefore;
    return { tuple, context: { ...context, asksBefore }, state, withoutRequest: false };
  }
  throw new NothingReadError(threadId, `next is ${next.join(", ")}, which asks no model.`);
}

function stepOf({ metadata }: CheckpointTuple): number {
  return metadata?.step ?? -1;
}
