import type { AIMessage } from "@langchain/core/messages";
import { jsonrepair } from "jsonrepair";
import { checkFromJsonSchema, type SchemaCheck } from "../../definition/schema/json-schema.ts";
import { errorMessage } from "../../errors.ts";
import { isRecord } from "../../values/json.ts";
import type { StructuredAnswer } from "../agent-model.ts";
import { readRelaxedJson } from "./relaxed-json.ts";

type JsonAnswer =
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
 * around it. An object is preferred to an array, and a longer one to a shorter one. JSON that needs
 * mended to be JSON comes last. Never throws, and takes time in proportion to the text.
 */
export function parseJsonAnswer(text: string): JsonAnswer {
  const answer = text.replace(thinking, "").trim();
  if (answer === "") return { ok: false, problem: "The answer is empty; it must be JSON." };
  const scalar = parseScalar(answer);
  if (scalar !== null) return scalar;
  const json = new LenientJson();
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

function findAt(text: string, start: number, json: LenientJson): Found | null {
  const { end, closed } = scanJson(text, start);
  return closed ? readFound(text.slice(start, end), json) : null;
}

function readFound(span: string, json: LenientJson): Found | null {
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
function findIn(text: string, json: LenientJson): Found[] {
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
function unclosed(answer: string, json: LenientJson): JsonAnswer {
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

export type LenientRead =
  | {
      readonly ok: true;
      readonly value: object;
      /** Whether it had to be mended to be JSON. */
      readonly isMended: boolean;
    }
  | { readonly ok: false; readonly problem: string };

/** Where a JSON object or array ends in a text that goes on. */
export interface JsonEnd {
  /** Index after the closing bracket; the text's length where it does not close. */
  readonly end: number;
  readonly closed: boolean;
  /** The text ends inside a string: it was cut off. */
  readonly inString: boolean;
  readonly depth: number;
}

/** Levels of nesting that are read: what a model writes has fewer, and what walks the value need not fear for its stack. */
const maxDepth = 200;

/** Characters that one reader repairs. Repairing can take quadratic time: 20,000 characters are at worst 0.3 seconds. */
const repairedCharacters = 20_000;

/**
 * Reads JSON objects and arrays as models write them: at any length in the forms of {@link readRelaxedJson}, which have
 * one meaning, and as far as `jsonrepair` guesses (missing brackets, commas and quotes) up to 20,000 characters in all.
 * A text that ends inside a string is refused, since what is missing of it cannot be known. Never throws.
 */
export class LenientJson {
  #repairable: number;

  /** @param guesses default: true; without it, only text with one meaning is read */
  constructor({ guesses = true }: { readonly guesses?: boolean } = {}) {
    this.#repairable = guesses ? repairedCharacters : 0;
  }

  read(text: string): LenientRead {
    const json = text.trim();
    if (!json.startsWith("{") && !json.startsWith("[")) {
      return { ok: false, problem: "it is no JSON object or array" };
    }
    const scan = scanJson(json, 0);
    if (scan.depth > maxDepth) {
      return { ok: false, problem: `it is nested more than ${maxDepth} levels deep` };
    }
    const strict = parseContainer(json);
    if (strict.ok) return strict;
    const relaxed = readRelaxedJson(json);
    if (relaxed.ok && relaxed.end === json.length) {
      return { ok: true, value: relaxed.value, isMended: true };
    }
    if (scan.inString) return { ok: false, problem: "it ends inside a string" };
    if (this.#repairable === 0) return relaxed.ok ? strict : relaxed;
    return this.#repair(json) ?? strict;
  }

  #repair(json: string): LenientRead | null {
    if (json.length > this.#repairable) return null;
    this.#repairable -= json.length;
    try {
      const repaired = parseContainer(jsonrepair(json));
      return repaired.ok ? { ...repaired, isMended: true } : null;
    } catch {
      return null;
    }
  }
}

function parseContainer(json: string): LenientRead {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "object" && value !== null) return { ok: true, value, isMended: false };
    return { ok: false, problem: "it is no JSON object or array" };
  } catch (thrown) {
    return { ok: false, problem: errorMessage(thrown) };
  }
}

/**
 * Finds the end of the object or array that opens at `start`, heeding strings and comments but not whether brackets are
 * of one kind.
 */
export function scanJson(text: string, start: number): JsonEnd {
  let open = 0;
  let depth = 0;
  let index = start;
  while (index < text.length) {
    const char = text[index];
    if (char === '"') {
      const end = endOfString(text, index);
      if (end < 0) return { end: text.length, closed: false, inString: true, depth };
      index = end;
      continue;
    }
    const comment = endOfComment(text, index);
    if (comment > index) {
      index = comment;
      continue;
    }
    index += 1;
    if (char === "{" || char === "[") {
      open += 1;
      depth = Math.max(depth, open);
    } else if (char === "}" || char === "]") {
      open -= 1;
      if (open <= 0) return { end: index, closed: true, inString: false, depth };
    }
  }
  return { end: text.length, closed: false, inString: false, depth };
}

/** Index after the closing quote of the string that opens at `start`; -1 where none comes. */
function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index += 1) {
    const char = text[index];
    if (char === "\\") index += 1;
    else if (char === '"') return index + 1;
  }
  return -1;
}

/** Index after the comment that opens at `index`; `index` itself where none does. */
function endOfComment(text: string, index: number): number {
  if (text[index] !== "/") return index;
  const close = text[index + 1] === "/" ? "\n" : text[index + 1] === "*" ? "*/" : null;
  if (close === null) return index;
  const end = text.indexOf(close, index + 2);
  return end < 0 ? text.length : end + (close === "\n" ? 0 : 2);
}

export type StructuredReply =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      /** What was wrong, so that it can be told back to the model. */
      readonly problem: string;
      /** What came instead; undefined where there was no JSON. */
      readonly value: unknown;
    };

