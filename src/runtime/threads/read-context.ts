import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { inspectorOf, type StepContext } from "../../compile/context-inspector.ts";
import type { AgentGraph } from "../../compile/agent-graph.ts";
import type { LoopConfig } from "../../compile/loop/loop-config.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { GraphState } from "../../state/channels.ts";
import type { CurrentStep } from "../../state/step-record.ts";
import { definitionHashIn, refuseChanges } from "../definition-changed.ts";
import { checkThreadId, InvalidRunOptionError } from "../errors.ts";
import { graphOf } from "../run-turn.ts";
import { durableSaver } from "../../durable-saver.ts";
import {
  ContextNotStoredError,
  type ContextOptions,
  DefinitionNotStoredError,
  isOfModel,
  modelSteps,
  NothingReadError,
  type ThreadContext,
  UnknownStepError,
  UnknownTurnError,
  readContextOverrides,
} from "./context-options.ts";
import { graphStateAt, redactionsAround, storedDefinition } from "./stored.ts";
import { nextContext } from "./next-context.ts";
import { configInside, type DryRunAgent } from "./next-turn.ts";
import { pastContext } from "./past-context.ts";
import { namespaceOf, pendingTasks } from "../../compile/guards/waiting.ts";
import { checkpointerOf, type ThreadServices } from "./services.ts";

/** Composes a context without running or writing anything. */
export async function readContext(
  services: ThreadServices,
  options: ContextOptions,
): Promise<ThreadContext> {
  const overrides = readContextOverrides(options);
  const threadId = checkThreadId(options.threadId);
  const source = checkpointerOf(services);
  const { namespace = "", input } = options;
  await durableSaver(source, ["drain"])?.drain(threadId);
  const lastAt = (checkpoint_ns: string) =>
    source.getTuple({ configurable: { thread_id: threadId, checkpoint_ns } });
  const last = await lastAt(namespace);
  const rootTuple = namespace === "" ? last : await lastAt("");
  if (last === undefined || rootTuple === undefined) throw services.noCheckpoint(threadId, null);
  const definition = options.definition ?? (await definitionKept(source, rootTuple, threadId));
  const graph = await graphOf(definition, services.run);
  const fromStored = options.definition === undefined;
  const inherited = await redactionsAround(source, last);
  const agent = { ...agentAt(graph, namespace), inherited, threadId, user: options.user };

  const step = stepAskedFor(agent, last, options);
  if (step === null) {
    const { context, tuple, ...next } = await nextContext(
      { source, agent, threadId, overrides },
      { last, input },
    );
    // A new turn may begin under another definition.
    const isNew = next.state.turn_number !== graphStateAt(graph, tuple).turn_number;
    if (!isNew) await refuse(tuple);
    const { turn_number: turn = 0, attempt_number: attempt = 0 } = next.state;
    return told(tuple, { ...next, context, turn, attempt, tense: "next", fromStored });
  }
  const found = await pastContext(source, { agent, last, step, overrides });
  const { turn_number: turn, attempt_number: attempt, step_index } = step;
  if (found === null) {
    await refuse(last);
    throw new ContextNotStoredError(threadId, turn, step_index);
  }
  await refuse(found.tuple);
  const { context, state } = found;
  return told(found.tuple, { context, state, turn, attempt, tense: "past", fromStored });

  async function refuse(tuple: CheckpointTuple): Promise<void> {
    // Nested agents are compiled with the outer one, whose definition includes theirs.
    const root = namespaceOf(tuple) === "" ? tuple : rootTuple;
    await refuseChanges(graph, root, { ...options, threadId, checkpointer: source });
  }
}

