import { isDeepStrictEqual } from "node:util";
import type { SchemaCheck } from "../definition/json-schema.ts";
import type { StatefulTool, ToolPersistence } from "../definition/tool.ts";
import type { AgentState } from "../state/agent-state.ts";
import { isRecord } from "../state/is-record.ts";
import { checkJson } from "../state/tier-json.ts";
import { mergeProblem, TierMergeError, type TierMerges } from "../state/tier-merge.ts";
import {
  HandlerReturnError,
  HandlerTierError,
  StateJsonError,
  StateSchemaError,
} from "./handler-errors.ts";

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

/** The options of {@link acceptNewState}. */
export interface NewStateRules extends StateRules {
  /** Takes secrets out of a tier. Left out, none was given out. */
  readonly scrub?: (<T>(value: T) => T) | undefined;
}

/**
 * The state after a call, deeply frozen. A tier that the tool may not write keeps its identity.
 * @throws HandlerTierError; StateJsonError; TierMergeError; StateSchemaError
 */
export function acceptNewState(
  tool: StatefulTool,
  before: AnyState,
  after: AnyState,
  rules: NewStateRules,
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
    readonly scrub: NewStateRules["scrub"];
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
