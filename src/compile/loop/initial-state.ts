import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { SchemaCheck } from "../../definition/json-schema.ts";
import { errorMessage, StratagraphError } from "../../errors.ts";
import { deepFreeze } from "../../state/freeze.ts";

/** An initialiser threw, or gave a state that is no plain object or does not fit its schema. */
export class InitialStateError extends StratagraphError {
  readonly code = "initial_state";

  constructor(
    readonly tier: "execution" | "attempt",
    problem: string,
    options?: { cause?: unknown },
  ) {
    const initialiser = tier === "execution" ? "initialExecutionState" : "initialAttemptState";
    super(`${initialiser} ${problem}. It has to return a plain object.`, options);
  }
}

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
    throw new InitialStateError(tier, `returned ${state === null ? "null" : typeof state}`);
  }
  if (state instanceof Promise) throw new InitialStateError(tier, "returned a promise");
  const fits = schema?.check(state);
  if (fits?.ok === false) {
    throw new InitialStateError(
      tier,
      `returned what its schema refuses: ${fits.issues.join("; ")}`,
    );
  }
  return deepFreeze(fits?.value ?? state);
}
