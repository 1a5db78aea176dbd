import { isSpoken } from "../../context/spoken-turns.ts";
import { StratagraphError } from "../../errors.ts";
import type { TemplateValue } from "../../expression/template-value.ts";
import type { TurnFailure } from "../../state/turn.ts";
import { noAnswer } from "../loop/reasoning.ts";
import type { AgentNode } from "../plan/plan-node.ts";
import { inspectOutput, withheldFailure } from "./inspect-output.ts";
import type { AttemptEnd, NodeAt, NodeDone, NodeWork } from "./node-work.ts";
import { runSubagent, type Subagent } from "./run-subagent.ts";

export interface AgentNodeParts {
  readonly plan: AgentNode;
  readonly input: TemplateValue | null;
  readonly agent: Subagent;
}

/** The output of an agent node. */
interface AgentOutput extends Readonly<Record<string, unknown>> {
  readonly status: string;
  readonly output: unknown;
  readonly failure: TurnFailure | null;
}

/**
 * Runs one turn of another agent as a subgraph with its own two tiers, messages and steps. It is given its input, and
 * the conversation where that is shared; its output and what it has spent come back. What it asks people goes up as an
 * interrupt of the graph around it, and is answered there by its id. Its events come in LangGraph's `custom` stream of
 * the outermost graph whether or not that streams with `subgraphs`, which only puts the namespace beside them.
 *
 * @throws AgentBlockedError
 */
export function agentNode({ plan, input, agent }: AgentNodeParts): NodeWork {
  return async (at) => {
    const given = input === null ? at.state.input : input.render(at.values);
    const messages = plan.conversation === "shared" ? at.state.messages.filter(isSpoken) : [];
    const turn = await runSubagent(agent, { input: given, messages }, at.run);
    // All that its thread has spent, since it has had this one turn.
    at.run.spend(turn.usage);
    const { name } = agent.definition.spec;
    const { status, output, failure: failed } = turn;
    const { value, withheldBy } = await inspectOutput({ output, failure: failed }, name, at);
    if (withheldBy !== null) {
      const failure = withheldFailure(`agent "${name}"`, withheldBy);
      return judge(plan, name, { status: "FAILED", output: null, failure }, at);
    }
    // The same request would be blocked again.
    if (isBlocked(value.failure) && !asksAboutFailure(at)) {
      throw new AgentBlockedError(plan.name, name, value.failure);
    }
    return judge(plan, name, { status, ...value }, at);
  };
}

/** The guardrails of an agent inside take no such input. Its code is the cause of the failure. */
class AgentBlockedError extends StratagraphError {
  readonly code: string;
  override readonly kind = "run";

  constructor(
    readonly node: string,
    readonly agent: string,
    { cause, message }: TurnFailure,
  ) {
    super(`Agent "${agent}" of node "${node}": ${message}`);
    this.code = cause;
  }
}

function isBlocked(failure: TurnFailure | null): failure is TurnFailure {
  return failure?.cause.startsWith("guardrail:") === true;
}

function asksAboutFailure(at: NodeAt): boolean {
  return at.asks("status") || at.asks("failure");
}

/** A failure that no edge asks about ends the attempt. */
function judge(
  plan: AgentNode,
  agent: string,
  output: AgentOutput,
  at: NodeAt,
): NodeDone | AttemptEnd {
  const { failure } = output;
  if (failure === null) return { output, value: output.output };
  if (asksAboutFailure(at)) return { output };
  return {
    end: noAnswer(
      `agent "${agent}" of node "${plan.name}" failed (${failure.cause}): ${failure.message}`,
    ),
  };
}
