import { isRecord } from "../../values/json.ts";
import { stem, stemsOf, wordsOf } from "../words.ts";
import type { Conversation, OfflineTool, Search, Source } from "./conversation.ts";
import {
  enumOf,
  numbersIn,
  pathsIn,
  propertiesOf,
  quotedIn,
  requiredOf,
  type Schema,
  stringKind,
  typeOf,
  urlsIn,
} from "./facts.ts";
import { type Outcome, valueUnder } from "./notation.ts";
import { findString } from "./string-argument.ts";

/**
 * Arguments that a text holds for a tool, by its schema: required ones, and optional ones that are named in the text.
 * Null when a required one is nowhere to be found.
 */
export function fillArguments(tool: OfflineTool, source: Source): Record<string, unknown> | null {
  return fillObject(tool.parameters, { ...source, used: new Set() });
}

function fillObject(schema: Schema, search: Search): Record<string, unknown> | null {
  const args: Record<string, unknown> = {};
  const required = requiredOf(schema);
  const properties = Object.entries(propertiesOf(schema));
  // What is needed chooses first among the facts.
  const ordered = [
    ...properties.filter(([name]) => required.has(name)),
    ...properties.filter(([name]) => !required.has(name)),
  ];
  for (const [name, property] of ordered) {
    const found = fillValue(name, property, required.has(name), search);
    if (found !== undefined) args[name] = found;
    else if (required.has(name) && property["default"] !== undefined) {
      args[name] = property["default"];
    } else if (required.has(name)) return null;
  }
  const inOrder = properties.filter(([name]) => name in args).map(([name]) => [name, args[name]]);
  return Object.fromEntries(inOrder) as Record<string, unknown>;
}

function fillValue(name: string, schema: Schema, required: boolean, search: Search): unknown {
  const choices = enumOf(schema);
  if (choices !== null) return chosenValue(choices, required, search);
  const before = earlierValue(name, search, required);
  switch (typeOf(schema)) {
    case "number":
    case "integer":
      return (
        findNumber(name, schema, required, search) ??
        (typeof before === "number" ? before : undefined)
      );
    case "boolean":
      return findBoolean(name, required, search.text);
    case "array":
      return findArray(name, schema, required, search);
    case "object": {
      const filled = fillObject(schema, search);
      return filled !== null && (required || Object.keys(filled).length > 0) ? filled : undefined;
    }
    default: {
      const found = findString({ name, kind: stringKind(name, schema), schema, required }, search);
      if (found !== null) return found;
      return typeof before === "string" || typeof before === "number" ? String(before) : undefined;
    }
  }
}

function chosenValue(choices: readonly unknown[], required: boolean, search: Search): unknown {
  if (choices.length === 1) return required ? choices[0] : undefined;
  const words = ` ${wordsOf(search.text).join(" ")} `;
  const said = choices.find((choice) => words.includes(` ${wordsOf(String(choice)).join(" ")} `));
  if (said !== undefined) return said;
  const stems = stemsOf(search.text);
  const near = choices.find((choice) => [...stemsOf(String(choice))].some((one) => stems.has(one)));
  return near ?? (required ? choices[0] : undefined);
}

/** A value of the argument's name in an earlier result. */
function earlierValue(name: string, { outcomes }: Search, required: boolean): unknown {
  if (!required) return undefined;
  for (const { value } of outcomes.toReversed()) {
    const found = valueUnder(name, value);
    if (found !== undefined && !isRecord(found)) return found;
  }
  return undefined;
}

