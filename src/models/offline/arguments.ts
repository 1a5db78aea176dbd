import { numbersIn, quotedIn } from "./facts.ts";
import type { OfflineTool } from "./offline-tool.ts";
import { valueUnder } from "./outcome.ts";
import { isRecord } from "../../state/is-record.ts";
import {
  enumOf,
  propertiesOf,
  requiredOf,
  stringKind,
  typeOf,
  type Schema,
} from "./property-kind.ts";
import type { Search, Source } from "./source.ts";
import { findString } from "./string-argument.ts";
import { stem, stemsOf, wordsOf } from "./words.ts";

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
  if (choices !== null) return chosen(choices, required, search);
  const before = earlier(name, search, required);
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

function chosen(choices: readonly unknown[], required: boolean, search: Search): unknown {
  if (choices.length === 1) return required ? choices[0] : undefined;
  const words = ` ${wordsOf(search.text).join(" ")} `;
  const said = choices.find((choice) => words.includes(` ${wordsOf(String(choice)).join(" ")} `));
  if (said !== undefined) return said;
  const stems = stemsOf(search.text);
  const near = choices.find((choice) => [...stemsOf(String(choice))].some((one) => stems.has(one)));
  return near ?? (required ? choices[0] : undefined);
}

/** A value of the argument's name in an earlier result. */
function earlier(name: string, { outcomes }: Search, required: boolean): unknown {
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
