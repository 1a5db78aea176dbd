import type { Embeddings } from "../../models/embeddings/embeddings.ts";
import { sentencesOf } from "../injection/words.ts";

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
 * embeddings", with the mean for the first component), and the cosine is given in deviations from those that ordinary texts
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

/**
 * Ordinary requests about many things. How like a topic they are, all together, tells what cosine is nothing special for
 * it: averaged word vectors are never far from each other.
 */
const backgroundTexts: readonly string[] = [
  "what will the weather be like this weekend",
  "set an alarm for seven in the morning",
  "how do I change a flat tyre",
  "recommend a good restaurant near the station",
  "I want to cancel my order and get my money back",
  "which medicine helps against a headache",
  "translate good evening into Spanish",
  "how many calories does an apple have",
  "play some relaxing music",
  "what is the capital of Australia",
  "write a short poem about the sea",
  "how do I train my dog to sit",
  "my laptop does not start after the update",
  "explain the rules of chess",
  "book a table for four people tonight",
  "who won the football match yesterday",
  "how much tax do I pay on my income",
  "find me a cheap flight to Lisbon",
  "what should I wear to a job interview",
  "how do plants make oxygen",
  "remind me to call my mother",
  "which film won the most awards",
  "how do I bake bread without yeast",
  "is it safe to invest in shares",
  "write a function that sorts a list",
  "when does the museum open on Sunday",
  "my neighbour is too loud, what can I do",
  "how old do you must be to vote",
  "what does this word mean",
  "please update my delivery address",
  "how do I lose weight quickly",
  "transfer fifty dollars to my savings account",
  "tell me something about the Roman empire",
  "how long is the drive to the coast",
  "what are the symptoms of the flu",
  "help me plan a birthday party",
  "which school subjects are the hardest",
  "I would like to speak to a manager",
  "how do I paint a wooden fence",
  "what time is it in Tokyo",
  "the printer on the second floor has no paper",
  "can I bring my cat on the train",
  "how do rockets fly",
  "what is a healthy breakfast for children",
  "sell me a used car",
  "who wrote this book",
  "how does a solar panel work",
  "I need a lawyer for my divorce",
];

const mostParts = 32;
const shortestPart = 200;
/** A judge that is shown a part is shown all of it. */
const longestPart = 3000;
const longestWhole = 2000;

/** Part of a text, in UTF-16 units. */
export interface TextPart {
  readonly start: number;
  readonly end: number;
}

/**
 * A request as a whole and in parts of whole sentences, since what it is about may be said in one of them: at most 32,
 * but for texts so long that these had over 3,000 characters. Of a long one, the whole is its beginning; the parts are all
 * of it.
 */
export function textParts(text: string): readonly TextPart[] {
  const size = Math.min(longestPart, Math.max(shortestPart, Math.ceil(text.length / mostParts)));
  const parts: TextPart[] = [];
  let start = 0;
  const sentences = sentencesOf(text);
  sentences.forEach(({ end }, index) => {
    const next = sentences[index + 1];
    if (next !== undefined && next.end - start <= size) return;
    parts.push({ start, end });
    start = next?.start ?? end;
  });
  return parts.length === 1
    ? parts
    : [{ start: 0, end: Math.min(text.length, longestWhole) }, ...parts];
}

const courtesies = new Set(
  "hi hello hey good morning afternoon evening day thanks thank you very much many please yes no ok okay sure great bye goodbye cheers hallo guten tag morgen abend danke vielen dank bitte ja nein gut tschüss servus moin hola gracias bonjour merci".split(
    " ",
  ),
);

/** Whether nothing is said but a greeting, thanks, yes or no: these are about no topic. */
export function isCourtesy(text: string): boolean {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.length <= 5 && words.every((word) => courtesies.has(word));
}
