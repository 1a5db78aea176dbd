import { isDeepStrictEqual } from "node:util";
import type { SchemaCheck } from "../definition/schema/json-schema.ts";
import type { StatefulTool, TierKey, ToolPersistence } from "../definition/tool/tool.ts";
import { StratagraphError } from "../errors.ts";
import { mergeProblem, TierMergeError, type TierMerges, tierPatch } from "../state/tier-patch.ts";
import { type AgentState, checkJson } from "../state/tiers.ts";
import { isRecord } from "../values/json.ts";
import type { Secrets } from "./secrets.ts";
import { thrownText } from "./tool-result.ts";

type Tier = keyof AgentState;
type AnyState = AgentState<unknown, unknown>;

/** What the definition says of the two tiers. */
export interface StateRules {
  readonly executionSchema?: SchemaCheck | undefined;
  readonly attemptSchema?: SchemaCheck | undefined;
  readonly merges?: TierMerges | undefined;
}

/**
 * The tiers that a tool may change. One that writes what outlives an attempt may also keep working state of the
 * attempt: what its description promises of its effect stays true. The reverse would carry over into the next attempt
 * what was promised to be reset.
 */
const writableTiers: Readonly<Record<ToolPersistence, readonly Tier[]>> = {
  none: [],
  attempt: ["attempt"],
  execution: ["execution", "attempt"],
};

/** @throws HandlerReturnError */
export function readReducerReturn(
  tool: StatefulTool,
  returned: unknown,
): { newState: AnyState; toolResult: unknown } {
  const refuse = (what: string) => new HandlerReturnError(tool.definition.name, what);
  if (!isObject(returned)) throw refuse(shapeOf(returned));
  const { newState, toolResult } = returned as { newState?: unknown; toolResult?: unknown };
  if (!isObject(newState)) {
    if (!("newState" in returned)) throw refuse(shapeOf(returned));
    throw refuse(`newState as ${shapeOf(newState)}`);
  }
  if (!("execution" in newState && "attempt" in newState)) {
    throw refuse(`newState as ${shapeOf(newState)}`);
  }
  return { newState, toolResult };
}

/** The options of {@link validateStateUpdate}. */
export interface StateUpdateRules extends StateRules {
  /** Takes secrets out of a tier. Left out, none was given out. */
  readonly scrub?: (<T>(value: T) => T) | undefined;
}

/**
 * The state after a call, deeply frozen. A tier that the tool may not write keeps its identity.
 * @throws HandlerTierError; HandlerReturnError; StateJsonError; TierMergeError; StateSchemaError
 */
export function validateStateUpdate(
  tool: StatefulTool,
  before: AnyState,
  after: AnyState,
  rules: StateUpdateRules,
): AnyState {
  const { executionSchema, attemptSchema, scrub, merges } = rules;
  const execution = acceptTier(tool, "execution", {
    before,
    after,
    scrub,
    merges,
    schema: executionSchema,
  });
  const attempt = acceptTier(tool, "attempt", {
    before,
    after,
    scrub,
    merges,
    schema: attemptSchema,
  });
  if (execution.value === before.execution && attempt.value === before.attempt) return before;
  execution.freeze?.();
  attempt.freeze?.();
  return Object.freeze({ execution: execution.value, attempt: attempt.value });
}

interface NewTier {
  readonly value: unknown;
  /** Left out for a tier that did not change. */
  readonly freeze?: () => void;
}

function acceptTier(
  tool: StatefulTool,
  tier: Tier,
  of: {
    readonly before: AnyState;
    readonly after: AnyState;
    readonly schema: SchemaCheck | undefined;
    readonly scrub: StateUpdateRules["scrub"];
    readonly merges: TierMerges | undefined;
  },
): NewTier {
  const { after, schema, scrub, merges = {} } = of;
  const before = of.before[tier];
  const { name, persistence } = tool.definition;
  const requireJson = (value: unknown) => {
    const json = checkJson(value, tier);
    if (!json.ok) throw new StateJsonError(name, tier, json.path, json.found);
    return json;
  };
  // Only JSON can be scrubbed: what leads back to itself would never end.
  if (scrub !== undefined && !Object.is(after[tier], before)) requireJson(after[tier]);
  const value = scrub === undefined ? after[tier] : scrub(after[tier]);
  if (Object.is(value, before)) return { value };
  if (!writableTiers[persistence].includes(tier)) {
    if (isDeepStrictEqual(value, before)) return { value: before };
    throw new HandlerTierError(name, tier, persistence);
  }
  const json = requireJson(value);
  requireDeclared(tool, tier, before, value);
  const merged = mergedTier(name, tier, { merges, before, after: value });
  const checked = schema?.check(merged);
  if (checked !== undefined && !checked.ok) throw new StateSchemaError(name, tier, checked.issues);
  return {
    value: merged,
    freeze: () => {
      json.freeze();
      Object.freeze(merged);
    },
  };
}

