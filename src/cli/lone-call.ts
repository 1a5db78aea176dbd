import { compileArgumentRules } from "../compile/argument-rules.ts";
import { initialAttempt, initialExecution } from "../compile/loop/initial-state.ts";
import { InitialStateError } from "../compile/errors.ts";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import type { AgentTool } from "../definition/tool.ts";
import type { AgentState } from "../state/agent-state.ts";
import type { CallRules } from "../tools/admit-call.ts";
import type { FoundTools } from "./find-tools.ts";

/** What a call is made on that no turn is around. */
export interface LoneCall {
  readonly rules: CallRules;
  readonly state: AgentState<unknown, unknown>;
  /** What would be otherwise in a turn, for people. */
  readonly notes: readonly string[];
}

/**
 * The rules of an agent, or of a person who grants permissions, on an empty input and the state that the agent makes of
 * it.
 */
export function loneCall(
  tool: AgentTool,
  { tools: found }: Pick<FoundTools, "tools">,
  of: { readonly definition: AgentDefinition | null; readonly grants: readonly string[] },
): LoneCall {
  const tools = new Map([...found].map(([name, one]) => [name, one.tool]));
  const { definition } = of;
  if (definition === null) {
    const state = { execution: {}, attempt: {} };
    const rules: CallRules = {
      tools,
      allowed: "all",
      grants: of.grants,
      values: { input: {}, ...state },
    };
    return { rules, state, notes: tool.kind === "stateful" ? [emptyState] : [] };
  }
  const { spec } = definition;
  const { allowed_tools: allowed, max_calls_per_turn: maxCalls } = spec.guardrail_config.tool_rails;
  const argumentRules = compileArgumentRules(spec);
  const isRuled = argumentRules.some((rule) => rule.tool === tool.definition.name);
  const isStateful = tool.kind === "stateful";
  const { state, problem } = isStateful || isRuled ? firstState(definition) : noState;
  const rules: CallRules = {
    tools,
    allowed,
    maxCalls,
    grants: spec.permissions,
    argumentRules,
    values: { input: {}, ...state },
  };
  const notes = [
    ...(isStateful ? [problem === null ? firstStateNote : emptyState] : []),
    ...(isRuled ? [ruledNote] : []),
    ...(problem === null ? [] : [`The agent makes no state of an empty input: ${problem}`]),
  ];
  return { rules, state, notes };
}

const emptyState = "The tool has state: it was called on an empty one, and nothing is kept.";
const firstStateNote =
  "The tool has state: it was called on the agent's first one, made of an empty input, and nothing is kept.";
const ruledNote = "The rules on its arguments read an empty input.";

const noState = { state: { execution: {}, attempt: {} }, problem: null };

/** The state of an agent as a turn with an empty input begins; empty where it makes none of that. */
function firstState(definition: AgentDefinition): {
  readonly state: AgentState<unknown, unknown>;
  readonly problem: string | null;
} {
  try {
    const execution = initialExecution(definition, {});
    const attempt = initialAttempt(definition, { input: {}, execution, attemptNumber: 0 });
    return { state: { execution, attempt }, problem: null };
  } catch (thrown) {
    if (!(thrown instanceof InitialStateError)) throw thrown;
    return { ...noState, problem: thrown.message };
  }
}
