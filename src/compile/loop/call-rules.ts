import type { RunnableConfig } from "@langchain/core/runnables";
import type { Awaitable } from "../../state/agent-state.ts";
import type { GraphState } from "../../state/channels.ts";
import type { RepetitionLimits } from "../../state/stuck.ts";
import { turnSteps } from "../../state/turn.ts";
import type { ToolPrediction } from "../../state/step-record.ts";
import type { CallRules, SpentLimit } from "../../tools/admit-call.ts";
import type { StatefulCallEnv } from "../../tools/call.ts";
import type { CallLog } from "../../tools/journalled-call.ts";
import { PrivateConfig } from "../private-config.ts";
import { handlerInterrupts } from "./handler-interrupts.ts";
import type { NodeRun } from "./node-body.ts";
import { revealing } from "./revealing.ts";

/**
 * What the definition, and those of the agents around, let the agent call in this state. The calls count for the limits
 * of all of them from here on, whatever becomes of the calls.
 */
export function callRules(
  calls: readonly ToolPrediction[],
  { state, run }: { readonly state: GraphState; readonly run: NodeRun },
): Awaitable<CallRules> {
  const { parts, rails, around } = run;
  const own = parts.bounds.at(-1);
  if (own === undefined) throw new TypeError(`node ${run.node} is of a graph that calls no tools`);
  const { allowed, maxCalls, grants, argumentRules = [] } = own;
  const { input, execution, attempt } = state;
  const values = { input, execution, attempt };
  const rules = {
    tools: parts.tools,
    allowed,
    maxCalls,
    grants,
    argumentRules,
    values: argumentRules.length === 0 ? values : rails.reveal(values),
    around,
    reveal: (args: unknown) => rails.reveal(args),
  };
  const counted = countCalls(calls, state, run);
  if (!(counted instanceof Promise)) return rules;
  return counted.then((overLimit) => ({ ...rules, overLimit }));
}

/** Counts calls for the agent and for those around, and says which are over a limit; at once where there is none. */
function countCalls(
  calls: readonly ToolPrediction[],
  { turn }: GraphState,
  run: Pick<NodeRun, "around" | "calls">,
): Awaitable<ReadonlyMap<string, SpentLimit>> {
  const keys = calls.map(({ id }) => `${turn?.run ?? ""}/${id}`);
  const own = { agent: null, count: run.calls, origin: "own" } as const;
  const all = [...run.around, own];
  const counted = all.map(({ count, origin }) => count.count(keys, origin));
  if (all.every(({ count }) => count.maxCalls === undefined)) return noneOver;
  return Promise.all(counted.map((one) => Promise.resolve(one))).then((admitted) => {
    const overLimit = new Map<string, SpentLimit>();
    for (const [at, { agent, count }] of all.entries()) {
      for (const [index, { id }] of calls.entries()) {
        if (admitted[at]?.[index] === true || overLimit.has(id)) continue;
        overLimit.set(id, { agent, maxCalls: count.maxCalls ?? Infinity });
      }
    }
    return overLimit;
  });
}

const noneOver: ReadonlyMap<string, SpentLimit> = new Map();

/** How often the same call may give the same result in an attempt. */
export function repetitionLimits({ parts }: Pick<NodeRun, "parts">): RepetitionLimits {
  const { max_repeats, max_polls, repeatable } = parts.definition.spec.guardrail_config.tool_rails;
  return {
    maxRepeats: max_repeats,
    maxPolls: max_polls,
    isRepeatable: (tool) =>
      repeatable.includes(tool) || parts.tools.get(tool)?.definition.execution.repeatable === true,
  };
}

/** Calls of the turn that have ended. */
export function callsSoFar({ steps, turn_number = 0, attempt_number = 0 }: GraphState): number {
  const turn = turnSteps(steps, { turnNumber: turn_number, attemptNumber: attempt_number });
  return turn.toolCalls;
}

/** What calls need of the node that makes them. */
export function callEnv({ signal, parts, rails, config }: NodeRun): StatefulCallEnv {
  const { behaviour, spec } = parts.definition;
  const { executionSchema, attemptSchema } = behaviour;
  const { clock, secrets, sandbox } = parts;
  return {
    signal,
    clock,
    secrets,
    sandbox,
    reveal: (args) => rails.reveal(args),
    // Calls beside each other may redact what these then have to know.
    ...(!rails.isIdle && { hide: (value) => rails.hide(value) }),
    executionSchema: executionSchema && revealing(executionSchema, rails),
    attemptSchema: attemptSchema && revealing(attemptSchema, rails),
    merges: spec.state_config.merge,
    interrupts: handlerInterrupts(config),
  };
}

/** Where the node's calls are written down. */
export function callLog(
  { turn }: GraphState,
  { parts: { journal }, config }: NodeRun,
  stepOf: CallLog["stepOf"],
): CallLog | undefined {
  const threadId: unknown = config.configurable?.["thread_id"];
  // A turn that an older version began has no run.
  if (journal === undefined || typeof threadId !== "string" || turn?.run === undefined)
    return undefined;
  const acceptsDamage = damageAccepted.in(config) === true;
  return { journal, threadId, run: turn.run, stepOf, acceptsDamage };
}

const damageAccepted = new PrivateConfig<true>("accepts_damage");

/** A config in which a call whose record in the journal is damaged has an unknown outcome. */
export function acceptingDamage(config: RunnableConfig): RunnableConfig {
  return damageAccepted.with(config, true);
}