/**
 * @throws HandlerTierError for a changed key that the tool's definition does not list; HandlerReturnError for a tier
 * that has no keys
 */
function requireDeclared(
  { definition: { name, persistence, writes } }: StatefulTool,
  tier: Tier,
  before: unknown,
  after: unknown,
): void {
  if (writes === undefined) return;
  if (!isRecord(after)) throw new HandlerReturnError(name, `newState.${tier} as ${shapeOf(after)}`);
  const { set = {}, remove = [] } = tierPatch(before, after) ?? {};
  const changed = [...Object.keys(set), ...remove].map((key): TierKey => `${tier}.${key}`);
  const other = changed.find((key) => !writes.includes(key));
  if (other !== undefined) throw new HandlerTierError(name, tier, persistence, other);
}

/**
 * The tier as its merges leave it: what a handler makes of a key stands, but a `max` never falls.
 * @throws TierMergeError
 */
function mergedTier(
  tool: string,
  tier: Tier,
  of: { readonly merges: TierMerges; readonly before: unknown; readonly after: unknown },
): unknown {
  const before = isRecord(of.before) ? of.before : {};
  let after = of.after;
  for (const [place, merge] of Object.entries(of.merges)) {
    if (!place.startsWith(`${tier}.`) || !isRecord(after)) continue;
    const key = place.slice(tier.length + 1);
    const was = before[key];
    const now = after[key];
    const found = mergeProblem(merge, was, now);
    if (found !== null) throw new TierMergeError({ type: "tool", name: tool }, place, merge, found);
    if (merge === "max" && Number(was) > Number(now)) after = { ...after, [key]: was };
  }
  return after;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** The shape of a value without its contents: state may hold what must not stand in an error. */
function shapeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value !== "object") return value === undefined ? "undefined" : `a ${typeof value}`;
  const keys = Object.keys(value);
  if (keys.length === 0) return "an empty object";
  const shown = keys.slice(0, 8).join(", ");
  return `an object with ${keys.length > 8 ? `${shown}, …` : shown}`;
}

/** A stateful handler changed the frozen state that it was given. A mistake in its code: the run stops. */
export class HandlerMutationError extends StratagraphError {
  readonly code = "handler_mutated_state";

  /** @param secrets taken out of what was thrown; where any was given out, the cause has its text and stack alone */
  constructor(
    readonly tool: string,
    thrown: unknown,
    secrets?: Pick<Secrets, "scrub" | "hasRevealed">,
  ) {
    const scrub = (text: string) => secrets?.scrub(text) ?? text;
    super(
      `The handler of tool "${tool}" changed the state it was given (${scrub(thrownText(thrown, scrub))}). State is frozen: return a new one, such as { newState: { ...state, attempt: { ...state.attempt, count: 1 } }, toolResult }.`,
      { cause: secrets?.hasRevealed() === true ? scrubbedError(thrown, scrub) : thrown },
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

/** A stateful handler changed a tier or a key that its definition does not name. A mistake in its code: the run stops. */
export class HandlerTierError extends StratagraphError {
  readonly code = "handler_wrote_other_tier";

  constructor(
    readonly tool: string,
    readonly tier: "execution" | "attempt",
    readonly declared: ToolPersistence,
    /** Set if the tool may write the tier, and lists other keys in `writes`. */
    readonly key?: TierKey,
  ) {
    super(
      key !== undefined
        ? `The handler of tool "${tool}" changed ${key}, which its definition does not list. Let it return that key as it came, or add it to writes.`
        : `The handler of tool "${tool}" changed the ${tier} state, and its definition says persistence "${declared}". Let it return that tier as it came, or define the tool with persistence "${tier}".`,
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
class StateSchemaError extends RefusedTierError {
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
class StateJsonError extends RefusedTierError {
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
