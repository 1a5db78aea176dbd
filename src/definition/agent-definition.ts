import type { AgentState } from "../state/tiers.ts";
import type { Rail } from "./rail.ts";
import type { AgentSpec } from "./schema/agent.ts";
import type { SchemaCheck } from "./schema/json-schema.ts";
import type { AgentTool } from "./tool/tool.ts";
import type { CodeWorker } from "./worker.ts";

/**
 * A checked agent: the definition as data, plus the code of a TypeScript definition. Only {@link defineAgent} and
 * {@link loadAgent} create one. Deeply frozen.
 */
export interface AgentDefinition<
  Input = unknown,
  Output = unknown,
  Exec = unknown,
  Attempt = unknown,
> {
  /** The whole definition with its defaults filled in: plain JSON. */
  readonly spec: AgentSpec;
  /** SHA-256 (hex) of the canonical JSON of the spec, the hashes of `agents` and the descriptions of `workers`. */
  readonly hash: string;
  /** Absolute path of the file it was loaded from. */
  readonly source?: string;
  readonly input: SchemaCheck<Input>;
  readonly output: SchemaCheck<Output>;
  /** Whether `tools` includes the tools of servers and packages, as in a definition restored from a thread. */
  readonly hasAllTools?: true;
  /** Tools defined inline; the runtime's registry provides all others that `spec.tools` names. */
  readonly tools: readonly AgentTool[];
  /** The bundled agents, by the name or path that nodes refer to them by. */
  readonly agents: ReadonlyMap<string, AgentDefinition>;
  /** Code workers that its planner nodes may name. */
  readonly workers: readonly CodeWorker[];
  /** The bundled custom rails; the runtime provides all others that `guardrail_config` names. */
  readonly rails: readonly Rail[];
  readonly behaviour: AgentBehaviour<Input, Output, Exec, Attempt>;
}

/**
 * The code of a definition. Declared as methods, whose bivariance makes a typed definition assignable to the untyped
 * one.
 */
export interface AgentBehaviour<Input, Output, Exec, Attempt> {
  /** Runs once a turn, before the first attempt. Default: `{}`. */
  initialExecutionState?(input: Input): Exec;
  /**
   * Runs before every attempt, with the execution state that the failed attempt left. `attemptNumber` is 0-based.
   * Default: `{}`.
   */
  initialAttemptState?(input: Input, execution: Exec, attemptNumber: number): Attempt;
  /** Returns the reasons to reject an output that matches its schema; an empty list or undefined accepts it. */
  validate?(
    output: Output,
    state: AgentState<Exec, Attempt>,
  ): readonly string[] | string | void | Promise<readonly string[] | string | void>;
  readonly executionSchema?: SchemaCheck<Exec>;
  readonly attemptSchema?: SchemaCheck<Attempt>;
}

/**
 * Whether runs of an agent may call a model: in the standard loop, in a workflow node, or as a judge of a guardrail.
 * Nested agents that are not bundled count as calling one.
 */
export function mayCallModel(definition: Pick<AgentDefinition, "spec" | "agents">): boolean {
  const { workflow_graph: graph, guardrail_config: rails } = definition.spec;
  if (graph === undefined || graph === null) return true;
  const { input_rails, output_rails } = rails;
  if (input_rails.length > 0 || output_rails.length > 0) return true;
  return graph.nodes.some((node): boolean => {
    switch (node.type) {
      case "llm":
      case "planner":
        return true;
      case "router":
        return node.config.choices !== undefined;
      case "agent": {
        const agent = definition.agents.get(node.config.agent);
        return agent === undefined || mayCallModel(agent);
      }
      case "human":
      case "tool":
      case "wait":
        return false;
    }
  });
}
