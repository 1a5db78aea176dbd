/** A JSON Schema as agents, tools and requests have it. Nothing in it is trusted. */
export type Schema = Readonly<Record<string, unknown>>;

/** What is wrong with a part of a value. */
export interface Problem {
  /** JSON Pointer to the part; empty for the whole. */
  readonly pointer: string;
  readonly detail: string;
}

export interface Member {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** How a part of a value is asked for. */
export type Field =
  | {
      readonly kind: "text";
      readonly format: TextFormat | null;
      readonly isLong: boolean;
      readonly min: number;
      readonly max: number;
    }
  | {
      readonly kind: "number";
      readonly isInteger: boolean;
      /** Inclusive; null for none. */
      readonly min: number | null;
      readonly max: number | null;
    }
  | { readonly kind: "boolean" }
  | { readonly kind: "choice"; readonly options: readonly unknown[] }
  | { readonly kind: "fixed"; readonly value: unknown }
  | { readonly kind: "object"; readonly members: readonly Member[] }
  | {
      readonly kind: "list";
      readonly items: Schema;
      readonly min: number;
      readonly max: number;
    }
  | {
      readonly kind: "variants";
      readonly options: readonly { readonly title: string; readonly schema: Schema }[];
    }
  /** Asked for as JSON: the schema says something that no field shows. */
  | { readonly kind: "raw" };

const formats = ["date", "time", "date-time", "email", "uri"] as const;
export type TextFormat = (typeof formats)[number];

/** Levels of a schema that become fields; what is below is asked for as JSON. */
const maxDepth = 6;
const maxMembers = 100;
const maxOptions = 500;
const maxVariants = 20;
/** Items that a list can have in a form. */
const maxItems = 100;
/** Characters of a text from which it gets several lines. */
const longText = 200;
/** Parts of a schema that one walk looks at: references and variants can make a small schema endless. */
const maxParts = 2_000;
const raw: Field = { kind: "raw" };

/** Returns how a value of a schema is asked for. `$ref` leads to definitions of `root` only. */
export function fieldOf(given: unknown, root: Schema, depth = 0): Field {
  const schema = resolve(given, root);
  if (schema === null || depth > maxDepth) return raw;
  if (Object.hasOwn(schema, "const")) return { kind: "fixed", value: schema["const"] };
  const { enum: options } = schema;
  if (Array.isArray(options) && options.length > 0)
    return options.length <= maxOptions ? { kind: "choice", options } : raw;
  const variants = schema["oneOf"] ?? schema["anyOf"];
  if (Array.isArray(variants)) return variantsOf(variants, root);
  if (Array.isArray(schema["type"])) {
    const types = schema["type"].map((type) => ({ ...schema, type }));
    return types.length === 1 ? fieldOf(types[0], root, depth) : variantsOf(types, root);
  }
  switch (schema["type"]) {
    case "string":
      return textField(schema);
    case "integer":
    case "number":
      return numberField(schema);
    case "boolean":
      return { kind: "boolean" };
    case "null":
      return { kind: "fixed", value: null };
    case "array":
      return listField(schema);
    default:
      return isRecord(schema["properties"]) ? objectField(schema, root) : raw;
  }
}

/** Follows references, and merges `allOf` of objects. Null for what cannot be followed. */
function resolve(given: unknown, root: Schema): Schema | null {
  let schema: unknown = given;
  for (let steps = 0; steps < 10; steps++) {
    if (!isRecord(schema)) return null;
    const { $ref: ref, allOf } = schema;
    if (typeof ref === "string") schema = { ...withoutRef(schema), ...target(ref, root) };
    else if (Array.isArray(allOf)) schema = merged(schema, allOf, root);
    else return schema;
  }
  return null;
}

function withoutRef({ $ref: _ref, ...rest }: Schema): Schema {
  return rest;
}

function target(ref: string, root: Schema): Schema {
  if (!ref.startsWith("#/")) return {};
  const parts = ref.slice(2).split("/").map(unescapePart);
  let at: unknown = root;
  for (const part of parts) at = isRecord(at) && Object.hasOwn(at, part) ? at[part] : undefined;
  return isRecord(at) ? at : {};
}

function merged(schema: Schema, parts: readonly unknown[], root: Schema): Schema {
  const { allOf: _parts, ...own } = schema;
  const all = [own, ...parts.slice(0, maxVariants).map((part) => resolve(part, root) ?? {})];
  const properties = Object.assign({}, ...all.map((one) => one["properties"]));
  const required = all.flatMap((one) => (Array.isArray(one["required"]) ? one["required"] : []));
  const hasProperties = Object.keys(properties).length > 0;
  return { ...Object.assign({}, ...all), ...(hasProperties && { properties, required }) };
}

function variantsOf(variants: readonly unknown[], root: Schema): Field {
  if (variants.length > maxVariants) return raw;
  const schemas = variants.map((variant) => resolve(variant, root));
  if (schemas.includes(null)) return raw;
  // Constants side by side are one choice.
  if (schemas.every((one) => Object.hasOwn(one ?? {}, "const")))
    return { kind: "choice", options: schemas.map((one) => one?.["const"]) };
  const options = schemas.map((one) => ({ title: titleOf(one ?? {}), schema: one ?? {} }));
  const titles = options.map(({ title }) => title);
  return {
    kind: "variants",
    options: options.map(({ title, schema }, index) => ({
      title: titles.indexOf(title) === index ? title : `${title} ${index + 1}`,
      schema,
    })),
  };
}

function titleOf({ title, type, properties, const: value, enum: options }: Schema): string {
  if (typeof title === "string" && title !== "") return title;
  if (value !== undefined) return shownConstant(value);
  if (type === "null") return "none";
  if (Array.isArray(options)) return "one of several";
  const named = isRecord(properties) ? Object.values(properties).find(hasConst) : undefined;
  if (isRecord(named)) return shownConstant(named["const"]);
  return typeof type === "string" ? (typeNames[type] ?? type) : "value";
}

function shownConstant(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const typeNames: Readonly<Record<string, string>> = {
  string: "text",
  integer: "whole number",
  boolean: "yes or no",
  array: "list",
};

function hasConst(schema: unknown): boolean {
  return isRecord(schema) && Object.hasOwn(schema, "const");
}

function textField(schema: Schema): Field {
  const max = numberOr(schema["maxLength"], Number.POSITIVE_INFINITY);
  const format = formats.find((one) => one === schema["format"]) ?? null;
  const isMultiline = schema["format"] === "textarea" || schema["contentMediaType"] !== undefined;
  const isLong = format === null && (isMultiline || (max > longText && max < Infinity));
  return { kind: "text", format, isLong, min: numberOr(schema["minLength"], 0), max };
}

function numberField(schema: Schema): Field {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema;
  const isInteger = schema["type"] === "integer";
  // Between whole numbers, an exclusive bound is the next one.
  const inward = isInteger ? 1 : 0;
  const bounds = (inclusive: unknown, exclusive: unknown, step: number) => {
    if (typeof inclusive === "number") return inclusive;
    return typeof exclusive === "number" ? exclusive + step : null;
  };
  return {
    kind: "number",
    isInteger,
    min: bounds(minimum, exclusiveMinimum, inward),
    max: bounds(maximum, exclusiveMaximum, -inward),
  };
}

function listField(schema: Schema): Field {
  if (schema["prefixItems"] !== undefined || !isRecord(schema["items"])) return raw;
  const max = Math.min(maxItems, numberOr(schema["maxItems"], maxItems));
  return { kind: "list", items: schema["items"], min: numberOr(schema["minItems"], 0), max };
}

function objectField(schema: Schema, root: Schema): Field {
  const members = Object.entries(schema["properties"] as Schema);
  if (members.length > maxMembers) return raw;
  const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  // A required member without a description of its own can only be typed as JSON.
  if (required.some((name) => !members.some(([known]) => known === name))) return raw;
  return {
    kind: "object",
    members: members.map(([name, member]) => ({
      name,
      schema: resolve(member, root) ?? {},
      isRequired: required.includes(name),
    })),
  };
}

/** A position in a schema and its value. */
interface Place {
  readonly pointer?: string;
  readonly depth?: number;
  /** What is left of {@link maxParts}, for all parts together. */
  readonly budget?: { parts: number };
}

/** Returns the value with which a form begins: defaults, constants, and what is required of lists and objects. */
export function initialValue(given: unknown, root: Schema, at: Place = {}): unknown {
  const { depth = 0, budget = { parts: maxParts } } = at;
  const below = { depth: depth + 1, budget };
  budget.parts -= 1;
  if (budget.parts < 0) return undefined;
  const schema = resolve(given, root) ?? {};
  if (Object.hasOwn(schema, "default")) return schema["default"];
  const field = fieldOf(schema, root, depth);
  switch (field.kind) {
    case "fixed":
      return field.value;
    case "boolean":
      return false;
    case "object": {
      const members = field.members.flatMap(({ name, schema: of, isRequired }) => {
        const needed = isRequired || Object.hasOwn(of, "default");
        const value = needed ? initialValue(of, root, below) : undefined;
        return value === undefined ? [] : [[name, value] as const];
      });
      return Object.fromEntries(members);
    }
    case "list":
      return Array.from({ length: Math.min(field.min, field.max) }, () =>
        initialValue(field.items, root, below),
      );
    case "variants":
      return initialValue(field.options[0]?.schema, root, below);
    default:
      return undefined;
  }
}

/** Returns which variant a value is of: the first that it fits, else the first of its type; 0 for none. */
export function variantOf(
  options: readonly { readonly schema: Schema }[],
  value: unknown,
  root: Schema,
): number {
  const fits = options.findIndex(({ schema }) => checkValue(schema, value, root).length === 0);
  if (fits >= 0) return fits;
  const kinds = options.map(({ schema }) => fieldOf(schema, root).kind);
  return Math.max(0, kinds.indexOf(kindOf(value)));
}

function kindOf(value: unknown): Field["kind"] {
  if (Array.isArray(value)) return "list";
  if (isRecord(value)) return "object";
  if (typeof value === "number") return "number";
  return typeof value === "boolean" ? "boolean" : "text";
}

/**
 * Returns what is wrong with a value, as far as fields show it. The server checks everything, patterns included: those of
 * a schema are not executed here.
 */
export function checkValue(
  given: unknown,
  value: unknown,
  root: Schema,
  at: Place = {},
): readonly Problem[] {
  const { pointer = "", depth = 0, budget = { parts: maxParts } } = at;
  const below = { depth: depth + 1, budget };
  budget.parts -= 1;
  if (budget.parts < 0) return [];
  const field = fieldOf(given, root, depth);
  const problem = (detail: string) => [{ pointer, detail }];
  switch (field.kind) {
    case "text":
      if (typeof value !== "string") return problem("Expected a text.");
      return textProblems(field, value).map((detail) => ({ pointer, detail }));
    case "number":
      if (typeof value !== "number" || !Number.isFinite(value))
        return problem("Expected a number.");
      if (field.isInteger && !Number.isInteger(value)) return problem("Expected a whole number.");
      if (field.min !== null && value < field.min) return problem(`At least ${field.min}.`);
      if (field.max !== null && value > field.max) return problem(`At most ${field.max}.`);
      return [];
    case "boolean":
      return typeof value === "boolean" ? [] : problem("Choose yes or no.");
    case "choice":
      return field.options.some((option) => isSame(option, value)) ? [] : problem("Choose one.");
    case "fixed":
      return isSame(field.value, value) ? [] : problem("Expected another value.");
    case "list":
      if (!Array.isArray(value)) return problem("Expected a list.");
      if (value.length < field.min) return problem(`At least ${field.min} items.`);
      if (value.length > field.max) return problem(`At most ${field.max} items.`);
      return value.flatMap((item, index) =>
        checkValue(field.items, item, root, { ...below, pointer: `${pointer}/${index}` }),
      );
    case "object":
      if (!isRecord(value)) return problem("Expected an object.");
      return field.members.flatMap(({ name, schema, isRequired }) => {
        const of = { ...below, pointer: `${pointer}/${escapePart(name)}` };
        const member = memberOf(value, name);
        if (member !== undefined) return checkValue(schema, member, root, of);
        return isRequired ? [{ pointer: of.pointer, detail: "Required." }] : [];
      });
    case "variants": {
      const all = field.options.map(({ schema }) =>
        checkValue(schema, value, root, { ...below, pointer }),
      );
      if (all.some((one) => one.length === 0)) return [];
      return all[Math.max(0, closest(all))] ?? [];
    }
    case "raw":
      return value === undefined ? problem("Required.") : [];
  }
}

/** The variant whose problems lie deepest: the others are of another form altogether. */
function closest(all: readonly (readonly Problem[])[]): number {
  const depths = all.map((one) => Math.min(...one.map(({ pointer }) => pointer.length)));
  return depths.indexOf(Math.max(...depths));
}

function textProblems(
  { format, min, max }: Extract<Field, { kind: "text" }>,
  text: string,
): readonly string[] {
  if (text.length < min) return [min === 1 ? "Required." : `At least ${min} characters.`];
  if (text.length > max) return [`At most ${max} characters.`];
  if (format === "email" && !/^[^\s@]+@[^\s@]+$/.test(text)) return ["Expected an email address."];
  if (format === "uri" && !URL.canParse(text)) return ["Expected a URL with its scheme."];
  if (format === "date" && !/^\d{4}-\d\d-\d\d$/.test(text)) return ["Expected a date."];
  if (format === "date-time" && Number.isNaN(Date.parse(text))) return ["Expected a time."];
  return [];
}

/** Returns the problems of a part: its own, and those below it that no member shows. */
export function problemsAt(
  problems: readonly Problem[],
  pointer: string,
  members: readonly string[] = [],
): readonly Problem[] {
  const isWithin = (inner: string, outer: string) =>
    inner === outer || inner.startsWith(`${outer}/`);
  return problems.filter(
    (one) =>
      isWithin(one.pointer, pointer) && !members.some((member) => isWithin(one.pointer, member)),
  );
}

/** Returns a member of a value; undefined for what it inherits. */
export function memberOf(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

export function escapePart(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function unescapePart(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === "number" && value >= 0 ? value : otherwise;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
