import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { SchemaCheck } from "../../definition/json-schema.ts";
import { errorMessage } from "../../errors.ts";
import { deepFreeze } from "../../state/freeze.ts";
import { InitialStateError } from "../errors.ts";

export function initialExecution(definition: AgentDefinition, input: unknown): unknown {
  const { behaviour } = definition;
  return checked("execution", behaviour.executionSchema, () =>
    behaviour.initialExecutionState ? behaviour.initialExecutionState(input) : {},
  );
}

export function initialAttempt(
  definition: AgentDefinition,
  of: { input: unknown; execution: unknown; attemptNumber: number },
): unknown {
  const { behaviour } = definition;
  return checked("attempt", behaviour.attemptSchema, () =>
    behaviour.initialAttemptState
      ? behaviour.initialAttemptState(of.input, deepFreeze(of.execution), of.attemptNumber)
      : {},
  );
}

function checked(
  tier: "execution" | "attempt",
  schema: SchemaCheck | undefined,
  make: () => unknown,
): unknown {
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
  const fits = schema?.check(state);
  if (fits?.ok === false) {
    throw new InitialStateError(
      tier,
      `returned what its schema refuses: ${fits.issues.join("; ")}`,
    );
  }
  return deepFreeze(fits?.value ?? state);
}
