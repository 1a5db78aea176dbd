import type { ToolSelectionConfig } from "../../definition/schema/agent.ts";
import { isGranted } from "../../definition/tool/tool.ts";
import { StratagraphError } from "../../errors.ts";
import {
  cachedEmbeddings,
  type Embeddings,
  similarity,
} from "../../models/embeddings/embeddings.ts";
import { createWordEmbeddings } from "../../models/embeddings/word-embeddings.ts";
import { contentWords } from "../../models/words.ts";
import type { ToolOutcome } from "../../state/step-record.ts";
import { type SelectableTool, toolIndexOf } from "./tool-index.ts";

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

/** Words with meaning that a part needs to stand for itself; "Thank you." goes with its neighbour. */
const fewestWords = 4;

/** Parts that are looked at: a task may be a whole document. */
const mostParts = 32;

/**
 * The sentences of a task, short ones joined to what follows, and the last to what comes before; at least one. Of a very
 * long task the first and the last ones.
 */
export function taskParts(task: string): string[] {
  const parts: string[] = [];
  let open = "";
  let words = 0;
  for (const sentence of task.split(/(?<=[.!?;])\s+|\n+/)) {
    open = open === "" ? sentence.trim() : `${open} ${sentence.trim()}`;
    words += contentWords(sentence).length;
    if (words < fewestWords) continue;
    parts.push(open);
    open = "";
    words = 0;
  }
  const last = parts.at(-1);
  if (last === undefined) return [open];
  if (open !== "") parts[parts.length - 1] = `${last} ${open}`;
  if (parts.length <= mostParts) return parts;
  return [...parts.slice(0, mostParts / 2), ...parts.slice(-mostParts / 2)];
}

/** A call that was made of a tool. */
export interface ToolUse {
  /** The tool's name. */
  readonly tool: string;
  readonly outcome: ToolOutcome;
  /** When it ended, ISO 8601. */
  readonly at: string;
}

/** How a tool has done so far, both from 0 to 1. */
export interface ToolUsageStats {
  readonly success: number;
  readonly recency: number;
}

/** Of a tool that was never called. */
const unusedStanding: ToolUsageStats = { success: 0.5, recency: 0 };

/** Minutes after which a call counts 1/e. */
const recentMinutes = 30;

/**
 * How the tools that were called have done. Success is (successes + 1) / (calls + 2), Laplace's rule of succession;
 * recency is exp(-minutes / 30) since the last call, whatever became of it. A call in the future, by another machine's
 * clock, counts as made now.
 * @throws InvalidSelectionOptionError for a time that cannot be read
 */
function standings(history: readonly ToolUse[], now: Date): ReadonlyMap<string, ToolUsageStats> {
  const records = new Map<string, { successes: number; calls: number; last: number }>();
  for (const [index, { tool, outcome, at }] of history.entries()) {
    const time = Date.parse(at);
    if (Number.isNaN(time)) {
      throw new InvalidSelectionOptionError(
        `history[${index}].at`,
        "a time in ISO 8601",
        JSON.stringify(at),
      );
    }
    const record = records.get(tool) ?? { successes: 0, calls: 0, last: -Infinity };
    record.calls += 1;
    if (outcome === "success") record.successes += 1;
    record.last = Math.max(record.last, time);
    records.set(tool, record);
  }
  return new Map(
    [...records].map(([tool, { successes, calls, last }]) => {
      const minutes = Math.max(0, now.getTime() - last) / 60_000;
      const recency = Math.exp(-minutes / recentMinutes);
      return [tool, { success: (successes + 1) / (calls + 2), recency }];
    }),
  );
}

/** What each part of a score counts, from 0 to 1. */
export type SelectionWeights = ToolSelectionConfig["weights"];

export interface SelectToolsOptions {
  /** The task, in words. */
  readonly task: string;
  /** Names are unique. What is worked out from the list is kept as long as the list is: pass the same one again. */
  readonly tools: readonly SelectableTool[];
  /** What is granted: `file:read`, `network:*`. Default nothing. */
  readonly permissions?: readonly string[];
  /** Calls made of the tools so far, in any order; those of other tools do not count. Default none. */
  readonly history?: readonly ToolUse[];
  /** Tools that are selected at most. Default 10, at least 1. */
  readonly topK?: number;
  /** The least score of a tool that is selected, from 0 to 1. Default 0.05. */
  readonly minScore?: number;
  /** Default 0.5 semantic, 0.2 keyword, 0.2 success and 0.1 recency; those left out keep their default. */
  readonly weights?: Partial<SelectionWeights>;
  /** Default the embedded word vectors, which need no network. */
  readonly embeddings?: Embeddings;
  /** What recency is counted from. Default the current time. */
  readonly now?: Date;
  readonly signal?: AbortSignal;
}

const defaultWeights: SelectionWeights = {
  semantic: 0.5,
  keyword: 0.2,
  success: 0.2,
  recency: 0.1,
};

/** The numbers of the options, defaults filled in. @throws InvalidSelectionOptionError */
function checkedNumbers({
  topK = 10,
  minScore = 0.05,
  weights: given = {},
  now = new Date(),
}: SelectToolsOptions) {
  if (!Number.isInteger(topK) || topK < 1) {
    throw new InvalidSelectionOptionError("topK", "a whole number of at least 1", String(topK));
  }
  checkShare("minScore", minScore);
  if (Number.isNaN(now.getTime())) {
    throw new InvalidSelectionOptionError("now", "a valid date", String(now));
  }
  const weights = { ...defaultWeights };
  for (const part of Object.keys(defaultWeights) as (keyof SelectionWeights)[]) {
    weights[part] = given[part] ?? defaultWeights[part];
    checkShare(`weights.${part}`, weights[part]);
  }
  return { topK, minScore, weights, now };
}

function checkShare(option: string, value: number): void {
  if (!(value >= 0 && value <= 1)) {
    throw new InvalidSelectionOptionError(option, "a number from 0 to 1", String(value));
  }
}

/** An option of `selectTools` is out of range. */
export class InvalidSelectionOptionError extends StratagraphError {
  readonly code = "invalid_selection_option";

  constructor(
    readonly option: string,
    expected: string,
    /** What came, in a few words. */
    readonly given: string,
  ) {
    super(`The option ${option} of selectTools must be ${expected}; got ${given}.`);
  }
}
