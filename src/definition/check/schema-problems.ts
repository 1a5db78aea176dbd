import type { z } from "zod";
import { nearestName } from "../../nearest-name.ts";
import { isRecord } from "../../values/json.ts";
import { agentSpecSchema } from "../schema/agent.ts";
import { type DefinitionPath, type DefinitionProblem, showFound, getAtPath } from "./problems.ts";

/**
 * Returns the problems that a schema finds in a written value.
 *
 * @param schema default: the schema of agent definitions
 */
export function schemaProblems(
  written: unknown,
  schema: z.ZodType = agentSpecSchema,
): readonly DefinitionProblem[] {
  const parsed = schema.safeParse(written);
  if (parsed.success) return [];
  return parsed.error.issues.flatMap((issue) => toProblems(issue, { schema, written }));
}

function toProblems(issue: z.core.$ZodIssue, checked: CheckedValue): DefinitionProblem[] {
  const path = issue.path.map((part) => (typeof part === "symbol" ? String(part) : part));
  const found = getAtPath(checked.written, path);
  if (mayBeSecret(path) && issue.code === "invalid_type") return [wrongKind(path, found)];
  switch (issue.code) {
    case "unrecognized_keys": {
      const allowed = knownKeys(path, checked);
      const others = soleKeys(path, checked) ?? [];
      return issue.keys.map((key) =>
        others.includes(key)
          ? severalKeys(path, [...allowed, key])
          : unknownKey(path, key, allowed),
      );
    }
    case "invalid_type":
      return [wrongType(path, found, typeName(issue.expected))];
    case "invalid_value":
      return [wrongValue(path, found, issue.values.map(String))];
    case "invalid_key":
      return [{ path, message: issue.issues[0]?.message ?? issue.message }];
    case "invalid_union":
      return unionProblems(issue, path, checked);
    case "too_small":
    case "too_big":
      return [{ path, message: boundMessage(issue), found: showFound(found) }];
    default:
      return [{ path, message: issue.message, found: showFound(found) }];
  }
}

/** Whether the text at a path may be a secret, which must not be shown. */
function mayBeSecret(path: DefinitionPath): boolean {
  return (
    ["tools", "guardrail_config", "ollama_client_config"].includes(String(path[0])) &&
    ["args", "env", "headers"].includes(String(path.at(-2)))
  );
}

function wrongKind(path: DefinitionPath, found: unknown): DefinitionProblem {
  const kind = typeof found === "object" ? showFound(found) : `a ${typeof found}`;
  return { path, message: "expected a text", found: kind };
}

function wrongType(path: DefinitionPath, found: unknown, expected: string): DefinitionProblem {
  if (found === undefined) return { path, message: `expected ${expected}, but it is missing` };
  const isNumber = typeof found === "number" && !Number.isFinite(found);
  const message = `expected ${isNumber ? "a finite number" : expected}`;
  return { path, message, found: showFound(found) };
}

function wrongValue(
  path: DefinitionPath,
  found: unknown,
  allowed: readonly string[],
  others: readonly string[] = [],
): DefinitionProblem {
  const all = [...allowed, ...others];
  if (found === undefined) {
    return { path, message: "expected one of the allowed values, but it is missing", allowed: all };
  }
  const suggestion = typeof found === "string" ? nearestName(found, allowed) : undefined;
  const message = "not one of the allowed values";
  return { path, message, found: showFound(found), allowed: all, suggestion };
}

function unknownKey(
  path: DefinitionPath,
  key: string,
  allowed: readonly string[],
): DefinitionProblem {
  const suggestion = nearestName(key, allowed);
  return { path: [...path, key], message: "unknown key", allowed, suggestion };
}

/**
 * Returns the problems of a union. A discriminated union reports its discriminator. A union of maps with one key each
 * reports the branch of the key. Any other union reports the branch of the written type, or else lists all types.
 */