function findNumber(
  name: string,
  schema: Schema,
  required: boolean,
  search: Search,
): number | undefined {
  const label = wordsOf(name).map((word) => `${stem(word)}\\w*`);
  const near = new RegExp(
    `\\b(?:${label.join("|")})\\b\\W{1,3}(?:(?:is|of|to|=|number)\\W{1,2})?(-?\\d+(?:\\.\\d+)?)|(-?\\d+(?:\\.\\d+)?)\\W(?:${label.join("|")})\\b`,
    "i",
  ).exec(search.text);
  const counted =
    /\b(?:top|first|last|at most|up to|limit(?: of)?|max(?:imum)?(?: of)?)\s+(\d+)\b/i.exec(
      search.text,
    );
  const isLimit = /limit|max|count|top|size|results|number|^k$|^n$/i.test(name);
  // "the first 5 lines" says where to stop, not where to begin.
  const begun = /\b(?:from|start(?:ing)?(?: at| from)?|after) (?:line |page |row )?(\d+)\b/i.exec(
    search.text,
  );
  const isBegin = /start|from|offset|begin|skip/i.test(name);
  const said = isBegin
    ? begun?.[1]
    : (near?.[1] ?? near?.[2] ?? (isLimit ? counted?.[1] : undefined));
  const number = said !== undefined ? Number(said) : required ? freeNumber(search) : undefined;
  if (number === undefined) return undefined;
  search.used.add(String(number));
  return typeOf(schema) === "integer" ? Math.round(number) : number;
}

function freeNumber({ text, used }: Search): number | undefined {
  return numbersIn(text).find((one) => !used.has(String(one)));
}

function findBoolean(name: string, required: boolean, text: string): boolean | undefined {
  const stems = stemsOf(name.replace(/^(is|include|with|use|enable|show)_?/i, ""));
  const said = [...stemsOf(text)].some((one) =>
    [...stems].some((own) => one === own || (own.length > 5 && one.startsWith(own.slice(0, 6)))),
  );
  if (!said) return required ? false : undefined;
  const first = [...stems][0]?.slice(0, 4) ?? "";
  return !new RegExp(`\\b(?:not|no|without|never|non)\\W+(?:\\w+\\W+)?${first}`, "i").test(text);
}

function findArray(name: string, schema: Schema, required: boolean, search: Search): unknown {
  const items = isRecord(schema["items"]) ? schema["items"] : {};
  const type = typeOf(items);
  if (type === "number" || type === "integer") {
    const numbers = numbersIn(search.text);
    return numbers.length > 0 ? numbers : required ? [] : undefined;
  }
  if (type !== "string") return required ? [] : undefined;
  const quoted = quotedIn(search.text).filter((one) => !search.used.has(one));
  if (quoted.length > 0) return quoted;
  const found: string[] = [];
  const wanted = { name, kind: stringKind(name, items), schema: items, required };
  for (let next = findString(wanted, search); next !== null && found.length < 50;) {
    found.push(next);
    search.used.add(next);
    const more = findString({ ...wanted, required: false }, search);
    next = more !== null && !found.includes(more) ? more : null;
  }
  return found.length > 0 || required ? found : undefined;
}

const every =
  /\b(?:(?:each|all|both|every)(?: one)?(?: of)?(?: (?:the|these|those))?(?: \w+)?? (?:files?|documents?|pages?|paths?|ones?)|(?:each|all|both) of (?:them|these|those)|(?:these|those) (?:files|documents|pages|paths)|them all|them|each|both)\b/i;

const looking = /^(?:read|open|show|parse|count|search|fetch|get|check|look)\b/i;

/** A part to repeat for each file or page of its results. */
export function forEach(part: string, given: readonly Outcome[]): readonly string[] {
  if (given.length === 0 || pathsIn(part).length + urlsIn(part).length > 0) return [part];
  if (!looking.test(part) || !every.test(part)) return [part];
  const named = [...new Set(given.flatMap((one) => placesIn(one.value ?? one.text)))];
  return named.length === 0 ? [part] : named.map((place) => part.replace(every, place));
}

function placesIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [...urlsIn(value), ...pathsIn(value)];
  if (Array.isArray(value)) return value.flatMap(placesIn);
  return isRecord(value) ? Object.values(value).flatMap(placesIn) : [];
}

