import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { ModelProfile } from "../../src/models/model-profile.ts";
import { tokenCounter } from "../../src/models/usage/tokens.ts";

const encode = tokenCounter("bench:o200k");
const known = new Map<string, number>();

/** Tokens of a text by OpenAI's o200k encoding. A text is counted once, since the same ones are measured at every budget. */
export function tokensOf(text: string): number {
  const before = known.get(text);
  if (before !== undefined) return before;
  const tokens = encode(text);
  known.set(text, tokens);
  return tokens;
}

export function tokensOfAll(texts: readonly string[]): number {
  let tokens = 0;
  for (const text of texts) tokens += tokensOf(text);
  return tokens;
}

const knownPieces = new WeakMap<BaseMessage, readonly string[]>();

/** What there is to read in a message, the same as is counted of the data: text, names and arguments of calls. */
export function pieces(message: BaseMessage): readonly string[] {
  const before = knownPieces.get(message);
  if (before !== undefined) return before;
  const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
  const made = [message.text, ...calls.flatMap(({ name, args }) => [name, JSON.stringify(args)])];
  knownPieces.set(message, made);
  return made;
}

/** A part of what a model reads: of one message. */
export interface Piece {
  readonly text: string;
  /** Whether it is in sentences: what was said, and thoughts. Else names say what a value is. */
  readonly isSaid: boolean;
  /** Whether another piece has it too. */
  readonly isPart?: boolean;
}

const knownReadings = new WeakMap<BaseMessage, readonly Piece[]>();

/** {@link pieces} with their kinds. A message of shortened steps is split into lines. */
export function readings(message: BaseMessage): readonly Piece[] {
  const before = knownReadings.get(message);
  if (before !== undefined) return before;
  const isRecord = message.type === "human" && message.text.startsWith("[Earlier ");
  const said = isRecord ? message.text.split("\n").filter((line) => saidLine.test(line)) : [];
  const isText = message.type === "human" || message.type === "ai";
  const made = [
    ...pieces(message).map((text, at) => ({ text, isSaid: isText && at === 0 && !isRecord })),
    ...said.map((text) => ({ text, isSaid: true, isPart: true })),
  ];
  knownReadings.set(message, made);
  return made;
}

const saidLine = /^(?:user|assistant): /;

/** A model that counts as the benchmark does: no text twice, so that many budgets can be tried. */
export const rememberingModel: ModelProfile = {
  ref: "bench:o200k",
  window: 128_000,
  maxOutput: 4096,
  count: tokensOf,
  notes: [],
};

/** The same, but each count costs what it does: for measures of time. */
export function countingModel(window = rememberingModel.window): ModelProfile {
  return { ...rememberingModel, window, count: encode };
}