function unionProblems(
  issue: z.core.$ZodIssueInvalidUnion,
  path: DefinitionPath,
  checked: CheckedValue,
): DefinitionProblem[] {
  const { written } = checked;
  const found = getAtPath(written, path);
  if (issue.discriminator !== undefined) {
    const { discriminator } = issue;
    const at = path.at(-1) === discriminator ? path : [...path, discriminator];
    const options = "options" in issue ? (issue.options ?? []) : [];
    return [wrongValue(at, getAtPath(written, at), options.map(String))];
  }
  const described = isRecord(found) ? describedBranch(path, found, checked) : undefined;
  if (described !== undefined) {
    return (issue.errors[described] ?? []).flatMap((inner) =>
      toProblems(below(path, inner), checked),
    );
  }
  const keys = isRecord(found) ? soleKeys(path, checked) : undefined;
  if (keys !== undefined) return soleKeyProblems({ issue, path, checked, keys });
  const sameKind = issue.errors.find((branch) => branch.every((inner) => !isOfOtherKind(inner)));
  if (sameKind !== undefined) {
    return sameKind.flatMap((inner) => toProblems(below(path, inner), checked));
  }
  const roots = issue.errors.flat();
  const expected = roots.flatMap((inner) =>
    "expected" in inner ? [typeName(inner.expected)] : [],
  );
  const kinds = [...new Set(expected)];
  const values = roots.flatMap((inner) =>
    inner.code === "invalid_value" ? inner.values.map(String) : [],
  );
  return values.length > 0
    ? [wrongValue(path, found, values, kinds)]
    : [wrongType(path, found, kinds.join(" or "))];
}

interface SoleKeyUnion {
  readonly issue: z.core.$ZodIssueInvalidUnion;
  readonly path: DefinitionPath;
  readonly checked: CheckedValue;
  /** The key of each branch; null for a branch that is not a map of one key. */
  readonly keys: readonly (string | null)[];
}

/** Returns the problems of a map that must have exactly one of several keys. */
function soleKeyProblems({ issue, path, checked, keys }: SoleKeyUnion): DefinitionProblem[] {
  const names = keys.filter((key) => key !== null);
  const given = Object.keys(getAtPath(checked.written, path) as object);
  const meant = names.filter((key) => given.includes(key));
  if (given.length === 0) {
    const message = "expected a map with one of the allowed keys";
    return [{ path, message, found: "an empty map", allowed: names }];
  }
  const one = meant[0];
  if (one === undefined) return given.map((key) => unknownKey(path, key, names));
  const unknown = given.filter((key) => !names.includes(key));
  return [
    ...(meant.length > 1 ? [severalKeys(path, meant)] : []),
    ...unknown.map((key) => unknownKey(path, key, [one])),
    ...meant
      .flatMap((key) => issue.errors[keys.indexOf(key)] ?? [])
      .filter((inner) => inner.path.length > 0)
      .flatMap((inner) => toProblems(below(path, inner), checked)),
  ];
}

function severalKeys(path: DefinitionPath, keys: readonly string[]): DefinitionProblem {
  return {
    path,
    message: `expected one key, found ${keys.join(" and ")}; write an entry for each`,
  };
}

/** Prefixes the path of an issue in a union branch with the path of the union. */
function below(path: DefinitionPath, inner: z.core.$ZodIssue): z.core.$ZodIssue {
  return { ...inner, path: [...path, ...inner.path] };
}

/** Whether a union branch fails because the value has another type, rather than because of its content. */
function isOfOtherKind(issue: z.core.$ZodIssue): boolean {
  return issue.path.length === 0 && ["invalid_type", "invalid_value"].includes(issue.code);
}

function boundMessage(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  const limit = issue.code === "too_small" ? issue.minimum : issue.maximum;
  const [least, over] =
    issue.code === "too_small" ? ["at least", "more than"] : ["at most", "less than"];
  const bound = `expected ${issue.inclusive === false ? over : least} ${limit}`;
  if (issue.origin === "string")
    return `${bound} ${Number(limit) === 1 ? "character" : "characters"}`;
  if (issue.origin === "array") return `${bound} ${Number(limit) === 1 ? "entry" : "entries"}`;
  return bound;
}

const typeNames: Readonly<Record<string, string>> = {
  object: "a map",
  record: "a map",
  array: "a list",
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
};

