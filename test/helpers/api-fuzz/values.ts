import fc from "fast-check";
import { isRecord } from "../../../src/values/json.ts";
import type { Random } from "../random.ts";
import { type ApiDocument, resolveSchema, type Schema } from "./document.ts";

export interface ValueSource {
  readonly document: ApiDocument;
  readonly random: Random;
  /** Returns a new text of the tenant, letters and digits only. */
  readonly marker: () => string;
  /** Returns a known id for a key; undefined for none. */
  readonly idFor: (key: string) => string | undefined;
}

/** Chooses one of a list that is not empty. */
export function pick<T>(random: Random, list: readonly T[]): T {
  return list[random.int(0, list.length)] as T;
}

const maxDepth = 6;

/** Returns a value that a JSON Schema takes, as far as its keywords say. `key`: the property that it is of. */
export function valueOf(source: ValueSource, given: unknown, key = "", depth = 0): unknown {
  const { document, random } = source;
  const schema = resolveSchema(document, given);
  if ("const" in schema) return schema["const"];
  const { enum: allowed, anyOf, oneOf, allOf } = schema;
  if (Array.isArray(allowed) && allowed.length > 0) return pick(random, allowed as unknown[]);
  if ("default" in schema && random() < 0.2) return schema["default"];
  const union = Array.isArray(anyOf) ? anyOf : oneOf;
  if (Array.isArray(union) && union.length > 0)
    return valueOf(source, pick(random, union as unknown[]), key, depth);
  if (Array.isArray(allOf)) {
    const parts = allOf.map((part: unknown) => valueOf(source, part, key, depth));
    return parts.every(isRecord) ? Object.assign({}, ...(parts as object[])) : parts[0];
  }
  const type = Array.isArray(schema["type"])
    ? pick(random, schema["type"] as unknown[])
    : schema["type"];
  switch (type) {
    case "object":
      return objectOf(source, schema, key, depth);
    case "array":
      return arrayOf(source, schema, key, depth);
    case "string":
      return stringOf(source, schema, key);
    case "integer":
    case "number":
      // Callers may wait for a run that begins later.
      return key === "after_seconds" ? 0 : numberOf(random, schema);
    case "boolean":
      return random() < 0.5;
    case "null":
      return null;
    default:
      return anyValue(source, key);
  }
}

function objectOf(
  source: ValueSource,
  schema: Schema,
  key: string,
  depth: number,
): Record<string, unknown> {
  const { random } = source;
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const share = depth >= maxDepth ? 0 : 0.4 / (depth + 1);
  // Most agents take a message, and no more.
  if (key === "input" && random() < 0.75) return { message: source.marker() };
  const made: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(properties)) {
    // Most inputs have a message, whatever their schema says.
    const likely = /^(?:message|content|text)$/.test(name) ? 0.9 : share;
    if (required.has(name) || random() < likely)
      made[name] = valueOf(source, inner, name, depth + 1);
  }
  const names = Object.keys(properties);
  if (required.size === 0 && names.length > 0 && depth === 0 && random() < 0.6) {
    // Properties that are all optional often exclude each other.
    const name = pick(random, names);
    return { [name]: valueOf(source, properties[name], name, depth + 1) };
  }
  const { additionalProperties: others } = schema;
  if (isRecord(others) && depth < maxDepth && random() < 0.5) {
    const name = key === "answers" ? source.idFor("request_id") : undefined;
    made[name ?? source.marker()] = valueOf(source, others, key, depth + 1);
  }
  return made;
}

function arrayOf(source: ValueSource, schema: Schema, key: string, depth: number): unknown[] {
  const { minItems = 0, maxItems = 1000, items = {} } = schema as Record<string, number>;
  const length = Math.min(maxItems, minItems + (depth >= maxDepth ? 0 : source.random.int(0, 3)));
  const one = key.replace(/s$/, "");
  return Array.from({ length }, () => valueOf(source, items, one, depth + 1));
}

const patterns = new Map<string, fc.Arbitrary<string>>();

