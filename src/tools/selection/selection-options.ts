import type { ToolSelectionConfig } from "../../definition/tool-selection-schema.ts";
import type { Embeddings } from "../../models/embeddings/embeddings.ts";
import { InvalidSelectionOptionError } from "./errors.ts";
import type { ToolUse } from "./tool-history.ts";
import type { SelectableTool } from "./tool-index.ts";

/** What each part of a score counts, from 0 to 1. */
export type SelectionWeights = ToolSelectionConfig["weights"];

export interface SelectToolsOptions {
  /** What is to be done, in words. */
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
export function checkedNumbers({
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
