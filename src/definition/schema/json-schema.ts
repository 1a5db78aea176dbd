import { z } from "zod";
import { errorMessage } from "../../errors.ts";
import { type MergeKind, mergeKinds, type TierMerges } from "../../state/tier-patch.ts";
import { zodFromJsonSchema } from "../../state/zod-from-json-schema.ts";
import { isRecord } from "../../values/json.ts";
import type { DefinitionProblem } from "../check/problems.ts";

/** A JSON Schema document (draft 2020-12 or draft 7). */
export type JsonSchema = Record<string, unknown>;

export type CheckResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly string[] };

/** A validator compiled from a JSON Schema or a zod schema. */
export interface SchemaCheck<T = unknown> {
  readonly jsonSchema: JsonSchema;
  /**
   * Validates a value and never throws. `issues` have the form "path: problem"; the path of the value itself is
   * `value`.
   */
  check(value: unknown): CheckResult<T>;
}

/** `unmatched` lists the patterns that are not checked, with path and reason: they cannot be matched in linear time. */
export interface JsonSchemaCheck extends SchemaCheck {
  readonly uncheckedPatterns: readonly string[];
}

/**
 * Compiles a JSON Schema into a reusable validator.
 * @throws zod's Error when the document uses a keyword that cannot be checked; callers wrap it in their own error
 */
export function checkFromJsonSchema(jsonSchema: JsonSchema): JsonSchemaCheck {
  const { safeParse, unmatched } = zodFromJsonSchema(jsonSchema);
  return { ...checkFrom(safeParse, jsonSchema), uncheckedPatterns: unmatched };
}

/** Wraps a zod schema. `jsonSchema` is the form shown to models and editors; by default it is derived from `schema`. */
export function checkFromZod<T>(schema: z.ZodType<T>, jsonSchema?: JsonSchema): SchemaCheck<T> {
  return checkFrom(
    (value) => schema.safeParse(value),
    jsonSchema ?? z.toJSONSchema(schema, { io: "input" }),
  );
}

type SafeParse<T> = (value: unknown) => z.ZodSafeParseResult<T>;

function checkFrom<T>(safeParse: SafeParse<T>, jsonSchema: JsonSchema): SchemaCheck<T> {
  return {
    jsonSchema,
    check(value) {
      const parsed = parse(safeParse, value);
      if (parsed.success) return { ok: true, value: parsed.data };
      return { ok: false, issues: parsed.error.issues.map(describeIssue) };
    },
  };
}

/** Catches stack overflows: a recursive schema recurses as deep as the value is nested. */
function parse<T>(safeParse: SafeParse<T>, value: unknown) {
  try {
    return safeParse(value);
  } catch (thrown) {
    const message =
      thrown instanceof RangeError ? "nested too deeply to be checked" : errorMessage(thrown);
    const issue = { code: "custom", path: [], message, input: value } satisfies z.core.$ZodIssue;
    return { success: false, error: new z.ZodError([issue]) } as const;
  }
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String).join(".") || "value";
  return `${path}: ${issue.message}`;
}

/** A key of a tier, such as `execution.total`. */
export const tierKey = z
  .string()
  .regex(
    /^(execution|attempt)\.(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$/,
    "expected execution.key or attempt.key",
  );

/** The merge strategies of state keys. */
export const stateConfigSchema = z
  .strictObject({
    merge: z
      .record(tierKey, z.enum(mergeKinds))
      .default({})
      .describe(
        "How writes to a key are put together: sum of numbers, append to a list, the last branch in the definition's order, or the max of numbers.",
      ),
  })
  .describe("How the state's keys are written.");

const typesOf: Readonly<Record<MergeKind, readonly string[] | null>> = {
  sum: ["number", "integer"],
  max: ["number", "integer"],
  append: ["array"],
  last: null,
};

/**
 * Returns the problems of merges whose key is missing from its tier's schema or has an incompatible type.
 *
 * @param schemas the schemas of the tiers, if any
 */
export function mergeProblems(
  merges: TierMerges,
  schemas: { readonly execution?: JsonSchema; readonly attempt?: JsonSchema },
): readonly DefinitionProblem[] {
  return Object.entries(merges).flatMap(([place, merge]) => {
    const [tier, key = ""] = place.split(".") as ["execution" | "attempt", string?];
    const { properties, additionalProperties } = schemas[tier] ?? {};
    if (!isRecord(properties)) return [];
    const path = ["state_config", "merge", place];
    if (!Object.hasOwn(properties, key)) {
      if (additionalProperties !== false) return [];
      const allowed = Object.keys(properties).map((name) => `${tier}.${name}`);
      return [{ path, message: `the schema of ${tier} has no key "${key}"`, allowed }];
    }
    const property = properties[key];
    const type = isRecord(property) ? property["type"] : undefined;
    const types = typesOf[merge];
    if (typeof type !== "string" || types === null || types.includes(type)) return [];
    const message = `the schema of ${tier} says type "${type}", and ${merge} takes ${types.join(" or ")}`;
    return [{ path, message }];
  });
}
