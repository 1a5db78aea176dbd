import {
  answerFrom,
  countIn,
  inOrderOf,
  joinResults,
  lastNumber,
  partsOf,
  relevant,
  outcomeText,
} from "./answer.ts";
import { chooseValue, reasonName, choiceReason, type ChosenValue } from "./arguments.ts";
import type { Conversation } from "./conversation.ts";
import {
  datesIn,
  descriptionOf,
  emailsIn,
  enumOf,
  numbersIn,
  propertiesOf,
  requiredOf,
  type Schema,
  stringKind,
  typeOf,
  urlsIn,
} from "./facts.ts";
import { valueUnder, type Outcome } from "./notation.ts";
import { isRecord } from "../../values/json.ts";
import { findString } from "./string-argument.ts";
import { linksOf, requestParts, subtaskIds } from "./subtasks.ts";
import { tableRows } from "./extract.ts";
import { taskOf } from "./history.ts";
import { overlap, stemsOf, wordsOf } from "../words.ts";

/** A value of the schema's form, filled from the results and the request: by key, else by name, description and type. */
export function structuredAnswer(schema: Schema, conversation: Conversation): unknown {
  return valueFor("answer", schema, { conversation, root: schema });
}

interface Filling {
  readonly conversation: Conversation;
  readonly root: Schema;
}

function valueFor(name: string, written: Schema, filling: Filling): unknown {
  const schema = resolve(written, filling.root);
  const { conversation } = filling;
  const choices = enumOf(schema);
  if (choices !== null) return choiceFor(name, schema, choices, conversation).value;
  const type = typeOf(schema);
  const known = knownValue(name, conversation);
  if (known !== undefined && fits(known, type)) return known;
  switch (type) {
    case "object":
      return objectFor(schema, filling);
    case "array":
      return arrayFor(name, schema, filling);
    case "number":
    case "integer":
      return numberFor(name, schema, type, conversation);
    case "boolean":
      return booleanFor(name, schema, conversation);
    case "null":
      return null;
    default:
      return stringFor(name, schema, known, conversation);
  }
}

function objectFor(schema: Schema, filling: Filling): Record<string, unknown> {
  const required = requiredOf(schema);
  const properties = Object.entries(propertiesOf(schema));
  const entries = properties.flatMap(([name, property]) => {
    if (!required.has(name) && !isMentioned(name, filling.conversation)) return [];
    const value = reasonFor(name, property, properties, filling);
    return [[name, value ?? valueFor(name, property, filling)] as const];
  });
  return Object.fromEntries(entries);
}

/** The reason next to the only choice; null for anything else. */
function reasonFor(
  name: string,
  property: Schema,
  beside: readonly (readonly [string, Schema])[],
  { conversation, root }: Filling,
): string | null {
  if (!reasonName.test(name) || typeOf(resolve(property, root)) !== "string") return null;
  const chosen = beside.flatMap(([other, written]) => {
    const schema = resolve(written, root);
    const choices = enumOf(schema);
    return choices === null || choices.length < 2
      ? []
      : [choiceFor(other, schema, choices, conversation)];
  });
  const [only] = chosen;
  return chosen.length === 1 && only !== undefined ? choiceReason(only) : null;
}

/** Optional parts are given where a result has them or the request asks for them. */
function isMentioned(name: string, { outcomes, request, feedback }: Conversation): boolean {
  if (outcomes.some((one) => valueUnder(name, one.value) !== undefined)) return true;
  return overlap(stemsOf(name), `${request} ${feedback.join(" ")}`) > 0;
}

function knownValue(name: string, { outcomes, request }: Conversation): unknown {
  for (const one of outcomes.toReversed()) {
    const found = one.failed ? undefined : valueUnder(name, one.value);
    if (found !== undefined) return found;
  }
  const label = wordsOf(name).join("[ _-]?");
  const sign = new RegExp(`(?:^|[\\n,;{(])\\s*"?${label}"?\\s*[:=]\\s*"?([^\\n,;"})]+)`, "i");
  for (const text of [...outcomes.map((one) => one.text).toReversed(), request]) {
    const found = sign.exec(text)?.[1]?.trim();
    if (found === undefined || found === "") continue;
    return /^-?\d+(\.\d+)?$/.test(found) ? Number(found) : found;
  }
  return undefined;
}

function fits(value: unknown, type: string): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object") return false;
  return typeof value === type;
}

