import { createHash } from "node:crypto";
import type { TokenCounter } from "../../models/tokens.ts";
import type { ToolResult } from "../../state/step-record.ts";
import { resultText } from "../result-text.ts";

const longestSummary = 2000;

interface Known {
  readonly bytes: number;
  /** SHA-256 (hex) of the text. */
  readonly digest: string;
  readonly tokens: Map<TokenCounter, number>;
}

/** A result never changes, so that it is read and counted once. */
const known = new WeakMap<ToolResult, Known>();

function read(result: ToolResult): Known {
  const before = known.get(result);
  if (before !== undefined) return before;
  const text = resultText(result);
  const digest = createHash("sha256").update(text).digest("hex");
  const made = { bytes: Buffer.byteLength(text), digest, tokens: new Map<TokenCounter, number>() };
  known.set(result, made);
  return made;
}

/** Whether a call succeeded with more than `tokens` tokens. What has no more bytes is not counted. */
export function isLargeResult(result: ToolResult, tokens: number, count: TokenCounter): boolean {
  if (result.outcome !== "success") return false;
  const { bytes, tokens: counted } = read(result);
  if (bytes <= tokens) return false;
  let figure = counted.get(count);
  if (figure === undefined) counted.set(count, (figure = count(resultText(result))));
  return figure > tokens;
}

/** Stands for what a result says. */
export function contentDigest(result: ToolResult): string {
  return read(result).digest;
}

/** Characters that a summary may have: at most half of what it stands for. */
export function summaryRoom(result: ToolResult): number {
  return Math.min(longestSummary, Math.floor(read(result).bytes / 2));
}