function told(
  tuple: CheckpointTuple,
  of: {
    readonly context: StepContext;
    readonly turn: number;
    readonly attempt: number;
    readonly tense: ThreadContext["tense"];
    readonly state: GraphState;
    readonly fromStored: boolean;
    readonly withoutRequest?: boolean;
  },
): ThreadContext {
  const { context, turn, attempt, tense, state, fromStored, withoutRequest = false } = of;
  const nodes = new Map(
    state.steps.map((step) => [keyOf(step.turn_number, step.step_index), step.node]),
  );
  return {
    ...context,
    threadId: String(tuple.config.configurable?.["thread_id"]),
    namespace: namespaceOf(tuple),
    checkpointId: tuple.checkpoint.id,
    turn,
    attempt,
    tense,
    steps: context.metadata.steps.map((one) => {
      return { ...one, node: nodes.get(keyOf(one.turn, one.step)) ?? "" };
    }),
    fromStored,
    withoutRequest,
  };
}

function keyOf(turn: number, step: number): string {
  return `${turn}/${step}`;
}

/** @throws DefinitionNotStoredError */
async function definitionKept(
  checkpointer: object,
  tuple: CheckpointTuple,
  threadId: string,
): Promise<AgentDefinition> {
  const hash = definitionHashIn(tuple.metadata);
  const archive = durableSaver(checkpointer, ["definitionOf"]);
  const stored = hash === null ? undefined : await archive?.definitionOf(hash);
  const definition = storedDefinition(stored);
  if (definition !== null) return definition;
  throw new DefinitionNotStoredError(threadId);
}

/**
 * Returns the agent whose checkpoints are in a namespace: `node:task|node:task`.
 */
function agentAt(root: AgentGraph, namespace: string): Omit<DryRunAgent, "inherited"> {
  let graph = root;
  let around: LoopConfig | null = null;
  for (const part of namespace === "" ? [] : namespace.split("|")) {
    const node = part.slice(0, part.lastIndexOf(":"));
    const outer = inspectorOf(graph);
    const [inside] = outer?.nodes.get(node)?.subgraphs ?? [];
    if (outer === undefined || inside === undefined) {
      throw new InvalidRunOptionError("namespace", `the agent has no agent node "${node}"`);
    }
    around = configInside({ inspector: outer, around });
    graph = inside;
  }
  const inspector = inspectorOf(graph);
  if (inspector === undefined) throw new TypeError("the graph was not compiled here");
  return { graph, inspector, around };
}

/**
 * Returns the requested step; null for the next one.
 *
 * @throws UnknownTurnError, UnknownStepError, NothingReadError
 */
function stepAskedFor(
  { graph }: Pick<DryRunAgent, "graph">,
  last: CheckpointTuple,
  { threadId, turn: askedTurn, step: asked }: ContextOptions,
): CurrentStep | null {
  const state = graphStateAt(graph, last);
  const lastTurn = state.turn_number ?? -1;
  const turn = askedTurn ?? Math.max(0, lastTurn);
  if (turn > lastTurn && (askedTurn !== undefined || asked !== undefined)) {
    throw new UnknownTurnError(threadId, turn, lastTurn + 1);
  }
  const steps = modelSteps(state, turn);
  if (asked === undefined) {
    if (askedTurn === undefined) return null;
    const isUnderWay = turn === lastTurn && pendingTasks(last).length > 0;
    return isUnderWay ? null : lastOfModel(steps, { threadId, turn });
  }
  const found = steps.find(({ step_index }) => step_index === asked);
  if (found === undefined) {
    const known = steps.map(({ step_index, node }) => ({ step: step_index, node }));
    throw new UnknownStepError(threadId, turn, asked, known);
  }
  if (isOfModel(found)) return found;
  throw new NothingReadError(
    threadId,
    `step ${asked} of turn ${turn} is a call of node ${found.node} that the definition makes.`,
  );
}

function lastOfModel(
  steps: readonly CurrentStep[],
  { threadId, turn }: { threadId: string; turn: number },
): CurrentStep {
  const found = steps.findLast(isOfModel);
  if (found !== undefined) return found;
  throw new NothingReadError(threadId, `turn ${turn} has no step made by a model.`);
}
