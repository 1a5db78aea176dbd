import type { AgentState } from "../state/tiers.ts";
import type { Rail } from "./rail.ts";
import type { AgentSpec } from "./schema/agent.ts";
import type { SchemaCheck } from "./schema/json-schema.ts";
import type { AgentTool } from "./tool/tool.ts";
import type { CodeWorker } from "./worker.ts";

/**
 * A checked agent: the definition as data, and the code that a TypeScript definition brings along. Made by
 * {@link defineAgent} and {@link loadAgent} only, deeply frozen.
 */
export interface AgentDefinition<
  Input = unknown,
  Output = unknown,
  Exec = unknown,
  Attempt = unknown,
> {
  /** The whole definition with its defaults filled in: plain JSON. */
  readonly spec: AgentSpec;
  /** SHA-256 (hex) of the spec's canonical JSON, of the hashes of `agents`, and of what `workers` are said to be good at. */
  readonly hash: string;
  /** Absolute path of the file it was loaded from. */
  readonly source?: string;
  readonly input: SchemaCheck<Input>;
  readonly output: SchemaCheck<Output>;
  /** Whether `tools` has all that it may use, those of servers and packages too: it was made from what is kept of it. */
  readonly hasAllTools?: true;
  /** Tools defined inline; names in `spec.tools` that are not here come from the runtime's registry. */
  readonly tools: readonly AgentTool[];
  /** The agents that came with it, by the name or path under which its nodes name them. */
  readonly agents: ReadonlyMap<string, AgentDefinition>;
  /** Workers of code that its planner nodes may name. */
  readonly workers: readonly CodeWorker[];
  /** Rails of code that came with it; others that `guardrail_config` names come from the runtime. */
  readonly rails: readonly Rail[];
  readonly behaviour: AgentBehaviour<Input, Output, Exec, Attempt>;
}

/** The code of a definition. Every part may be left out. Methods, so that a typed definition passes as a general one. */
export interface AgentBehaviour<Input, Output, Exec, Attempt> {
  /** Once a turn, before the first attempt. Default: `{}`. */
  initialExecutionState?(input: Input): Exec;
  /** Before every attempt; sees the execution state as the failed attempt left it. `attemptNumber` is 0-based. Default: `{}`. */
  initialAttemptState?(input: Input, execution: Exec, attemptNumber: number): Attempt;
  /** Reasons why an output that fits its schema is still not good enough; none, or nothing, accepts it. */
  validate?(
    output: Output,
    state: AgentState<Exec, Attempt>,
  ): readonly string[] | string | void | Promise<readonly string[] | string | void>;
  readonly executionSchema?: SchemaCheck<Exec>;
  readonly attemptSchema?: SchemaCheck<Attempt>;
}

/**
 * Whether runs of an agent may ask a model: by the standard loop, by a node of its workflow, or as a judge of its
 * guardrails. An agent inside that does not come with the definition may.
 */
export function asksModel(definition: Pick<AgentDefinition, "spec" | "agents">): boolean {
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
        return agent === undefined || asksModel(agent);
      }
      case "human":
      case "tool":
        return false;
    }
  });
}
