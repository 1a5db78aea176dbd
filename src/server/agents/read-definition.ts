import { isDeepStrictEqual } from "node:util";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { buildDefinition } from "../../definition/build-definition.ts";
import { checkDefinition } from "../../definition/check/check-definition.ts";
import { type DefinitionProblem, InvalidDefinitionError } from "../../definition/check/problems.ts";
import { isRecord } from "../../values/json.ts";
import { type TenantAllowance, tenantProblems } from "./tenant-rules.ts";

/** A definition that a client wrote: its document, and what was made of it. */
export interface WrittenDefinition {
  readonly document: Readonly<Record<string, unknown>>;
  readonly definition: AgentDefinition;
}

/** Keys of the row of an agent, which a document does not have. */
const rowKeys = ["id", "tenant_id", "created_at", "updated_at"];

/**
 * Checks a definition as files are checked, and by the rules for tenants.
 *
 * @throws InvalidDefinitionError with every problem
 */
export function readWrittenDefinition(
  written: unknown,
  allow: TenantAllowance | undefined,
): WrittenDefinition {
  const checked = checkDefinition(written);
  const refused = isRecord(written)
    ? rowKeys
        .filter((key) => key in written)
        .map((key): DefinitionProblem => {
          return { path: [key], message: "set by the server; leave it out" };
        })
    : [];
  const own = [...refused, ...tenantProblems(written, allow)];
  if (!checked.ok || !isRecord(written) || own.length > 0) {
    const schema = (checked.ok ? [] : checked.problems).filter(
      ({ path }) => !refused.some((problem) => isDeepStrictEqual(problem.path, path)),
    );
    throw new InvalidDefinitionError([...schema, ...own]);
  }
  return { document: written, definition: buildDefinition({ spec: checked.spec }) };
}

/**
 * Reads a stored definition.
 *
 * @throws InvalidDefinitionError if this version no longer accepts it
 */
export function readStoredDefinition(document: unknown): AgentDefinition {
  const checked = checkDefinition(document);
  if (!checked.ok) throw new InvalidDefinitionError(checked.problems);
  return buildDefinition({ spec: checked.spec });
}

/** Applies a merge patch (RFC 7396): null removes a key, maps are merged, all else is replaced. */
export function mergePatch(document: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged = new Map(Object.entries(isRecord(document) ? document : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}
