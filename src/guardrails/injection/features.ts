import { buckets } from "./buckets.ts";
import { disguises, type Sentence } from "./read-text.ts";
import { crossingSignals, signals } from "./signals.ts";

/** A sparse vector: `values[i]` at `indices[i]`. */
export interface Features {
  readonly indices: readonly number[];
  readonly values: readonly number[];
}

const shapes = [
  "was encoded",
  "two languages",
  "two scripts",
  "order",
  "question",
  "polite request",
  "between people",
  "many signals",
] as const;

/** What the weights after those of the hashes belong to, in order. */
export const namedFeatures: readonly string[] = [
  ...signals.map(([name]) => name),
  ...disguises,
  ...shapes,
];
export const featureCount = buckets + namedFeatures.length;

const foreignLetters = /[\u0400-\u04ff\u0600-\u06ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}/;
const latinWord = /[a-zà-ÿ]{4}/;

const firstDisguise = buckets + signals.length;
const firstShape = firstDisguise + disguises.length;

/** Which features a window was given, by the number of the window: quicker than a set. */
const givenIn = new Uint32Array(featureCount);
let windowNumber = 0;

/** What a window shows that is made of some sentences. `encoded` says that it came out of an encoding. */
export function featuresOf(sentences: readonly Sentence[], encoded = false): Features {
  windowNumber = (windowNumber + 1) % 0xffffffff;
  const indices: number[] = [];
  for (const { buckets: own } of sentences) addNew(own, 0, indices);
  const hashes = indices.length;
  const ascii = sentences.every((one) => one.ascii);
  for (const { signals: own } of sentences) addNew(own, buckets, indices);
  if (sentences.length > 1) {
    const plain = sentences.map((one) => one.plain).join("\n");
    const crossing = crossingSignals.filter((at) => signals[at]?.[1].test(plain, ascii) === true);
    addNew(crossing, buckets, indices);
  }
  const found = indices.length - hashes;
  for (const { disguises: own } of sentences) addNew(own, firstDisguise, indices);
  addNew(shapesOf(sentences, ascii, encoded), firstShape, indices);

  // Each text weighs about the same, however long it is.
  const weight = 1 / Math.sqrt(Math.max(hashes, 12));
  const values: number[] = [];
  for (let at = 0; at < indices.length; at += 1) values.push(at < hashes ? weight : 1);
  if (found > 0) {
    indices.push(featureCount - 1);
    values.push(Math.min(found, 8) / 4);
  }
  return { indices, values };
}

function addNew(own: ArrayLike<number>, from: number, into: number[]): void {
  for (let at = 0; at < own.length; at += 1) {
    const index = from + (own[at] ?? 0);
    if (givenIn[index] === windowNumber) continue;
    givenIn[index] = windowNumber;
    into.push(index);
  }
}

/** Places in the list of shapes, without the last of them, which is a number. */
function shapesOf(sentences: readonly Sentence[], ascii: boolean, encoded: boolean): number[] {
  const [first] = sentences;
  const form = first?.form;
  const counts = [0, 1, 2].map((language) =>
    sentences.reduce((sum, { languages }) => sum + (languages[language] ?? 0), 0),
  );
  const isMixed = !ascii && sentences.some(({ plain }) => latinWord.test(plain));
  const shown = [
    encoded,
    counts.filter((count) => count >= 2).length >= 2,
    isMixed && sentences.some(({ plain }) => foreignLetters.test(plain)),
    form?.order,
    form?.question,
    form?.polite,
    sentences.some((one) => one.form.betweenPeople),
  ];
  return shown.flatMap((is, index) => (is === true ? [index] : []));
}
