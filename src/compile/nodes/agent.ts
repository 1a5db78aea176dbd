import { isChatMessage } from "../../context/chat-turns.ts";
import { StratagraphError } from "../../errors.ts";
import type { TemplateValue } from "../../expression/template.ts";
import type { TurnFailure } from "../../state/turn.ts";
import { failedDraft } from "../loop/reasoning-step.ts";
import type { AgentNode } from "../workflow-plan.ts";
import {
  type AttemptEnd,
  applyOutputRails,
  type NodeAt,
  type NodeDone,
  type NodeWork,
  withheldFailure,
} from "./node-work.ts";
import { runSubagent, type Subagent } from "./run-subagent.ts";

export interface AgentNodeDeps {
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
 * Runs one turn of another agent as a subgraph with its own two tiers, messages and steps. It receives its input, and
 * the conversation if that is shared; its output and usage are returned. Its human requests become interrupts of the
 * outer graph and are answered there by id. Its events are written to the `custom` stream of the outermost graph,
 * whether or not that streams with `subgraphs`, which only adds the namespace.
 *
 * @throws AgentBlockedError
 */
export function agentNode({ plan, input, agent }: AgentNodeDeps): NodeWork {
  return async (at) => {
    const given = input === null ? at.state.input : input.render(at.values);
    const messages = plan.conversation === "shared" ? at.state.messages.filter(isChatMessage) : [];
    const turn = await runSubagent(agent, { input: given, messages }, at.run);
    // The usage of its whole thread, which has only this turn.
    at.run.addUsage(turn.usage);
    const { name } = agent.definition.spec;
    const { status, output, failure: failed } = turn;
    const { value, withheldBy } = await applyOutputRails({ output, failure: failed }, name, at);
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

/** The guardrails of a nested agent block its input. Its code is the cause of the failure. */
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

/** Ends the attempt for a failure that no edge handles. */
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
    end: failedDraft(
      `agent "${agent}" of node "${plan.name}" failed (${failure.cause}): ${failure.message}`,
    ),
  };
}
