import type { Features } from "../../src/guardrails/injection/features.ts";
import type { LinearModel } from "../../src/guardrails/injection/score-text.ts";
import { randomNumbers } from "../helpers/random-numbers.ts";

export interface Instance {
  readonly features: Features;
  readonly label: 0 | 1;
  readonly weight: number;
}

export interface Fit {
  readonly epochs: number;
  /** Weights before this one are those of hashes. */
  readonly hashes: number;
  /** Pull of the weights of hashes to zero, and of the named ones to where people believe that they belong. */
  readonly hashedDecay: number;
  readonly namedDecay: number;
  /** What people believe. */
  readonly prior: Float32Array;
}

/** Rows of a sparse matrix, one after the other. */
interface Rows {
  readonly starts: Int32Array;
  readonly indices: Int32Array;
  readonly values: Float32Array;
}

/**
 * Logistic regression by AdaGrad (Duchi, Hazan, Singer 2011) with weight decay; the mean of the last half of the epochs. The
 * same in every run. `start` is where to begin, the prior by default.
 */
export function fitLogistic(
  instances: readonly Instance[],
  fit: Fit,
  start?: LinearModel,
): LinearModel {
  const { starts, indices, values } = rowsOf(instances);
  const { hashes, hashedDecay, namedDecay, prior } = fit;
  const weights = Float32Array.from(start?.weights ?? prior);
  const squares = new Float32Array(weights.length).fill(0.1);
  const mean = new Float32Array(weights.length);
  let bias = start?.bias ?? 0;
  let biasSquares = 0.1;
  let meanBias = 0;
  let averaged = 0;
  const random = randomNumbers(7);
  const order = Int32Array.from(instances.keys());
  for (let epoch = 0; epoch < fit.epochs; epoch += 1) {
    shuffle(order, random);
    for (const row of order) {
      const { label, weight } = instances[row] as Instance;
      const end = starts[row + 1] as number;
      let sum = bias;
      for (let at = starts[row] as number; at < end; at += 1) {
        sum += (weights[indices[at] as number] as number) * (values[at] as number);
      }
      const slope = (1 / (1 + Math.exp(-sum)) - label) * weight;
      for (let at = starts[row] as number; at < end; at += 1) {
        const feature = indices[at] as number;
        const held = weights[feature] as number;
        const decay =
          feature < hashes ? hashedDecay * held : namedDecay * (held - (prior[feature] as number));
        const step = slope * (values[at] as number) + decay;
        const square = (squares[feature] as number) + step * step;
        squares[feature] = square;
        weights[feature] = held - (0.25 * step) / Math.sqrt(square);
      }
      biasSquares += slope * slope;
      bias -= (0.25 * slope) / Math.sqrt(biasSquares);
    }
    if (epoch < fit.epochs / 2) continue;
    averaged += 1;
    for (let at = 0; at < mean.length; at += 1) {
      mean[at] = (mean[at] as number) + ((weights[at] as number) - (mean[at] as number)) / averaged;
    }
    meanBias += (bias - meanBias) / averaged;
  }
  return { weights: mean, bias: meanBias };
}

function rowsOf(instances: readonly Instance[]): Rows {
  const starts = new Int32Array(instances.length + 1);
  instances.forEach(({ features }, row) => {
    starts[row + 1] = (starts[row] as number) + features.indices.length;
  });
  const indices = new Int32Array(starts[instances.length] as number);
  const values = new Float32Array(indices.length);
  instances.forEach(({ features }, row) => {
    indices.set(features.indices, starts[row]);
    values.set(features.values, starts[row]);
  });
  return { starts, indices, values };
}

function shuffle(list: Int32Array, random: () => number): void {
  for (let index = list.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    const held = list[index] as number;
    list[index] = list[other] as number;
    list[other] = held;
  }
}