/**
 * The object that an instruction like `Reply with one JSON object: {"accepted": boolean, "reasons": [string]}` asks for,
 * with the plainest value of each key's type. Of values that the instruction describes in a list, the one is chosen that
 * fits what was asked. Keys that are wanted only in some case are left out.
 */
export function askedObject(conversation: Conversation): Record<string, unknown> {
  const { instruction, outcomes } = conversation;
  const body = instruction.slice(instruction.indexOf("{"));
  let chosen: ChosenValue | null = null;
  const failed = outcomes.at(-1)?.failed ?? false;
  const last = outcomes.at(-1);
  const said =
    last === undefined
      ? "No tool was used yet."
      : `${last.name} ${failed ? "failed" : "answered"}.`;
  const object: Record<string, unknown> = {};
  for (const [key, about] of keysOf(body)) {
    if (/\(only (when|if)\b/i.test(about)) continue;
    const choices = describedChoices(about, instruction);
    if (choices !== null) {
      chosen = chooseValue(choices, instruction, conversation);
      object[key] = chosen.value;
    } else {
      const isReason = chosen !== null && reasonName.test(key) && about.startsWith("string");
      object[key] = isReason && chosen ? choiceReason(chosen) : plainest(about, said, failed);
    }
  }
  return object;
}

/** Values such as `"billing" | "technical"` where the instruction has a line for each of them. */
function describedChoices(about: string, instruction: string): readonly string[] | null {
  if (!about.startsWith('"')) return null;
  const choices = [...about.matchAll(/"((?:[^"\\]|\\.)+)"/g)].map((match) => match[1] ?? "");
  const isDescribed = (one: string) => instruction.includes(`\n- ${one}: `);
  return choices.length > 0 && choices.every(isDescribed) ? choices : null;
}

/** Keys of the outermost braces with the text up to the next one. */
function keysOf(body: string): [string, string][] {
  const found: { key: string; at: number; from: number }[] = [];
  let depth = 0;
  for (const match of body.matchAll(/[{[]|[}\]]|"([^"]*)"\s*:/g)) {
    if (/^[{[]/.test(match[0])) depth += 1;
    else if (/^[}\]]/.test(match[0])) depth -= 1;
    else if (depth === 1) {
      found.push({ key: match[1] ?? "", at: match.index, from: match.index + match[0].length });
    }
  }
  return found.map(({ key, from }, i) => [key, body.slice(from, found[i + 1]?.at).trim()]);
}

