import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { SchemaCheck } from "../../definition/json-schema.ts";
import { errorMessage } from "../../errors.ts";
import { deepFreeze } from "../../state/freeze.ts";
import { isRecord } from "../../state/is-record.ts";
import { checkJson } from "../../state/tier-json.ts";
import { mergeProblem, type TierMerges } from "../../state/tier-merge.ts";
import { InitialStateError } from "../errors.ts";
import type { Marks } from "./marks.ts";
import { revealing } from "./revealing.ts";

/**
 * @param input with the marks of what was redacted, which the state has too; its schema judges what they stand for
 * @param rails left out where nothing was redacted
 */
export function initialExecution(
  definition: AgentDefinition,
  input: unknown,
  rails?: Marks,
): unknown {
  const { behaviour, spec } = definition;
  const make = () =>
    behaviour.initialExecutionState ? behaviour.initialExecutionState(input) : {};
  const { merge: merges } = spec.state_config;
  return checked("execution", make, { schema: behaviour.executionSchema, merges, rails });
}

export function initialAttempt(
  definition: AgentDefinition,
  of: { input: unknown; execution: unknown; attemptNumber: number; rails?: Marks },
): unknown {
  const { behaviour, spec } = definition;
  const make = () =>
    behaviour.initialAttemptState
      ? behaviour.initialAttemptState(of.input, deepFreeze(of.execution), of.attemptNumber)
      : {};
  const { merge: merges } = spec.state_config;
  return checked("attempt", make, { schema: behaviour.attemptSchema, merges, rails: of.rails });
}

function checked(
  tier: "execution" | "attempt",
  make: () => unknown,
  by: {
    readonly schema: SchemaCheck | undefined;
    readonly merges: TierMerges;
    readonly rails: Marks | undefined;
  },
): unknown {
  const { schema, rails } = by;
  let state: unknown;
  try {
    state = make();
  } catch (cause) {
    throw new InitialStateError(tier, `threw: ${errorMessage(cause)}`, { cause });
  }
  if (typeof state !== "object" || state === null || Array.isArray(state)) {
    throw new InitialStateError(
      tier,
      `has to return a plain object, not ${state === null ? "null" : Array.isArray(state) ? "a list" : typeof state}`,
    );
  }
  if (state instanceof Promise)
    throw new InitialStateError(tier, "has to return a plain object, not a promise");
  refuseOthersThanJson(tier, state);
  const judge = rails === undefined || schema === undefined ? schema : revealing(schema, rails);
  const fits = judge?.check(state);
  if (fits?.ok === false) {
    throw new InitialStateError(
      tier,
      `returned what its schema refuses: ${fits.issues.join("; ")}`,
    );
  }
  const made = fits?.value ?? state;
  if (made !== state) refuseOthersThanJson(tier, made);
  refuseUnmergeable(tier, made, by.merges);
  // A copy, since the initialiser may give what the application goes on using.
  const own = JSON.parse(JSON.stringify(made)) as unknown;
  return deepFreeze(rails === undefined || fits === undefined ? own : rails.hide(own));
}

/** @throws InitialStateError */
function refuseUnmergeable(
  tier: "execution" | "attempt",
  state: unknown,
  merges: TierMerges,
): void {
  for (const [path, merge] of Object.entries(merges)) {
    const value = isRecord(state) ? state[path.slice(tier.length + 1)] : undefined;
    const found = path.startsWith(`${tier}.`) ? mergeProblem(merge, undefined, value) : null;
    if (found === null) continue;
    const problem = `returned ${path} as ${found}, which its merge ${merge} cannot take`;
    throw new InitialStateError(tier, problem, { path, found });
  }
}

/** @throws InitialStateError */
function refuseOthersThanJson(tier: "execution" | "attempt", state: unknown): void {
  const json = checkJson(state, tier);
  if (json.ok) return;
  const { path, found } = json;
  const problem = `returned what is not JSON: ${path} is ${found}; return plain objects, lists, texts, finite numbers, booleans and null`;
  throw new InitialStateError(tier, problem, { path, found });
}