/** The value that a result or the request names by the property's own name, else the one that most words speak for. */
function choiceFor(
  name: string,
  schema: Schema,
  choices: readonly unknown[],
  conversation: Conversation,
): ChosenValue {
  const known = knownValue(name, conversation);
  if (choices.includes(known)) return { value: known, shared: [String(known)] };
  const { system, instruction } = conversation;
  return chooseValue(choices, `${system}\n${instruction}\n${descriptionOf(schema)}`, conversation);
}

function numberFor(name: string, schema: Schema, type: string, conversation: Conversation): number {
  const { outcomes, request } = conversation;
  const subtask = ofSubtask(name, schema, outcomes);
  const counted =
    (subtask && lastNumber([subtask])) ??
    outcomes.map((one) => countIn(request, one)).findLast((one) => one !== null);
  const near = [...outcomes.map((one) => one.text), request]
    .flatMap(partsOf)
    .find((part) => overlap(stemsOf(name), part) > 0 && numbersIn(part).length > 0);
  const found =
    counted ??
    (near === undefined ? undefined : numbersIn(near)[0]) ??
    lastNumber(outcomes) ??
    numbersIn(request)[0] ??
    0;
  const least = typeof schema["minimum"] === "number" ? schema["minimum"] : -Infinity;
  const most = typeof schema["maximum"] === "number" ? schema["maximum"] : Infinity;
  const clamped = Math.min(most, Math.max(least, found));
  return type === "integer" ? Math.round(clamped) : clamped;
}

/** The result of the subtask whose description speaks most of a property; undefined where no subtask does. */
function ofSubtask(
  name: string,
  schema: Schema,
  outcomes: readonly Outcome[],
): Outcome | undefined {
  const wanted = stemsOf(`${name} ${descriptionOf(schema)}`);
  const [best] = outcomes
    .map((one) => ({ one, score: one.failed ? 0 : overlap(wanted, taskOf(one) ?? "") }))
    .toSorted((a, b) => b.score - a.score);
  return best !== undefined && best.score > 0 ? best.one : undefined;
}