function stringOf(source: ValueSource, schema: Schema, key: string): string {
  const { random } = source;
  const { pattern, format, minLength = 0, maxLength = 500 } = schema as Record<string, never>;
  if (/(?:^|_)ids?$|cursor|before|after|^version$|^tool$/.test(key) && random() < 0.9) {
    const known = source.idFor(key);
    if (known !== undefined) return known;
  }
  if (/model/.test(key) && random() < 0.8) return "offline:rules";
  if (format === "uuid") return source.idFor(key) ?? randomUuid(random);
  if (format === "date-time") return "2026-01-02T03:04:05.000Z";
  if (format === "date") return "2026-01-02";
  if (format === "uri" || /url|endpoint/.test(key))
    return `https://${source.marker()}.example/${source.marker()}`;
  let text = source.marker();
  while (text.length < minLength) text += ` ${source.marker()}`;
  text = text.slice(0, Math.max(minLength, maxLength));
  if (typeof pattern !== "string" || new RegExp(pattern, "u").test(text)) return text;
  try {
    const arbitrary = patterns.get(pattern) ?? fc.stringMatching(new RegExp(pattern, "u"));
    patterns.set(pattern, arbitrary);
    return fc.sample(arbitrary, { numRuns: 1, seed: random.int(0, 2 ** 31) })[0] ?? text;
  } catch {
    // A pattern that the generator does not know.
    return text;
  }
}

function numberOf(random: Random, schema: Schema): number {
  const {
    minimum,
    maximum,
    exclusiveMinimum: above,
    type,
  } = schema as Record<string, number | undefined>;
  const from = minimum ?? (above === undefined ? 0 : above + 1);
  const to = Math.min(maximum ?? from + 20, from + 200);
  if ((type as unknown) === "number") return from + random() * (to - from);
  return pick(random, [from, Math.ceil(from), random.int(from, to + 1), Math.floor(to)]);
}

function anyValue(source: ValueSource, key: string): unknown {
  const { random, marker } = source;
  if (/message|content|text/.test(key) && random() < 0.9) return marker();
  const approval = { approved: random() < 0.5, reason: marker() };
  if (/^answers?$/.test(key) && random() < 0.7) return approval;
  const texts = [marker(), [marker()], { message: marker() }, { key: marker() }];
  return pick<unknown>(random, [...texts, 1, true, null, approval]);
}

/** Returns a UUID that no row has. */
export function randomUuid(random: Random): string {
  const hex = Array.from({ length: 32 }, () => random.int(0, 16).toString(16)).join("");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-7$3-8$4-$5");
}

/** Texts that break what is careless with them. */
export const hostileTexts =
  `'' or 1=1 --|'; drop table stratagraph.tenant; --|$1|%|_|\\|"|' '|<script>alert(1)</script>
../../etc/passwd|..|.|%00|%2e%2e%2f|a/b|a?b#c|\${execution}|{{secret:HOME}}|{{7*7}}|__proto__|constructor|toString
1e999|0x10|2026-13-45|\rX-Injected: 1|stratagraph.tenant|END|*|=@a|null|undefined|NaN|-1|\0|a\0b|\uD800|\uDFFFa
\u202Eabc|𝕏| |`
    .replaceAll(/\|?\n/g, "|")
    .split("|");

function hostileValue(random: Random): unknown {
  const numbers = [0, -1, -0, 0.5, 1e308, -1e308, 2 ** 31, 2 ** 53, 2 ** 63, 1e-320];
  const others: readonly unknown[] = [
    null,
    random() < 0.5,
    pick(random, numbers),
    pick<unknown>(random, [[], {}, [null], [[]], { "": "" }, { $ref: "#" }, { length: 1e9 }]),
    "x".repeat(random.int(200, 6000)),
    "\u{1F600}".repeat(300),
    nested(random.int(5, 140)),
    Array.from({ length: 300 }, (_none, index) => index),
    Object.fromEntries(Array.from({ length: 200 }, (_none, index) => [`k${index}`, index])),
  ];
  return random() < 0.5 ? pick(random, hostileTexts) : pick(random, others);
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

/** Returns a copy of a value with one fault in it: a wrong value, a missing key or one too many. */
export function mutate(random: Random, value: unknown): unknown {
  if (Array.isArray(value) && value.length > 0 && random() < 0.75) {
    const at = random.int(0, value.length);
    if (random() < 0.15) return [...value, ...value];
    return value.map((one: unknown, index) => (index === at ? mutate(random, one) : one));
  }
  if (!isRecord(value) || random() < 0.15) return hostileValue(random);
  const keys = Object.keys(value);
  const copy: Record<string, unknown> = { ...value };
  const key = keys.length === 0 ? "" : pick(random, keys);
  const chance = random();
  if (keys.length === 0 || chance < 0.2) {
    const names = ["__proto__", "constructor", "toString", "id", "tenant_id", "", "extra", "\0"];
    // An assignment to `__proto__` would add no key.
    Object.defineProperty(copy, pick(random, names), {
      value: hostileValue(random),
      enumerable: true,
      configurable: true,
    });
  } else if (chance < 0.4) delete copy[key];
  else copy[key] = mutate(random, copy[key]);
  return copy;
}
