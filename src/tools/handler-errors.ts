import { StratagraphError } from "../errors.ts";
import type { ToolPersistence } from "../definition/tool.ts";
import type { Secrets } from "./secrets/secrets.ts";
import { thrownText } from "./tool-failure.ts";

/** A stateful handler changed the frozen state that it was given. A mistake in its code: the run stops. */
export class HandlerMutationError extends StratagraphError {
  readonly code = "handler_mutated_state";

  /** @param secrets taken out of what was thrown; where any was given out, the cause has its text and stack alone */
  constructor(
    readonly tool: string,
    thrown: unknown,
    secrets?: Pick<Secrets, "scrub" | "hasGivenOut">,
  ) {
    const scrub = (text: string) => secrets?.scrub(text) ?? text;
    super(
      `The handler of tool "${tool}" changed the state it was given (${scrub(thrownText(thrown, scrub))}). State is frozen: return a new one, such as { newState: { ...state, attempt: { ...state.attempt, count: 1 } }, toolResult }.`,
      { cause: secrets?.hasGivenOut() === true ? scrubbedError(thrown, scrub) : thrown },
    );
  }
}

/** The error with nothing but its name, text and stack; anything else that was thrown is left out. */
function scrubbedError(thrown: unknown, scrub: (text: string) => string): Error | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const { name, message, stack = "" } = thrown;
  return Object.assign(new Error(scrub(message)), { name, stack: scrub(stack) });
}

/** A stateful handler returned something else than a whole new state and a result. A mistake in its code: the run stops. */
export class HandlerReturnError extends StratagraphError {
  readonly code = "handler_returned_no_state";

  constructor(
    readonly tool: string,
    /** What came instead, by its shape only. */
    readonly returned: string,
  ) {
    super(
      `The handler of tool "${tool}" must return { newState: { execution, attempt }, toolResult }, and returned ${returned}. A tier that it does not change it returns as it came.`,
    );
  }
}

/** A stateful handler changed a tier that its definition does not name. A mistake in its code: the run stops. */
export class HandlerTierError extends StratagraphError {
  readonly code = "handler_wrote_other_tier";

  constructor(
    readonly tool: string,
    readonly tier: "execution" | "attempt",
    readonly declared: ToolPersistence,
  ) {
    super(
      `The handler of tool "${tool}" changed the ${tier} state, and its definition says persistence "${declared}". Let it return that tier as it came, or define the tool with persistence "${tier}".`,
    );
  }
}

/** What a stateful handler made of a tier cannot be taken. Costs this call only. */
abstract class RefusedTierError extends StratagraphError {
  override readonly kind = "run";

  constructor(
    readonly tool: string,
    readonly tier: "execution" | "attempt",
    problem: string,
  ) {
    super(`Tool "${tool}" ${problem}`);
  }
}

/** A stateful handler returned a tier that does not fit the tier's schema. */
export class StateSchemaError extends RefusedTierError {
  readonly code = "state_schema";

  constructor(
    tool: string,
    tier: RefusedTierError["tier"],
    /** Each reads "path: what is wrong", with the path inside the tier. */
    readonly issues: readonly string[],
  ) {
    super(
      tool,
      tier,
      `returned ${tier} state that does not fit its schema: ${issues.join("; ")}. The state stays as it was.`,
    );
  }
}

/** A stateful handler returned a tier that is not JSON and would not survive a restart. */
export class StateJsonError extends RefusedTierError {
  readonly code = "state_json";

  constructor(
    tool: string,
    tier: RefusedTierError["tier"],
    /** Begins with the tier, such as `execution.items[3].when`. */
    readonly path: string,
    /** What stands there, such as "a Date". */
    readonly found: string,
  ) {
    super(
      tool,
      tier,
      `returned ${tier} state that is not JSON: ${path} is ${found}. The state stays as it was; return plain objects, lists, texts, finite numbers, booleans and null.`,
    );
  }
}

/** V8's words for a refused change of a frozen object; the engine gives such errors no other mark. */
const frozenObjectMessages = [
  /^Cannot assign to read only property '.*' of object '/s,
  /^Cannot add property .*, object is not extensible$/s,
  /^Cannot delete property '.*' of (?:#<|\[object )/s,
  /^Cannot define property .*, object is not extensible$/s,
  /^Cannot redefine property: /,
  /^(?:#<.*>|\[object .*\]) is not extensible$/s,
];

/** Whether it was thrown because frozen state was changed; also when the handler has wrapped it as a cause. */
export function isFrozenObjectError(thrown: unknown): boolean {
  let error = thrown;
  for (let depth = 0; depth < 8 && error instanceof Error; depth += 1) {
    const { name, message } = error;
    if (name === "TypeError" && frozenObjectMessages.some((words) => words.test(message))) {
      return true;
    }
    error = error.cause;
  }
  return false;
}
