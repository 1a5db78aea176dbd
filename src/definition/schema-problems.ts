import type { z } from "zod";
import { nearestName } from "./nearest-name.ts";
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
    case "unrecognized_keys":
      return issue.keys.map((key) => unknownKey(path, key, knownKeys(path, written)));
    case "invalid_type":
      return [
        found === undefined
          ? { path, message: `expected ${typeName(issue.expected)}, it is missing` }
          : {
              path,
              message: `expected ${typeName(issue.expected)}`,
              found: showFound(found),
            },
      ];
    case "invalid_value": {
      const allowed = issue.values.map(String);
      const suggestion = typeof found === "string" ? nearestName(found, allowed) : undefined;
      return [
        { path, message: "not one of the values", found: showFound(found), allowed, suggestion },
      ];
    }
    case "invalid_union":
      return unionProblems(issue, path, found, written);
    case "too_small":
    case "too_big":
      return [{ path, message: boundMessage(issue), found: showFound(found) }];
    default:
      return [{ path, message: lowerFirst(issue.message), found: showFound(found) }];
  }
}

function unknownKey(
  path: DefinitionPath,
  key: string,
  allowed: readonly string[],
): DefinitionProblem {
  const suggestion = nearestName(key, allowed);
  return { path: [...path, key], message: "unknown key", allowed, suggestion };
}

/** A union whose discriminator is wrong names the values; of other unions, the branch that got furthest speaks. */
function unionProblems(
  issue: z.core.$ZodIssueInvalidUnion,
  path: DefinitionPath,
  found: unknown,
  written: unknown,
): DefinitionProblem[] {
  if (issue.discriminator !== undefined) {
    const discriminatorPath =
      path.at(-1) === issue.discriminator ? path : [...path, issue.discriminator];
    const options = discriminatorValues(discriminatorPath.slice(0, -1));
    const value = valueAt(written, discriminatorPath);
    const suggestion = typeof value === "string" ? nearestName(value, options) : undefined;
    return [
      {
        path: discriminatorPath,
        message: "not one of the values",
        found: showFound(value),
        allowed: options,
        suggestion,
      },
    ];
  }
  const deepest = issue.errors
    .filter((branch) =>
      branch.every((inner) => inner.code !== "invalid_type" || inner.path.length > 0),
    )
    .at(0);
  if (deepest !== undefined && deepest.length > 0) {
    return deepest.flatMap((inner) =>
      toProblems({ ...inner, path: [...path, ...inner.path] } as z.core.$ZodIssue, written),
    );
  }
  const expected = issue.errors
    .flat()
    .map((inner) => ("expected" in inner ? typeName(inner.expected) : ""));
  const kinds = [...new Set(expected)].filter((kind) => kind !== "");
  return [
    { path, message: `expected ${kinds.join(" or ") || "another value"}`, found: showFound(found) },
  ];
}

function boundMessage(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  const unit =
    issue.origin === "string" ? " characters" : issue.origin === "array" ? " entries" : "";
  if (issue.code === "too_small") {
    return `expected ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}${unit}`;
  }
  return `expected ${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}${unit}`;
}

/** The keys that the schema has at a path. */
function knownKeys(path: DefinitionPath, written: unknown): readonly string[] {
  const schema = schemaAt(path, written);
  return schema === undefined ? [] : Object.keys(schema._zod.def.shape);
}

function discriminatorValues(path: DefinitionPath): readonly string[] {
  return path[0] === "workflow_graph" ? ["llm", "tool", "router", "human", "agent", "planner"] : [];
}

/** Walks the schema along a path, through defaults, optionals, lists and unions (by what was written), to an object. */
function schemaAt(path: DefinitionPath, written: unknown): z.core.$ZodObject | undefined {
  let schema: z.core.$ZodType | undefined = agentSpecSchema;
  let value = written;
  for (const part of [...path, null]) {
    schema = resolve(schema, value);
    if (part === null || schema === undefined) break;
    const def = schema._zod.def as { type: string; shape?: object; element?: z.core.$ZodType };
    schema =
      def.type === "array"
        ? def.element
        : (def.shape as Record<string, z.core.$ZodType> | undefined)?.[part];
    value = valueAt(value, [part]);
  }
  return schema?._zod.def.type === "object" ? (schema as z.core.$ZodObject) : undefined;
}

function resolve(schema: z.core.$ZodType | undefined, value: unknown): z.core.$ZodType | undefined {
  let current = schema;
  while (current !== undefined) {
    const def = current._zod.def as {
      type: string;
      innerType?: z.core.$ZodType;
      options?: readonly z.core.$ZodType[];
    };
    if (def.innerType !== undefined) current = def.innerType;
    else if (def.type === "union") current = chooseOption(def.options ?? [], value);
    else return current;
  }
  return undefined;
}

function chooseOption(
  options: readonly z.core.$ZodType[],
  value: unknown,
): z.core.$ZodType | undefined {
  const wanted = (value as { type?: unknown } | null | undefined)?.type;
  return (
    options.find((option) => literalType(option) === wanted && wanted !== undefined) ??
    options.find((option) => option._zod.def.type === "object")
  );
}

function literalType(option: z.core.$ZodType): unknown {
  const shape = (option._zod.def as { shape?: Record<string, z.core.$ZodType> }).shape;
  const values = (shape?.["type"]?._zod.def as { values?: readonly unknown[] } | undefined)?.values;
  return values?.[0];
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

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