function booleanFor(name: string, schema: Schema, { outcomes, request }: Conversation): boolean {
  const about = stemsOf(`${name} ${descriptionOf(schema)}`);
  const said = [...outcomes.map((one) => one.text), request].flatMap(partsOf);
  const best = said.find((part) => overlap(about, part) > 0) ?? "";
  if (best === "") return outcomes.length > 0 && outcomes.every((one) => !one.failed);
  return !/\b(no|not|never|false|without|fail\w*|n't)\b/i.test(best);
}

function stringFor(
  name: string,
  schema: Schema,
  known: unknown,
  conversation: Conversation,
): string {
  if (known !== undefined) return typeof known === "string" ? known : JSON.stringify(known);
  const { outcomes, request, feedback, system, earlier } = conversation;
  const texts = [...outcomes.map((one) => one.text), request];
  const kind = stringKind(name, schema);
  const facts = factsOf(kind);
  const fact = facts && texts.flatMap(facts)[0];
  if (fact !== undefined && fact !== null) return fact;
  const isCode = /(^|_)(id|code|number|ref)$/i.test(name);
  if (kind === "query" || isCode) {
    const wanted = { name, kind, schema, required: kind === "query" };
    const said = findString(wanted, { text: materialIn(request), outcomes, used: new Set() });
    if (said !== null) return said.replace(/^(the|an?) /i, "");
  }
  const wanted = `${name} ${descriptionOf(schema)} ${feedback.join(" ")}`;
  const subtask = ofSubtask(name, schema, outcomes);
  const said =
    subtask !== undefined
      ? outcomeText(subtask)
      : outcomes.some((one) => taskOf(one) !== null)
        ? joinResults(inOrderOf(request, outcomes))
        : outcomes.length > 0
          ? answerFrom(`${request} ${wanted}`, outcomes)
          : relevant(request, [system, ...earlier].join("\n"), 2)
              .filter((part) => !part.includes("{"))
              .join(" ") || request;
  const longest = typeof schema["maxLength"] === "number" ? schema["maxLength"] : Infinity;
  return said.slice(0, longest);
}

/** What comes after the first paragraph, which says what is wanted; a request of one paragraph whole. */
function materialIn(request: string): string {
  const text = request.trim();
  const [, ...material] = text.split(/\n\s*\n/);
  return material.length === 0 ? text : material.join("\n\n");
}

function factsOf(kind: ReturnType<typeof stringKind>): ((text: string) => string[]) | null {
  if (kind === "email") return emailsIn;
  if (kind === "url") return urlsIn;
  if (kind === "date") return datesIn;
  return null;
}

/** Lists of what results list; of objects that describe tasks, one for each part of the request. */
function arrayFor(name: string, schema: Schema, filling: Filling): unknown[] {
  const { outcomes, request } = filling.conversation;
  const items = resolve(isRecord(schema["items"]) ? schema["items"] : {}, filling.root);
  const most = typeof schema["maxItems"] === "number" ? schema["maxItems"] : Infinity;
  const type = typeOf(items);
  if (type === "object" && isTask(items)) return tasksFor(items, filling).slice(0, most);
  if (type === "object") {
    const texts = [...outcomes.map((one) => one.text), request];
    const rows = texts.map((text) => tableRows(items, text)).find(({ length }) => length > 0);
    if (rows !== undefined) return rows.slice(0, most);
  }
  const list = outcomes.map((one) => listIn(one.value)).findLast((one) => one !== null);
  if (list !== undefined && list !== null && list.every((one) => fits(one, type))) {
    return list.slice(0, most);
  }
  if (type === "number" || type === "integer") {
    return outcomes.flatMap((one) => numbersIn(one.text)).slice(0, most);
  }
  if (type === "string" && outcomes.some((one) => taskOf(one) !== null)) {
    return inOrderOf(request, outcomes)
      .filter((one) => !one.failed)
      .map(outcomeText)
      .slice(0, most);
  }
  if (type === "string" && outcomes.length > 0) {
    const text = outcomes.map((one) => one.text).join("\n");
    return relevant(`${request} ${name}`, text, Math.min(most, 5));
  }
  return requiredMinimum(name, schema, items, filling);
}

function requiredMinimum(name: string, schema: Schema, items: Schema, filling: Filling): unknown[] {
  const least = typeof schema["minItems"] === "number" ? schema["minItems"] : 0;
  return Array.from({ length: least }, () => valueFor(name, items, filling));
}

function listIn(value: unknown): unknown[] | null {
  if (Array.isArray(value)) return value;
  if (!isRecord(value)) return null;
  return Object.values(value).find(Array.isArray) ?? null;
}

const taskText = /^(description|task|title|goal|objective|instruction|action|step)$/i;
const taskLinks = /^(dependencies|depends_on|dependsOn|after|requires)$/i;

function isTask(items: Schema): boolean {
  const names = Object.keys(propertiesOf(items));
  return names.includes("id") && names.some((name) => taskText.test(name));
}

function tasksFor(items: Schema, filling: Filling): Record<string, unknown>[] {
  const properties = Object.entries(propertiesOf(items));
  const required = requiredOf(items);
  const parts = requestParts(filling.conversation.request);
  const ids = subtaskIds(parts.map(({ text }) => text));
  const links = linksOf(parts);
  return parts.map(({ text }, i) => {
    const conversation = { ...filling.conversation, request: text, outcomes: [] };
    const entries = properties.flatMap(([name, written]): [string, unknown][] => {
      const property = resolve(written, filling.root);
      const isText = (schema: Schema) => typeOf(schema) === "string";
      if (name === "id") return [[name, isText(property) ? ids[i] : i + 1]];
      if (taskText.test(name)) return [[name, text]];
      if (taskLinks.test(name)) {
        const linked = isRecord(property["items"]) ? property["items"] : {};
        return [[name, (links[i] ?? []).map((at) => (isText(linked) ? ids[at] : at + 1))]];
      }
      const isWanted = required.has(name) || enumOf(property) !== null;
      return isWanted ? [[name, valueFor(name, property, { ...filling, conversation })]] : [];
    });
    return Object.fromEntries(entries);
  });
}

function resolve(schema: Schema, root: Schema): Schema {
  const ref = schema["$ref"];
  if (typeof ref === "string" && ref.startsWith("#/")) {
    let found: unknown = root;
    for (const key of ref.slice(2).split("/")) found = isRecord(found) ? found[key] : undefined;
    return isRecord(found) ? found : {};
  }
  for (const key of ["anyOf", "oneOf"]) {
    const options = schema[key];
    if (!Array.isArray(options)) continue;
    const first = (options as Schema[]).find((one) => one["type"] !== "null");
    if (first !== undefined) return resolve(first, root);
  }
  return schema;
}
