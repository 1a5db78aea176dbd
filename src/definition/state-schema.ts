import { z } from "zod";
import { isRecord } from "../state/is-record.ts";
import { mergeKinds, type MergeKind, type TierMerges } from "../state/tier-merge.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { DefinitionProblem } from "./problems.ts";

/** A key of a tier, such as `execution.total`. */
export const tierKey = z
  .string()
  .regex(
    /^(execution|attempt)\.(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$/,
    "expected execution.key or attempt.key",
  );

/** How the state's keys are written. */
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
 * Merges of keys that the schema of their tier does not have, or gives another type.
 *
 * @param schemas of the tiers, where there are any
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
