import { setImmediate as nextTurn } from "node:timers/promises";
import { type Features, featuresOf } from "./features.ts";
import { candidatesIn } from "./foreign-features.ts";
import { type ReadText, readText } from "./read-text.ts";
import type { InjectionModels, LinearModel } from "./weights.ts";
import { runsOf, type Window } from "./windows.ts";

export type InjectionSide = "input" | "tool_result";

/** A window with what it shows. */
export interface SeenWindow extends Window {
  readonly features: Features;
}

export interface InjectionScore {
  /** Of the window that looks most like an attack, 0..1; 0.5 is where bench/rails/train-injection.ts set the line. */
  readonly score: number;
  /** That window; null where the text has no words. */
  readonly window: Window | null;
}

/** Windows after which others may have their turn: some milliseconds. */
const stride = 150;

/**
 * The highest that any window of a text is given. Linear in the text; gives way to other work after every few
 * milliseconds.
 * @throws the reason of the signal
 */
export async function scoreText(
  text: string,
  run: {
    readonly side: InjectionSide;
    readonly models: InjectionModels;
    readonly signal: AbortSignal;
  },
): Promise<InjectionScore> {
  const steps = scoringOf(text, run);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await nextTurn();
    run.signal.throwIfAborted();
  }
}

function* scoringOf(
  text: string,
  { side, models }: { readonly side: InjectionSide; readonly models: InjectionModels },
): Generator<undefined, InjectionScore> {
  const read = yield* readText(text);
  return yield* scoringOfRead(read, { side, models });
}

/** The score of a text that was read before. */
export function* scoringOfRead(
  read: ReadText,
  { side, models }: { readonly side: InjectionSide; readonly models: InjectionModels },
): Generator<undefined, InjectionScore> {
  const { override, foreign } = models;
  const doubt = side === "input" ? 0 : doubtOf(read);
  const shift = side === "input" ? 0 : models.overrideInData - doubt;
  let window: Window | null = null;
  let highest = -Infinity;
  let count = 0;
  for (const { start, end, features } of windowsIn(read)) {
    const value = numberOf(valueOf(features, override) + shift);
    // Of a window and a part of it that score the same, the part says more.
    if (value > highest) {
      highest = value;
      window = { start, end };
    }
    count += 1;
    if (count % stride === 0) yield;
  }
  if (side === "tool_result") {
    for (const { sentence, features } of candidatesIn(read.sentences)) {
      const value = numberOf(valueOf(features, foreign) - doubt);
      const place = read.sentences[sentence];
      if (value > highest && place !== undefined) {
        highest = value;
        window = { start: place.start, end: place.end };
      }
      count += 1;
      if (count % stride === 0) yield;
    }
  }
  return { score: 1 / (1 + Math.exp(-highest)), window };
}

/**
 * What every value in a tool's result is lowered by: in a long one more sentences look like an attack by chance, while those
 * that are one do not become more.
 */
export function doubtOf({ sentences }: ReadText): number {
  return 0.35 * Math.log(Math.max(1, sentences.length / 10));
}

/** All windows of a text and what was encoded in it, one after the other. Linear in the text. */
export function* windowsIn({ sentences, decoded }: ReadText): Generator<SeenWindow> {
  for (const { first, last } of runsOf(sentences)) {
    const run = sentences.slice(first, last + 1);
    const start = run[0]?.start ?? 0;
    const end = run.at(-1)?.end ?? 0;
    yield { start, end, features: featuresOf(run) };
  }
  for (const parts of decoded) {
    const [first] = parts;
    if (first === undefined) continue;
    yield { start: first.start, end: first.end, features: featuresOf(parts, true) };
  }
}

/** Before the logistic function: 0 is a score of 0.5. */
export function valueOf({ indices, values }: Features, model: LinearModel): number {
  let sum = model.bias;
  for (let at = 0; at < indices.length; at += 1) {
    sum += (model.weights[indices[at] ?? 0] ?? 0) * (values[at] ?? 0);
  }
  return sum;
}

/** Weights that do not fit the features give no number, which would be less than nothing and pass. */
function numberOf(value: number): number {
  if (Number.isNaN(value)) throw new TypeError("the weights of the injection rail give no score");
  return value;
}
