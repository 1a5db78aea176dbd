import type { z } from "zod";
import { nearestName } from "../nearest-name.ts";
import { showFound, type DefinitionPath, type DefinitionProblem } from "./problems.ts";
import { agentSpecSchema } from "./schema.ts";
import { valueAt } from "./value-at.ts";

/** The problems that the schema finds in a definition as it was written. */
export function schemaProblems(written: unknown): readonly DefinitionProblem[] {
  const parsed = agentSpecSchema.safeParse(written);
  return parsed.success ? [] : parsed.error.issues.flatMap((issue) => toProblems(issue, written));
}

function toProblems(issue: z.core.$ZodIssue, written: unknown): DefinitionProblem[] {
  const path = issue.path.map((part) => (typeof part === "symbol" ? String(part) : part));
  const found = valueAt(written, path);
  switch (issue.code) {
    case "unrecognized_keys": {
      const allowed = knownKeys(path, written);
      return issue.keys.map((key) => unknownKey(path, key, allowed));
    }
    case "invalid_type":
      return [wrongType(path, found, typeName(issue.expected))];
    case "invalid_value":
      return [wrongValue(path, found, issue.values.map(String))];
    case "invalid_union":
      return unionProblems(issue, path, found, written);
    case "too_small":
    case "too_big":
      return [{ path, message: boundMessage(issue), found: showFound(found) }];
    default:
      return [{ path, message: issue.message, found: showFound(found) }];
  }
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
 * Of a union by discriminator, the discriminator is at fault. Of another union, the branch speaks whose kind of value
 * was written; where there is none, all kinds are named.
 */
function unionProblems(
  issue: z.core.$ZodIssueInvalidUnion,
  path: DefinitionPath,
  found: unknown,
  written: unknown,
): DefinitionProblem[] {
  if (issue.discriminator !== undefined) {
    const { discriminator } = issue;
    const at = path.at(-1) === discriminator ? path : [...path, discriminator];
    const options = "options" in issue ? (issue.options ?? []) : [];
    return [wrongValue(at, valueAt(written, at), options.map(String))];
  }
  const sameKind = issue.errors.find((branch) => branch.every((inner) => !isOfOtherKind(inner)));
  if (sameKind !== undefined) {
    return sameKind.flatMap((inner) =>
      toProblems({ ...inner, path: [...path, ...inner.path] }, written),
    );
  }
  const roots = issue.errors.flat();
  const kinds = roots.flatMap((inner) => ("expected" in inner ? [typeName(inner.expected)] : []));
  const values = roots.flatMap((inner) =>
    inner.code === "invalid_value" ? inner.values.map(String) : [],
  );
  return values.length > 0
    ? [wrongValue(path, found, values, kinds)]
    : [wrongType(path, found, kinds.join(" or "))];
}

/** Whether a branch of a union fails since another kind of value was written, not since something is wrong in it. */
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

/** What is used of the definitions that zod keeps of its schemas. */
interface SchemaDef {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly element?: z.ZodType;
  readonly innerType?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly values?: readonly unknown[];
}

function defOf(schema: z.ZodType): SchemaDef {
  return schema.def;
}

/** The keys that the schema has at a path; which branch of a union that is, is told by what was written. */
function knownKeys(path: DefinitionPath, written: unknown): readonly string[] {
  let def: SchemaDef | undefined = resolve(agentSpecSchema, written);
  let value = written;
  for (const part of path) {
    value = valueAt(value, [part]);
    const inner: z.ZodType | undefined = def?.type === "array" ? def.element : def?.shape?.[part];
    def = inner && resolve(inner, value);
  }
  return Object.keys(def?.shape ?? {});
}

/** Of defaults and optionals what is inside, of a union the branch. */
function resolve(schema: z.ZodType, value: unknown): SchemaDef {
  const def = defOf(schema);
  if (def.innerType !== undefined) return resolve(def.innerType, value);
  const branch = def.options && chooseOption(def.options, value);
  return branch === undefined ? def : resolve(branch, value);
}

function chooseOption(options: readonly z.ZodType[], value: unknown): z.ZodType | undefined {
  const wanted = valueAt(value, ["type"]);
  return (
    options.find((option) => wanted !== undefined && typeLiteral(option) === wanted) ??
    options.find((option) => defOf(option).type === "object")
  );
}

function typeLiteral(option: z.ZodType): unknown {
  const type = defOf(option).shape?.["type"];
  return type && defOf(type).values?.[0];
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
