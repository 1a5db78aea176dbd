import { isGranted } from "../../definition/permission.ts";
import { cachedEmbeddings } from "../../models/embeddings/cached-embeddings.ts";
import { similarity, type Embeddings } from "../../models/embeddings/embeddings.ts";
import { createWordEmbeddings } from "../../models/embeddings/word-embeddings.ts";
import { checkedNumbers, type SelectToolsOptions } from "./selection-options.ts";
import { taskParts } from "./task-parts.ts";
import { standings, unusedStanding } from "./tool-history.ts";
import { toolIndexOf, type SelectableTool } from "./tool-index.ts";

export type { SelectToolsOptions } from "./selection-options.ts";
export type { ToolUse } from "./tool-history.ts";

/** A tool and why it was selected. Each part is from 0 to 1, before its weight. */
export interface SelectedTool {
  readonly name: string;
  /** The weighted sum of the parts. */
  readonly score: number;
  readonly semantic: number;
  readonly keyword: number;
  readonly success: number;
  readonly recency: number;
}

export interface ToolSelection {
  /** Best first; of equals in the order of the tools. */
  readonly selected: readonly SelectedTool[];
  /** How many tools were scored. */
  readonly considered: number;
  /** Names of the tools that were left out since a permission they require is not granted. */
  readonly refused: readonly string[];
}

let sharedEmbeddings: Embeddings | undefined;

/**
 * The tools that suit a task best: `0.5 semantic + 0.2 keyword + 0.2 success + 0.1 recency`, among those whose required
 * permissions are granted.
 *
 * A task of several sentences may ask for several things, and a tool has to suit one of them:
 * - semantic is the highest cosine of the tool (its name in words and its description, and a little of its parameters)
 *   and the task or one of its sentences; a negative one is 0.
 * - keyword is the highest BM25 score of the tool (with the names and descriptions of its parameters) for one of the
 *   sentences, divided by the best that any tool scored for this task has: the best has 1, and all have 0 where no word
 *   is shared.
 * - success and recency are those of `history`.
 *
 * A tool without history has 0.5 for success, so by the default weights its score is 0.1 at least and `minScore` 0.05
 * leaves none out. That holds for one whose semantic and keyword are 0 too: it comes last, and is selected only where
 * there is room. A task such as "Go on" says nothing of any tool, and a model is better offered what worked last, or
 * the first tools, than none. A `minScore` above the weight of success / 2 leaves such tools out.
 *
 * @throws InvalidSelectionOptionError; EmbeddingError where a service of `embeddings` does not answer; the reason of
 * `signal` when that aborts
 *
 * @example
 * const { selected } = await selectTools({ task: "What is the weather in Oslo?", tools, permissions: ["network:*"] });
 */
export async function selectTools(options: SelectToolsOptions): Promise<ToolSelection> {
  const { task, tools, permissions = [], history = [], signal } = options;
  const { topK, minScore, weights, now } = checkedNumbers(options);
  const past = standings(history, now);
  const refused = tools.map((tool) => !isAllowed(tool, permissions));
  const [semantic, keyword] = await compare(task, options, refused);
  signal?.throwIfAborted();

  const scored = tools.map(({ definition: { name } }, at): SelectedTool => {
    const { success, recency } = past.get(name) ?? unusedStanding;
    const parts = { semantic: semantic[at] ?? 0, keyword: keyword[at] ?? 0, success, recency };
    const score =
      weights.semantic * parts.semantic +
      weights.keyword * parts.keyword +
      weights.success * success +
      weights.recency * recency;
    return { name, score, ...parts };
  });
  return {
    selected: scored
      .filter(({ score }, at) => !refused[at] && score >= minScore)
      .toSorted((a, b) => b.score - a.score)
      .slice(0, topK),
    considered: refused.filter((one) => !one).length,
    refused: tools.filter((_, at) => refused[at]).map(({ definition }) => definition.name),
  };
}

function isAllowed({ definition }: SelectableTool, grants: readonly string[]): boolean {
  return definition.permissions.every(({ name, required }) => !required || isGranted(name, grants));
}

/** Semantic and keyword of each tool, from 0 to 1; those of refused tools say nothing. */
async function compare(
  task: string,
  {
    tools,
    embeddings = (sharedEmbeddings ??= cachedEmbeddings(createWordEmbeddings())),
    signal,
  }: SelectToolsOptions,
  refused: readonly boolean[],
): Promise<readonly [Float64Array, Float64Array]> {
  const semantic = new Float64Array(tools.length);
  const keyword = new Float64Array(tools.length);
  if (refused.every(Boolean)) return [semantic, keyword];
  const index = toolIndexOf(tools);
  const parts = taskParts(task);
  const asked = [...new Set([task, ...parts])];
  const [vectors, wanted] = await Promise.all([
    index.vectors(embeddings),
    embeddings.embed(asked, signal && { signal }),
  ]);
  for (const want of wanted) {
    for (const [at, vector] of vectors.entries()) {
      semantic[at] = Math.max(semantic[at] ?? 0, Math.min(1, similarity(want, vector)));
    }
  }
  for (const part of parts) {
    for (const [at, score] of index.keywordScores(part).entries()) {
      keyword[at] = Math.max(keyword[at] ?? 0, score);
    }
  }
  const best = keyword.reduce((most, score, at) => (refused[at] ? most : Math.max(most, score)), 0);
  return [semantic, best > 0 ? keyword.map((score) => score / best) : keyword];
}
