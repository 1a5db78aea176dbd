import { isAgentPath, maxAgentDepth } from "../definition/agent-references.ts";
import { StratagraphError } from "../errors.ts";
import { nearestName } from "../nearest-name.ts";

/** Two agents of a runtime have the same name. */
export class AgentClashError extends StratagraphError {
  readonly code = "agent_clash";

  constructor(readonly agent: string) {
    super(`Two agents are named "${agent}". Rename one of them, or leave one out.`);
  }
}

/** An agent node names an agent that neither its definition nor the runtime has. */
export class UnknownAgentError extends StratagraphError {
  readonly code = "unknown_agent";
  readonly suggestion: string | undefined;

  /** `within` is the agent that the node belongs to; `known` are the names that it could have used. */
  constructor(
    readonly agent: string,
    readonly node: string,
    readonly within: string,
    readonly known: readonly string[],
  ) {
    const suggestion = nearestName(agent, known);
    super(
      `Node "${node}" of agent "${within}" names agent "${agent}", which there is not.${advice(agent, known, suggestion)}`,
    );
    this.suggestion = suggestion;
  }
}

function advice(agent: string, known: readonly string[], suggestion: string | undefined): string {
  if (isAgentPath(agent)) {
    return " A path is read with the file that names it: load that with loadAgent.";
  }
  const meant = suggestion === undefined ? "" : ` Did you mean "${suggestion}"?`;
  const there =
    known.length === 0
      ? "There are no agents: pass some to defineAgent or createRuntime in agents."
      : `Agents: ${known.join(", ")}.`;
  return `${meant} ${there}`;
}

/** An agent contains itself by the names of its nodes. */
export class AgentRecursionError extends StratagraphError {
  readonly code = "agent_recursion";

  /** `chain` names the agents in order; the first and the last are the same. */
  constructor(readonly chain: readonly string[]) {
    super(
      `Agents do not contain themselves: ${chain.join(" → ")}. Leave out one of the agent nodes in between.`,
    );
  }
}

/** Agents are within agents deeper than is allowed. */
export class AgentDepthError extends StratagraphError {
  readonly code = "agent_depth";

  /** `chain` names the agents in order, from the outermost one. */
  constructor(readonly chain: readonly string[]) {
    super(
      `Agents are within agents at most ${maxAgentDepth} deep, and these are ${chain.length}: ${chain.join(" → ")}.`,
    );
  }
}

/** An agent node names an agent whose definition says `is_active: false`. */
export class InactiveSubagentError extends StratagraphError {
  readonly code = "inactive_subagent";

  constructor(
    readonly agent: string,
    readonly node: string,
    readonly within: string,
  ) {
    super(
      `Node "${node}" of agent "${within}" names agent "${agent}", which is not active. Set its is_active to true to run it.`,
    );
  }
}
