import { tokensOf, type Piece } from "./counting.ts";
import { strictMisses, type Strict } from "./strict.ts";
import type { Reader } from "./readers.ts";
import type { Call, Thread } from "./threads.ts";

/** What became of one call. */
export interface Outcome {
  readonly thread: Thread;
  readonly call: Call;
  /** Of what was read; of the whole history where nothing could be. */
  readonly tokens: number;
  readonly overflow: boolean;
  /** Needed values that were not to be read. */
  readonly missing: readonly string[];
  readonly strict: Strict;
  /** Values that calls of earlier runs had needed, and how many of them can be read at the thread's last call. */
  readonly earlier: { readonly values: number; readonly read: number };
}

export interface Score {
  readonly name: string;
  readonly calls: number;
  /** Calls that need something of earlier results, and how many of them could read all of it. */
  readonly needing: number;
  readonly answerable: number;
  /** Those that could also read under which name; and also what belongs together ({@link strictMisses}). */
  readonly named: number;
  readonly strict: number;
  /** Tokens a call. */
  readonly tokens: number;
  /** Tokens of all calls over those of their histories. */
  readonly ratio: number;
  /** The same, each with its system prompt. */
  readonly ratioWithSystem: number;
  /** The same over the calls that need something. */
  readonly ratioOfNeeding: number;
  /** Mean of each call's tokens over its history's. */
  readonly meanRatio: number;
  readonly overflows: number;
  /** Share of what calls of earlier runs had needed that can still be read; null where there are none. */
  readonly earlier: number | null;
}

export function outcomes(
  threads: readonly Thread[],
  reader: Reader,
  counts: (call: Call) => boolean = () => true,
): readonly Outcome[] {
  return threads.flatMap((thread) =>
    thread.calls.filter(counts).map((call) => outcomeOf(thread, call, reader)),
  );
}

function outcomeOf(thread: Thread, call: Call, reader: Reader): Outcome {
  const read = reader.read(thread, call);
  const values = neededBefore(thread, call);
  if (read === null) {
    const earlier = { values: values.length, read: 0 };
    return {
      thread,
      call,
      tokens: call.before.tokens,
      overflow: true,
      missing: call.needed,
      strict: { unnamed: call.needed, parted: [] },
      earlier,
    };
  }
  const isRead = (value: string) => read.some(({ text }) => text.includes(value));
  const missing = call.needed.filter((value) => !isRead(value));
  const earlier = { values: values.length, read: values.filter(isRead).length };
  const strict = strictMisses(thread, call, read);
  return { thread, call, tokens: tokensRead(read), overflow: false, missing, strict, earlier };
}

/** A line that stands in a message with others is counted with it. */
function tokensRead(read: readonly Piece[]): number {
  return read.reduce((sum, { text, isPart }) => sum + (isPart ? 0 : tokensOf(text)), 0);
}

/** Asked at the last call of a thread alone, since looking for so many values takes time. */
function neededBefore(thread: Thread, call: Call): readonly string[] {
  if (call !== thread.calls.at(-1)) return [];
  const earlier = thread.calls.filter(({ place }) => place < call.place);
  return [...new Set(earlier.flatMap(({ needed }) => needed))];
}

function isStrict({ strict }: Outcome): boolean {
  return strict.unnamed.length === 0 && strict.parted.length === 0;
}

export function score(name: string, all: readonly Outcome[]): Score {
  const needing = all.filter(({ call }) => call.needed.length > 0);
  const sum = (of: readonly Outcome[], value: (outcome: Outcome) => number) =>
    of.reduce((total, outcome) => total + value(outcome), 0);
  const tokens = (outcome: Outcome) => outcome.tokens;
  const raw = ({ call }: Outcome) => call.before.tokens;
  const recallable = sum(all, ({ earlier }) => earlier.values);
  const system = sum(all, ({ call }) => call.before.system);
  return {
    name,
    calls: all.length,
    needing: needing.length,
    answerable: needing.filter(({ missing }) => missing.length === 0).length,
    named: needing.filter(({ strict }) => strict.unnamed.length === 0).length,
    strict: needing.filter(isStrict).length,
    tokens: sum(all, tokens) / all.length,
    ratio: sum(all, tokens) / sum(all, raw),
    ratioWithSystem: (sum(all, tokens) + system) / (sum(all, raw) + system),
    ratioOfNeeding: sum(needing, tokens) / sum(needing, raw),
    meanRatio: sum(all, (outcome) => tokens(outcome) / raw(outcome)) / all.length,
    overflows: all.filter(({ overflow }) => overflow).length,
    earlier: recallable === 0 ? null : sum(all, ({ earlier }) => earlier.read) / recallable,
  };
}