/**
 * The value of a reply to a request for an `answer`: the arguments of the function that stands for it, else the JSON in
 * the text, checked against the schema. A call that is written as text is read too. Never throws on a reply.
 *
 * @throws Error of zod when the schema uses a keyword that cannot be checked
 */
export function readStructured(message: AIMessage, answer: StructuredAnswer): StructuredReply {
  const read = valueIn(message, answer);
  if (!read.ok) return { ...read, value: undefined };
  const schema = checkOf(answer);
  const checked = schema.check(read.value);
  if (checked.ok) return checked;
  const inner = argumentsIn(read.value, answer.name);
  if (inner !== undefined) {
    const innerChecked = schema.check(inner);
    if (innerChecked.ok) return innerChecked;
    return { ok: false, problem: innerChecked.issues.join("; "), value: inner };
  }
  return { ok: false, problem: checked.issues.join("; "), value: read.value };
}

function valueIn(message: AIMessage, { name }: StructuredAnswer): JsonAnswer {
  const call = message.tool_calls?.find((one) => one.name === name);
  if (call !== undefined) return { ok: true, value: call.args };
  const broken = message.invalid_tool_calls?.find((one) => one.name === name);
  return parseJsonAnswer(broken?.args ?? message.text);
}

/** Of a call in text: `{"name": "choose", "arguments": {…}}`, as models write it whose server knows no tools. */
function argumentsIn(value: unknown, name: string): unknown {
  if (!isRecord(value) || value["name"] !== name) return undefined;
  return value["arguments"] ?? value["parameters"] ?? value["args"] ?? value["input"];
}

const checks = new WeakMap<StructuredAnswer, SchemaCheck>();

function checkOf(answer: StructuredAnswer): SchemaCheck {
  const known = checks.get(answer);
  if (known !== undefined) return known;
  const made = checkFromJsonSchema(answer.schema);
  checks.set(answer, made);
  return made;
}