function typeName(expected: string): string {
  return typeNames[expected] ?? expected;
}

/** The members used of zod's schema definitions. */
interface SchemaDef {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly element?: z.ZodType;
  readonly valueType?: z.ZodType;
  readonly innerType?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly discriminator?: string;
  readonly values?: readonly unknown[];
}

/** A written value and the schema that it is checked against. */
interface CheckedValue {
  readonly schema: z.ZodType;
  readonly written: unknown;
}

/** Returns the schema's keys at a path; the written value selects the branch of a union. */
function knownKeys(path: DefinitionPath, checked: CheckedValue): readonly string[] {
  const schema = schemaAt(path, checked);
  return schema === undefined ? [] : keysOf(resolve(schema, getAtPath(checked.written, path)));
}

/**
 * Returns the keys of a union of single-key maps, such as `{ mcp: … }` and `{ community: … }`, one per branch. Other
 * branches have null. The result is undefined if there is no such union at the path.
 */
function soleKeys(
  path: DefinitionPath,
  checked: CheckedValue,
): readonly (string | null)[] | undefined {
  const schema = schemaAt(path, checked);
  const options = schema && unwrapped(schema).options;
  const keys = options?.map((option) => {
    const of = keysOf(unwrapped(option));
    return of.length === 1 ? (of[0] ?? null) : null;
  });
  return keys !== undefined && keys.filter((key) => key !== null).length > 1 ? keys : undefined;
}

/**
 * Returns the branch of a union of maps that describes the value by several keys, in a union whose other maps have one
 * key each; undefined if the value has such a sole key, or none of these keys.
 */
function describedBranch(
  path: DefinitionPath,
  found: Readonly<Record<string, unknown>>,
  checked: CheckedValue,
): number | undefined {
  const keys = soleKeys(path, checked);
  if (keys === undefined || keys.some((key) => key !== null && Object.hasOwn(found, key))) {
    return undefined;
  }
  const schema = schemaAt(path, checked);
  const branches = (schema && unwrapped(schema).options) ?? [];
  const index = branches.findIndex(
    (branch, at) =>
      keys[at] === null && keysOf(unwrapped(branch)).some((key) => Object.hasOwn(found, key)),
  );
  return index < 0 ? undefined : index;
}

function schemaAt(path: DefinitionPath, checked: CheckedValue): z.ZodType | undefined {
  let schema: z.ZodType | undefined = checked.schema;
  let value = checked.written;
  for (const part of path) {
    if (schema === undefined) return undefined;
    const def: SchemaDef = resolve(schema, value);
    schema = def.element ?? def.valueType ?? def.shape?.[part];
    value = getAtPath(value, [part]);
  }
  return schema;
}

/** Unwraps defaults and optionals, and selects the branch of a union. */
function resolve(schema: z.ZodType, value: unknown): SchemaDef {
  const def = unwrapped(schema);
  const branch = def.options && chooseOption(def, value);
  return branch === undefined ? def : resolve(branch, value);
}

function unwrapped(schema: z.ZodType): SchemaDef {
  const def: SchemaDef = schema.def;
  return def.innerType === undefined ? def : unwrapped(def.innerType);
}

function chooseOption({ options = [], discriminator }: SchemaDef, value: unknown) {
  if (discriminator !== undefined) {
    const wanted = getAtPath(value, [discriminator]);
    const named = options.find((option) => literalOf(option, discriminator) === wanted);
    if (wanted !== undefined && named !== undefined) return named;
  }
  const maps = options.filter((option) => unwrapped(option).type === "object");
  const hasKeyOf = (option: z.ZodType) =>
    keysOf(unwrapped(option)).some((key) => getAtPath(value, [key]) !== undefined);
  return maps.find(hasKeyOf) ?? maps[0];
}

function literalOf(option: z.ZodType, key: string): unknown {
  const literal = unwrapped(option).shape?.[key];
  return literal && unwrapped(literal).values?.[0];
}

function keysOf({ shape = {} }: SchemaDef): readonly string[] {
  return Object.keys(shape);
}
