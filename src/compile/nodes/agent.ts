import { isSpoken } from "../../context/spoken-turns.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { TemplateValue } from "../../expression/template-value.ts";
import type { TurnFailure } from "../../state/turn.ts";
import { noAnswer } from "../loop/reasoning.ts";
import type { AgentNode } from "../plan/plan-node.ts";
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
 */
export function agentNode({ plan, input, agent }: AgentNodeParts): NodeWork {
  return async (at) => {
    const given = input === null ? at.state.input : input.render(at.values);
    const messages = plan.conversation === "shared" ? at.state.messages.filter(isSpoken) : [];
    const turn = await runSubagent(agent, { input: given, messages }, at.run);
    // All that its thread has spent, since it has had this one turn.
    at.run.spend(turn.usage);
    const { status, output, failure } = turn;
    return judge(plan, agent.definition, { status, output, failure }, at);
  };
}

/** A failure that no edge asks about ends the attempt. */
function judge(
  plan: AgentNode,
  { spec }: AgentDefinition,
  output: AgentOutput,
  at: NodeAt,
): NodeDone | AttemptEnd {
  const { failure } = output;
  if (failure === null) return { output, value: output.output };
  if (at.asks("status") || at.asks("failure")) return { output };
  return {
    end: noAnswer(
      `agent "${spec.name}" of node "${plan.name}" failed (${failure.cause}): ${failure.message}`,
    ),
  };
}
