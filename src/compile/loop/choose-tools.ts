import type { ModelTool } from "../../models/agent-model.ts";
import type { GraphState } from "../../state/channels.ts";
import type { ToolSelectionRecord } from "../../state/step-record.ts";
import { turnSteps } from "../../state/turn.ts";
import type { ToolUse } from "../../tools/selection/select-tools.ts";
import { boundedThinker } from "./inherited-bounds.ts";
import type { NodeRun } from "./node-body.ts";
import type { Thinker } from "./parts.ts";

/** The tools of a step. */
export interface ToolChoice {
  /** The same array for the same tools. */
  readonly tools: readonly ModelTool[];
  /** How they were chosen; null where there are so few that all are offered. */
  readonly record: ToolSelectionRecord | null;
}

/** By the tools of a thinker: the choices that were made of them, by their names. */
const choices = new WeakMap<readonly ModelTool[], Map<string, readonly ModelTool[]>>();

/**
 * What a step is offered of a thinker's tools: all of them, or where there are too many those that suit what was asked
 * and thought last best, and those that the turn has called already. They keep the definition's order.
 */
export async function chooseTools(
  thinker: Thinker,
  state: GraphState,
  run: NodeRun,
): Promise<ToolChoice> {
  const { modelTools, candidates } = boundedThinker(thinker, run.parts);
  const { spec } = run.parts.definition;
  const { above, top_k: topK, min_score: minScore, weights } = spec.tool_selection;
  if (modelTools.length <= above) return { tools: modelTools, record: null };
  const { selectTools } = await import("../../tools/selection/select-tools.ts");
  const turnNumber = state.turn_number ?? 0;
  const { steps } = turnSteps(state.steps, {
    turnNumber,
    attemptNumber: state.attempt_number ?? 0,
  });
  const task = [run.parts.requestOf(state.input), steps.at(-1)?.thought ?? ""].join("\n").trim();
  const { selected, considered } = await selectTools({
    task,
    tools: candidates,
    permissions: spec.permissions,
    history: usesIn(state),
    topK,
    minScore,
    weights,
    embeddings: run.parts.embeddings,
    // The same whenever the step is looked at again.
    now: new Date(state.turn?.started_at ?? run.parts.clock.now()),
  });
  const called = new Set(steps.flatMap((step) => step.tool_results.map(({ name }) => name)));
  const names = new Set([...selected.map(({ name }) => name), ...called]);
  return { tools: chosen(modelTools, names), record: { considered, selected } };
}

function chosen(
  modelTools: readonly ModelTool[],
  names: ReadonlySet<string>,
): readonly ModelTool[] {
  const tools = modelTools.filter(({ name }) => names.has(name));
  const known = choices.get(modelTools) ?? new Map<string, readonly ModelTool[]>();
  choices.set(modelTools, known);
  const key = tools.map(({ name }) => name).join();
  const same = known.get(key);
  if (same !== undefined) return same;
  known.set(key, Object.freeze(tools));
  return tools;
}

/** Every call of the thread that has ended. */
function usesIn({ steps }: GraphState): readonly ToolUse[] {
  return steps.flatMap(({ timestamp, tool_results }) =>
    tool_results.map(({ name, outcome }) => ({ tool: name, outcome, at: timestamp })),
  );
}
