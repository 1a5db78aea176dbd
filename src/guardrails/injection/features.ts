import { disguises, type Sentence } from "./read-text.ts";
import { crossingSignals, signals } from "./signals.ts";
import { buckets, textPattern } from "./words.ts";

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

/** What readers of mails and pages are not asked for, and assistants are. */
const taskOfWords = textPattern(
  "\\b(?:poem|haiku|riddle|joke|essay|lyrics|limerick|story about|recipe for|script (?:to|that|in)|code (?:to|that|for|in)|sentiment|base ?64|cipher|emojis?|translat|paraphras|summari[sz]e the|in reverse|backwards|pros and cons|bullet points|step.by.step|word (?:essay|story)|in the style of)",
);
const farewell = textPattern(
  "^\\W*(?:(?:best|kind|warm|many)? ?(?:regards|wishes|greetings)|best|cheers|thanks|thank you|sincerely|yours|the .{2,30} team|unsubscribe|mit freundlichen|viele grüße|©)",
);
const codeOrData = /^\s*(?:[-*+|>$#/{}[\]<]|\d+[.)])|[{};]\s*$|=>|\w\(\)|`|::|":/;

const signalNames = [
  "changes the answer",
  "your answer",
  "says how to answer",
  "cipher",
  "speaks to a model",
  "nothing else",
  "say exactly",
  "what if",
  "persona",
  "harm",
  "click this",
  "not from the documents",
  "orders the result",
  "keeps it from people",
] as const;
const signalAt = new Map<number, number>(
  signalNames.map((name, index) => [signals.findIndex(([one]) => one === name), index]),
);

/** Signs without which a sentence that is no request is not looked at. */
const speaking = new Set(
  (["speaks to a model", "persona", "nothing else"] as const).map((name) =>
    signalNames.indexOf(name),
  ),
);

const own = [
  "order",
  "question",
  "polite request",
  "between people",
  "task of words",
  "task of words at the edge",
  "request at the end",
  "request near the end",
  "request at the start",
  "question as a title",
  "request elsewhere",
  "request at the edge, of something else",
  "request of something else",
  "change of the answer at the edge",
  "share of other requests",
  "other requests beside it",
  "after the farewell",
  "request after the farewell",
  "three words or fewer",
  "more than 40 words",
  "code or data",
  "question that is answered",
  "colon at its end",
] as const;

/** In order. There are no words among them: those of a few mails and pages would be learned with what is asked in them. */
export const foreignFeatureNames: readonly string[] = [...signalNames, ...own];

/** A sentence that asks for something that a reader of the text would not be asked for, perhaps. */
export interface Candidate {
  readonly sentence: number;
  readonly features: Features;
}

/** Facts about all sentences together, so that each can be compared with the rest. */
interface Surroundings {
  readonly stems: ReadonlyMap<number, number>;
  readonly requests: readonly boolean[];
  readonly requestCount: number;
  /** The first that ends a mail; the number of sentences where none does. */
  readonly farewell: number;
}

/** A text of fewer is no document with something else in it. */
const fewest = 3;

/** The sentences of a document that have the form of a request to an assistant, each compared with the rest. Linear in the text. */
export function* candidatesIn(sentences: readonly Sentence[]): Generator<Candidate> {
  if (sentences.length < fewest) return;
  const surroundings = surroundingsOf(sentences);
  for (const [index, sentence] of sentences.entries()) {
    const speaks = sentence.signals.some((signal) => speaking.has(signalAt.get(signal) ?? -1));
    if (!surroundings.requests[index] && !speaks) continue;
    const task = taskOfWords.test(sentence.plain, sentence.ascii);
    yield { sentence: index, features: featuresAt(index, sentences, surroundings, task) };
  }
}

function featuresAt(
  index: number,
  sentences: readonly Sentence[],
  { stems, requests, requestCount, farewell: end }: Surroundings,
  task: boolean,
): Features {
  const sentence = sentences[index] as Sentence;
  const { form, plain, words } = sentence;
  const request = requests[index] === true;
  const last = sentences.length - 1;
  const atEnd = index === last;
  const nearEnd = !atEnd && index >= last - 2;
  const atStart = index === 0;
  const atEdge = atEnd || atStart;
  const unlike = sharedWith(stems, sentence) < 0.2;
  const shown = sentence.signals.flatMap((signal) => signalAt.get(signal) ?? []);
  const changes = shown.some((name) => name <= 3);
  const others = requestCount - Number(request);
  const beside = requests[index - 1] === true || requests[index + 1] === true;
  const afterFarewell = index > end;
  const values: readonly (number | boolean)[] = [
    form.order,
    form.question,
    form.polite,
    form.betweenPeople,
    task,
    task && atEdge,
    request && atEnd,
    request && nearEnd,
    request && atStart && !form.question,
    form.question && atStart,
    request && !atEdge && !nearEnd,
    request && (atEnd || (atStart && !form.question)) && unlike,
    request && unlike,
    changes && atEdge,
    Math.min(1, (3 * others) / last),
    beside,
    afterFarewell,
    request && afterFarewell,
    words <= 3,
    words > 40,
    codeOrData.test(plain),
    form.question && !atEnd,
    plain.endsWith(":"),
  ];
  const indices = [...shown];
  const weights = shown.map(() => 1);
  values.forEach((value, at) => {
    if (value === false || value === 0) return;
    indices.push(signalNames.length + at);
    weights.push(Number(value));
  });
  return { indices, values: weights };
}

function surroundingsOf(sentences: readonly Sentence[]): Surroundings {
  const stems = new Map<number, number>();
  for (const { stems: list } of sentences) {
    for (const stem of list) stems.set(stem, (stems.get(stem) ?? 0) + 1);
  }
  const requests = sentences.map(({ form: { order, question, polite, betweenPeople } }) => {
    return (order || question || polite) && !betweenPeople;
  });
  const found = sentences.findIndex(
    ({ plain, ascii }, index) => index > 0 && farewell.test(plain, ascii),
  );
  return {
    stems,
    requests,
    requestCount: requests.filter(Boolean).length,
    farewell: found < 0 ? sentences.length : found,
  };
}

/** Share of a sentence's longer words that stand elsewhere in the text too, 0..1. */
function sharedWith(all: ReadonlyMap<number, number>, { stems }: Sentence): number {
  const counts = new Map<number, number>();
  for (const stem of stems) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  let shared = 0;
  for (const [stem, count] of counts) if ((all.get(stem) ?? 0) > count) shared += 1;
  return counts.size === 0 ? 0 : shared / counts.size;
}
