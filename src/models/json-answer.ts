import { LooseJson, scanJson } from "./loose-json.ts";

export type JsonAnswer =
  | { readonly ok: true; readonly value: unknown }
  /** `problem` says what was wrong, so that it can be told back to the model. */
  | { readonly ok: false; readonly problem: string };

/** Characters that looking for JSON in prose may scan: a factor of the text's length, and these for any text. */
const scanFactor = 8;
const leastScanned = 50_000;

/** Cost of an object or array that cannot be read, in characters: each exception of a parser takes about as long. */
const failedRead = 200;

const codeBlock = /^[ \t]{0,8}```[\w+-]{0,20}[ \t]{0,8}\n([^]*?)^[ \t]{0,8}```/gm;
const cutOff = /^(?:\{\s{0,40}"[^"\n]{0,100}"\s{0,40}:|\[\s{0,40}[{["])/;
const thinking = /^\s*<think>[^]*?<\/think>/;

/**
 * Finds the JSON in a model's answer: the whole text, else an object or array in a code block, else one with prose
 * around it. Of several an object is taken before an array, and a longer one before a shorter one. What has to be
 * mended to be JSON comes last. Never throws, and takes time in proportion to the text.
 */
export function parseJsonAnswer(text: string): JsonAnswer {
  const answer = text.replace(thinking, "").trim();
  if (answer === "") return { ok: false, problem: "The answer is empty; it has to be JSON." };
  const scalar = parseScalar(answer);
  if (scalar !== null) return scalar;
  const json = new LooseJson();
  const whole = findAt(answer, 0, json);
  if (whole?.length === answer.length && !whole.isMended) return { ok: true, value: whole.value };
  const blocks = [...answer.matchAll(codeBlock)].map(([, block = ""]) => block.trim());
  const found = [blocks.flatMap((block) => findAt(block, 0, json) ?? []), findIn(answer, json)];
  const best =
    bestOf(found[0]?.filter(({ isMended }) => !isMended)) ??
    bestOf(found[1]?.filter(({ isMended }) => !isMended)) ??
    bestOf(found[0]) ??
    bestOf(found[1]);
  return best === null ? unclosed(answer, json) : { ok: true, value: best.value };
}

interface Found {
  readonly value: object;
  /** Characters of its text. */
  readonly length: number;
  readonly isMended: boolean;
}

/** Strings, numbers, booleans and null are answers only alone. */
function parseScalar(answer: string): JsonAnswer | null {
  if (!/^["\dtfn-]/.test(answer)) return null;
  try {
    return { ok: true, value: JSON.parse(answer) };
  } catch {
    return null;
  }
}

function findAt(text: string, start: number, json: LooseJson): Found | null {
  const { end, closed } = scanJson(text, start);
  return closed ? readFound(text.slice(start, end), json) : null;
}

function readFound(span: string, json: LooseJson): Found | null {
  if (!looksLikeJson(span)) return null;
  const read = json.read(span);
  return read.ok ? { value: read.value, length: span.length, isMended: read.isMended } : null;
}

/** A repair would make something of `{name}` and `[see above]` too. */
function looksLikeJson(span: string): boolean {
  return span.startsWith("{")
    ? span.includes(":") || /^\{\s*\}$/.test(span)
    : /^\[\s*(?:["'{[\]\d-]|(?:true|false|null)\b)/.test(span);
}

/** Objects and arrays that stand in prose, those within others left out. */
function findIn(text: string, json: LooseJson): Found[] {
  const all: Found[] = [];
  let budget = scanFactor * text.length + leastScanned;
  const opening = /[{[]/g;
  for (let match = opening.exec(text); match && budget > 0; match = opening.exec(text)) {
    const { end, closed } = scanJson(text, match.index);
    budget -= end - match.index;
    // An answer that was cut off: what closes within it is only a part of it.
    if (!closed && cutOff.test(text.slice(match.index, match.index + 200))) break;
    const span = text.slice(match.index, end);
    if (!closed || !looksLikeJson(span)) continue;
    const found = readFound(span, json);
    if (found === null) {
      budget -= failedRead;
      continue;
    }
    if (found.isMended) budget -= failedRead;
    all.push(found);
    opening.lastIndex = end;
  }
  return all;
}

function bestOf(found: readonly Found[] = []): Found | null {
  const rank = ({ value }: Found) => (Array.isArray(value) ? 0 : 1);
  return found.reduce<Found | null>((best, one) => {
    if (best === null || rank(one) > rank(best)) return one;
    return rank(one) === rank(best) && one.length >= best.length ? one : best;
  }, null);
}

/** The last thing to try: JSON whose closing brackets are missing. */
function unclosed(answer: string, json: LooseJson): JsonAnswer {
  const start = answer.search(/[{[]/);
  if (start < 0) return { ok: false, problem: "The answer has no JSON object or array." };
  const span = withoutFence(answer.slice(start));
  const found = scanJson(span, 0).closed ? null : readFound(span, json);
  if (found !== null) return { ok: true, value: found.value };
  const read = json.read(span);
  const why = read.ok ? "it is no JSON object or array" : read.problem;
  return { ok: false, problem: `The answer's JSON could not be read: ${why}.` };
}

/** Without the end of a code block. No regular expression: from each space or backtick it would look for the end anew. */
function withoutFence(span: string): string {
  let end = span.length;
  while (span[end - 1] === "`") end -= 1;
  return span.length - end < 3 ? span : span.slice(0, end).trimEnd();
}
