import { isAgentPath, maxAgentDepth, type AgentReference } from "../definition/check/agents.ts";
import { StratagraphError } from "../errors.ts";
import { nearestName } from "../nearest-name.ts";

/** Two agents of a runtime have the same name. */
export class AgentClashError extends StratagraphError {
  readonly code = "agent_clash";

  constructor(readonly agent: string) {
    super(`Two agents are named "${agent}". Rename one of them, or leave one out.`);
  }
}

interface UnknownAgent {
  readonly agent: string;
  readonly node: string;
  /** Whether an agent node names it, or a planner node as a worker. */
  readonly role: AgentReference["role"];
  /** The agent that contains the node. */
  readonly within: string;
  /** The names that the node could have used. */
  readonly known: readonly string[];
}

/** A node names an agent that neither its definition nor the runtime has. */
export class UnknownAgentError extends StratagraphError {
  readonly code = "unknown_agent";
  readonly agent: string;
  readonly node: string;
  readonly role: AgentReference["role"];
  readonly within: string;
  readonly known: readonly string[];
  readonly suggestion: string | undefined;

  constructor(unknown: UnknownAgent) {
    const { agent, node, role, within, known } = unknown;
    const suggestion = nearestName(agent, known);
    const [by, named] = role === "worker" ? ["Planner node", "worker"] : ["Node", "agent"];
    super(
      `${by} "${node}" of agent "${within}" names ${named} "${agent}", which does not exist.${advice(unknown, suggestion)}`,
    );
    this.agent = agent;
    this.node = node;
    this.role = role;
    this.within = within;
    this.known = known;
    this.suggestion = suggestion;
  }
}

function advice({ agent, role, known }: UnknownAgent, suggestion: string | undefined): string {
  if (isAgentPath(agent)) {
    return " A path is resolved relative to the file that names it: load that file with loadAgent.";
  }
  const meant = suggestion === undefined ? "" : ` Did you mean "${suggestion}"?`;
  return `${meant} ${known.length === 0 ? noneThere[role] : `${listed[role]}: ${known.join(", ")}.`}`;
}

const listed = { node: "Agents", worker: "Agents and code workers" } as const;
const noneThere = {
  node: "There are no agents: pass them to defineAgent or createRuntime in agents.",
  worker:
    "There are no agents and no code workers: pass them to defineAgent in agents or workers, or to createRuntime in agents.",
} as const;

/** An agent contains itself, by the names in its nodes. */
export class AgentRecursionError extends StratagraphError {
  readonly code = "agent_recursion";

  /** `chain` names the agents in order; the first and the last are the same. */
  constructor(readonly chain: readonly string[]) {
    super(
      `Agents cannot contain themselves: ${chain.join(" → ")}. Leave out one of the nodes or workers in between.`,
    );
  }
}

/** Agents are nested deeper than the limit. */
export class AgentDepthError extends StratagraphError {
  readonly code = "agent_depth";

  /** `chain` names the agents in order, from the outermost one. */
  constructor(readonly chain: readonly string[]) {
    super(
      `Agents can be nested at most ${maxAgentDepth} deep, and these are ${chain.length} deep: ${chain.join(" → ")}.`,
    );
  }
}

/** A node names an agent whose definition says `is_active: false`. */
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