function plainest(about: string, said: string, failed: boolean): unknown {
  const alternatives = [...about.matchAll(/"([^"]+)"/g)].map((match) => match[1] ?? "");
  if (/^(\{.*|"[^"]*"\s*)?\|?\s*null\b|\|\s*null\b/.test(about)) return null;
  if (about.startsWith('"')) {
    const bad = alternatives.find((one) => /stuck|fail|no\b|blocked/i.test(one));
    return failed && bad !== undefined ? bad : (alternatives[0] ?? "");
  }
  if (about.startsWith("bool")) return !failed;
  if (about.startsWith("[")) return [];
  if (/^(number|int)/.test(about)) return failed ? 0 : 1;
  if (about.startsWith("{")) return {};
  return said;
}

/** One of several values, and the words it was chosen by. */
export interface ChosenValue {
  readonly value: unknown;
  /** Words that what was asked shares with the value and its description; empty when it was chosen for want of any. */
  readonly shared: readonly string[];
}

const labelWeight = 3;
const relatedWeight = 0.5;

/** Everyday synonyms of words in descriptions. */
const matters = [
  "bill billing invoice charge payment pay paid price money card refund receipt subscription twice cost",
  "technical crash bug error broken fail install log login password slow freeze screen connect",
  "sales sell buy offer quote discount demo upgrade plan pricing",
  "refund return cancel money back reimburse",
  "shipping delivery deliver parcel package track arrive late",
  "account profile login password email address",
].map(stemsOf);

const catchAll =
  /^(other|others|else|general|misc|miscellaneous|unknown|none|fallback|default)$|\b(anything|everything) else\b|\bthe rest\b/i;

/**
 * Chooses by words in common between what was asked and the values with what `about` says of them: in lines such as
 * `- billing: invoices and payments`, else in lines that name one value only. It is word overlap and no understanding. What
 * was said before the request decides where the request does not, then a value that is for everything else, then the
 * order.
 */
export function chooseValue(
  choices: readonly unknown[],
  about: string,
  conversation: Pick<Conversation, "request" | "outcomes" | "earlier">,
): ChosenValue {
  const { request, outcomes, earlier } = conversation;
  const described = choices.map((one) => describedIn(about, String(one), choices));
  const words = described.map((text) => stemsOf(text));
  const texts = [[request, ...outcomes.map((one) => one.text)].join(" "), earlier.join(" ")];
  let left = choices.map((_, index) => index);
  let shared: readonly string[] = [];
  for (const text of texts) {
    const asked = stemsOf(text);
    const scores = choices.map((one, index) => score(asked, String(one), index, words));
    const top = Math.max(...left.map((index) => scores[index]?.sum ?? 0));
    left = left.filter((index) => scores[index]?.sum === top);
    const stems = new Set(scores[left[0] ?? 0]?.shared);
    if (shared.length === 0) shared = wordsOf(text).filter((word) => speaks(word, stems));
    if (left.length === 1) break;
  }
  const rest = left.find((index) => {
    return catchAll.test(String(choices[index])) || catchAll.test(described[index] ?? "");
  });
  const chosen = (shared.length === 0 ? rest : undefined) ?? left[0] ?? 0;
  return { value: choices[chosen], shared: [...new Set(shared)] };
}

function speaks(word: string, stems: ReadonlySet<string>): boolean {
  return [...stemsOf(word)].some((root) => stems.has(root));
}

/** A word counts less the more of the values share it. */
function score(
  asked: ReadonlySet<string>,
  label: string,
  index: number,
  words: readonly ReadonlySet<string>[],
): { readonly sum: number; readonly shared: readonly string[] } {
  const named = stemsOf(label);
  const own = words[index] ?? new Set<string>();
  const related = new Set(
    matters
      .filter((matter) => [...named, ...own].some((root) => matter.has(root)))
      .flatMap((matter) => [...matter]),
  );
  let sum = 0;
  const shared: string[] = [];
  for (const root of asked) {
    const weight =
      (named.has(root) ? labelWeight : 0) +
      (own.has(root) ? 1 / words.filter((others) => others.has(root)).length : 0) +
      (related.has(root) ? relatedWeight : 0);
    if (weight > 0) shared.push(root);
    sum += weight;
  }
  return { sum, shared };
}

function describedIn(about: string, label: string, choices: readonly unknown[]): string {
  const lines = about.split(/\n|;\s/);
  const listed = lines.flatMap((line) => {
    const [, head = "", text = ""] = /^\s*[-*•]?\s*([^:]+):\s+(.+)$/.exec(line) ?? [];
    return head.replace(/["'`*]/g, "").trim() === label ? [text] : [];
  });
  if (listed.length > 0) return listed.join(" ");
  const named = (line: string, one: string) =>
    ` ${wordsOf(line).join(" ")} `.includes(` ${wordsOf(one).join(" ")} `);
  const ofOne = lines.filter(
    (line) =>
      named(line, label) && choices.filter((other) => named(line, String(other))).length === 1,
  );
  return ofOne.join(" ");
}

/** Keys that say why something was chosen. */
export const reasonName = /^(reason|reasons|reasoning|rationale|why|explanation|justification)$/i;

/** Why a value was chosen, said honestly. */
export function choiceReason({ value, shared }: ChosenValue): string {
  const why =
    shared.length === 0
      ? "nothing that was asked speaks for any choice"
      : `what was asked has ${shared.join(", ")}`;
  return `[offline:rules] ${String(value)}, by word overlap: ${why}.`;
}
