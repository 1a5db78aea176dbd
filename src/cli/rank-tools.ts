import type { AgentDefinition } from "../definition/agent-definition.ts";
import { toolSelectionSchema } from "../definition/tool-selection-schema.ts";
import type { CompileServices } from "../compile/compile-agent.ts";
import type { SelectedTool } from "../tools/selection/select-tools.ts";
import type { FoundTools } from "./find-tools.ts";

/** How well tools suit a task. */
export interface ToolRanking {
  readonly task: string;
  /** Best first, all of them; `offered` says which a step would be offered. */
  readonly ranked: readonly (SelectedTool & { readonly offered: boolean })[];
  /** Names of the tools that the agent lacks a permission for. */
  readonly refused: readonly string[];
  /** With more tools than `above`, a step is offered `topK` at most, and none under `minScore`. */
  readonly above: number;
  readonly topK: number;
  readonly minScore: number;
}

/**
 * Scores the tools that the agent may call as a run without history does.
 *
 * @param definition null for the tools of the runtime, all of whose permissions count as granted
 * @throws EmbeddingError
 */
export async function rankTools(
  task: string,
  { tools }: Pick<FoundTools, "tools">,
  of: {
    readonly definition: AgentDefinition | null;
    readonly services: Pick<CompileServices, "embeddings" | "clock">;
    readonly signal: AbortSignal;
  },
): Promise<ToolRanking> {
  const { definition, services, signal } = of;
  const spec = definition?.spec;
  const { above, top_k, min_score, weights } =
    spec?.tool_selection ?? toolSelectionSchema.parse({});
  const allowed = spec?.guardrail_config.tool_rails.allowed_tools ?? "all";
  const candidates = [...tools.values()]
    .map(({ tool }) => tool)
    .filter((tool) => allowed === "all" || allowed.includes(tool.definition.name));
  const { selectTools } = await import("../tools/selection/select-tools.ts");
  const { selected, considered, refused } = await selectTools({
    task,
    tools: candidates,
    permissions: spec?.permissions ?? ["*"],
    topK: Math.max(1, candidates.length),
    minScore: 0,
    weights,
    embeddings: services.embeddings,
    now: services.clock.now(),
    signal,
  });
  const isAll = considered + refused.length <= above;
  const ranked = selected.map((tool, rank) => {
    return { ...tool, offered: isAll || (rank < top_k && tool.score >= min_score) };
  });
  return { task, ranked, refused, above, topK: top_k, minScore: min_score };
}
