import type { GraphUpdate } from "../../state/channels.ts";
import { deepFreeze, isRecord } from "../../values/json.ts";
import { checkJson } from "../../state/tiers.ts";
import { mergeValue, TierMergeError } from "../../state/tier-patch.ts";
import type { cancelCalls } from "../loop/step.ts";
import type { NodeContext } from "../loop/node.ts";
import { unredactedCheck } from "../loop/node-rails.ts";
import type { PlanNode } from "../workflow-plan.ts";
import type { NodeAt, NodeDone } from "./node-work.ts";

/**
 * Returns the update with the node's value at its `writes` key, merged with the current value if the definition names a
 * merge; or why it cannot be merged.
 */
export function written(
  plan: PlanNode,
  done: NodeDone,
  { state, run }: Pick<NodeAt, "state" | "run">,
): { readonly update: NonNullable<NodeDone["update"]>; readonly failure: TierMergeError | null } {
  const { update = {}, value } = done;
  if (plan.writes === null || value === undefined) return { update, failure: null };
  const { tier, key } = plan.writes;
  const before = tier in update ? update[tier] : state[tier];
  const there = isRecord(before) ? before : {};
  const place = `${tier}.${key}`;
  const merge = run.loop.definition.spec.state_config.merge[place] ?? "last";
  const merged = mergeValue(merge, there[key], value);
  if (!merged.ok) {
    const failure = new TierMergeError(
      { type: "node", name: plan.name },
      place,
      merge,
      merged.found,
    );
    return { update, failure };
  }
  return {
    update: { ...update, [tier]: { ...there, [key]: deepFreeze(merged.value) } },
    failure: null,
  };
}

/** Returns why the node's value cannot be written: it is not JSON, or the tier's schema refuses it. */
export function refusedWrite(
  plan: PlanNode,
  update: NonNullable<NodeDone["update"]>,
  run: NodeContext,
): string | null {
  if (plan.writes === null) return null;
  const { tier, key } = plan.writes;
  const { executionSchema, attemptSchema } = run.loop.definition.behaviour;
  const schema = tier === "execution" ? executionSchema : attemptSchema;
  const after = update[tier];
  const json = checkJson(isRecord(after) ? (after[key] ?? null) : null, `${tier}.${key}`);
  if (!json.ok) {
    return `node "${plan.name}" writes ${tier}.${key}, which is not JSON: ${json.path} is ${json.found}`;
  }
  json.freeze();
  if (schema === undefined || !(tier in update)) return null;
  const checked = unredactedCheck(schema, run.rails).check(update[tier]);
  if (checked.ok) return null;
  return `node "${plan.name}" writes ${tier}.${key}, which the schema of ${tier} refuses: ${checked.issues.join("; ")}`;
}

/** Returns the update without whole tiers, and with records of calls that will not run. */
export function withCancelledCalls(
  update: NonNullable<NodeDone["update"]>,
  dropped: ReturnType<typeof cancelCalls>,
): GraphUpdate {
  const { execution: _execution, attempt: _attempt, ...rest } = update;
  if (dropped.steps.length === 0) return rest;
  return {
    ...rest,
    steps: [...(rest.steps ?? []), ...dropped.steps],
    messages: [...(rest.messages ?? []), ...dropped.messages],
  };
}
