import type { Embeddings } from "../../models/embeddings/embeddings.ts";
import { backgroundTexts } from "./background-texts.ts";

/** Deviations from the ordinary at which a request counts as on a topic; set on the requests of topic-rail.test.ts. */
const middle = 1.2;
/** How fast the score rises there. */
const slope = 2;
/** Of the mean of ordinary texts, this share is taken off every vector. */
const centring = 0.9;

/** A vector without what all texts share, and how like ordinary texts it is. */
interface Placed {
  readonly vector: Float32Array;
  readonly mean: number;
  readonly deviation: number;
}

/** Tells how much a text is on a topic, 0..1; 0.5 is where both are as alike as texts on one topic usually are. */
export interface TopicScale {
  /** For each text the scores of all topics; null for a text of which no word is known. */
  scores(texts: readonly string[], signal: AbortSignal): Promise<(readonly number[] | null)[]>;
}

/**
 * Raw cosines cannot be compared: those of averaged word vectors are all high, and some topics are near to everything. So
 * what ordinary texts share is taken off (Arora, Liang, Ma 2017, "A simple but tough-to-beat baseline for sentence
 * embeddings", with the mean for the first component), and the cosine is told in deviations from those that ordinary texts
 * have with the topic and with the text: the mean of both, which is the S-norm of speaker verification (Kenny 2010).
 */
export async function topicScale(
  topics: readonly string[],
  embeddings: Embeddings,
  signal: AbortSignal,
): Promise<TopicScale> {
  const vectors = await embeddings.embed([...backgroundTexts, ...topics], { signal });
  const background = vectors.slice(0, backgroundTexts.length).filter(isKnown);
  const shared = meanOf(background, embeddings.dimensions);
  const ordinary = background.map((vector) => centred(vector, shared));
  const place = (vector: Float32Array): Placed | null => {
    if (!isKnown(vector)) return null;
    const own = centred(vector, shared);
    return { vector: own, ...spread(ordinary.map((other) => dot(own, other))) };
  };
  const placedTopics = vectors.slice(backgroundTexts.length).map(place);
  return {
    async scores(texts, during) {
      const found = await embeddings.embed(texts, { signal: during });
      return found.map((vector) => {
        const text = place(vector);
        if (text === null) return null;
        return placedTopics.map((topic) => (topic === null ? 0 : scoreOf(text, topic)));
      });
    },
  };
}

function scoreOf(text: Placed, topic: Placed): number {
  const cosine = dot(text.vector, topic.vector);
  const byTopic = (cosine - topic.mean) / topic.deviation;
  const byText = (cosine - text.mean) / text.deviation;
  return 1 / (1 + Math.exp(-slope * ((byTopic + byText) / 2 - middle)));
}

function isKnown(vector: Float32Array): boolean {
  return vector.some((value) => value !== 0);
}

function meanOf(vectors: readonly Float32Array[], dimensions: number): Float32Array {
  const mean = new Float32Array(dimensions);
  for (const vector of vectors) {
    vector.forEach((value, at) => {
      mean[at] = (mean[at] ?? 0) + value / vectors.length;
    });
  }
  return mean;
}

function centred(vector: Float32Array, shared: Float32Array): Float32Array {
  const own = vector.map((value, at) => value - centring * (shared[at] ?? 0));
  const length = Math.sqrt(dot(own, own));
  return length === 0 ? own : own.map((value) => value / length);
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}

/** Where nothing is known of ordinary texts, the cosine stands for itself. */
function spread(values: readonly number[]): { readonly mean: number; readonly deviation: number } {
  if (values.length < 2) return { mean: 0, deviation: 0.2 };
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, deviation: Math.max(Math.sqrt(squares / values.length), 0.02) };
}
