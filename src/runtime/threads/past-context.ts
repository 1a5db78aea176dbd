import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { StepContext } from "../../compile/context-inspector.ts";
import { pendingTasks, withAncestors } from "../../compile/guards/waiting.ts";
import type { GraphState } from "../../state/channels.ts";
import type { CurrentStep } from "../../state/step-record.ts";
import { isRecord } from "../../values/json.ts";
import {
  chosenModel,
  type ContextOverrides,
  isWrittenTwice,
  modelSteps,
} from "./context-options.ts";
import type { DryRunAgent } from "./next-turn.ts";
import { graphStateAt } from "./stored.ts";

/** The context of a past step, and the checkpoint it was composed from. */
export interface PastContext {
  readonly tuple: CheckpointTuple;
  readonly context: StepContext;
  readonly state: GraphState;
}

/**
 * Returns the context of a past step, composed at the newest earlier checkpoint whose next nodes include the step's
 * own.
 *
 * @returns null if that checkpoint is not stored
 */
export async function pastContext(
  source: Pick<BaseCheckpointSaver, "getTuple">,
  of: {
    readonly agent: DryRunAgent;
    readonly last: CheckpointTuple;
    readonly step: CurrentStep;
    readonly overrides: ContextOverrides;
  },
): Promise<PastContext | null> {
  const { agent, step } = of;
  let after: GraphState | undefined;
  for await (const tuple of ancestorPath(source, of.last)) {
    const own = graphStateAt(agent.graph, tuple);
    // Summaries made for the step are written with it.
    const { result_summaries } = after ?? own;
    const state = { ...own, result_summaries };
    after = own;
    if ((state.turn_number ?? -1) < step.turn_number) return null;
    if (state.turn_number !== step.turn_number) continue;
    if (!pendingTasks(tuple).some(({ node }) => node === step.node)) continue;
    // Cheaper than composing the context of another step.
    const made = modelSteps(state, step.turn_number);
    if (made.some(({ step_index }) => step_index === step.step_index)) continue;
    const request = {
      ...of.overrides,
      node: step.node,
      superstep: (tuple.metadata?.step ?? -1) + 1,
      planning: step.planning,
      inherited: agent.inherited,
      around: agent.around,
    };
    const context = await agent.inspector.read(state, request);
    // A node may have started and then waited for others.
    if (context?.step !== step.step_index) continue;
    const chosen = chosenModel(step);
    if (of.overrides.model !== undefined || context.metadata.model === chosen) {
      return { tuple, context: asMade(context, step), state };
    }
    // The run used another model than the definition's.
    const reread = await agent.inspector.read(state, { ...request, model: chosen });
    return { tuple, context: asMade(reread ?? context, step), state };
  }
  return null;
}

/** Adds the requests that were made. A second request exists only for an answer. */
function asMade(context: StepContext, step: CurrentStep): StepContext {
  const [first, ...more] = context.goals;
  if (first === undefined || more.length === 0 || isWrittenTwice(step)) return context;
  return { ...context, goals: [first] };
}

type Source = Pick<BaseCheckpointSaver, "getTuple">;

/**
 * Yields a checkpoint and its ancestors, newest first, continuing into the thread it was forked from. Other branches
 * are left out.
 */
function ancestorPath(source: Source, from: CheckpointTuple): AsyncGenerator<CheckpointTuple> {
  return withAncestors(from, (tuple) => parentOf(source, tuple));
}

async function parentOf(
  source: Source,
  { parentConfig, config, metadata }: CheckpointTuple,
): Promise<CheckpointTuple | undefined> {
  const parent = parentConfig && (await source.getTuple(parentConfig));
  if (parent !== undefined) return parent;
  const origin = originIn(metadata, config);
  if (origin === null) return undefined;
  // A fork begins with a copy of the checkpoint itself.
  const original = await source.getTuple(origin);
  return original?.parentConfig && source.getTuple(original.parentConfig);
}

function originIn(metadata: unknown, { configurable }: RunnableConfig): RunnableConfig | null {
  const forked = isRecord(metadata) ? metadata["forked_from"] : undefined;
  if (!isRecord(forked)) return null;
  const { thread_id, checkpoint_id } = forked;
  if (thread_id === configurable?.["thread_id"]) return null;
  return {
    configurable: { ...configurable, checkpoint_map: undefined, thread_id, checkpoint_id },
  };
}
