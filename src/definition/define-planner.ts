import type { AgentDefinition } from "./agent-definition.ts";
import { defineAgent, type AgentOptions } from "./define-agent.ts";
import type { AgentSpecInput } from "./schema/agent.ts";
import type { CodeWorker } from "./worker.ts";
import type { NodeOfType } from "./schema/workflow.ts";

type PlannerConfig = NodeOfType<"planner">["config"];

/** Default turn timeout: a plan takes longer than a single agent's turn. */
const turnSeconds = 3600;

/** The input of a planner. */
interface PlannerTask {
  message: string;
  plan?: unknown;
}

export interface PlannerOptions<Output = unknown>
  extends
    Pick<
      AgentSpecInput,
      | "description"
      | "system_prompt"
      | "llm_config"
      | "execution_config"
      | "context_config"
      | "memory_config"
      | "guardrail_config"
      | "permissions"
    >,
    Pick<AgentOptions<never, Output, never, never, never>, "rails">,
    Partial<Omit<PlannerConfig, "workers" | "task" | "plan" | "model" | "writes">> {
  /** Default: `planner`. */
  readonly name?: string;
  /** At least one worker for the subtasks: agents, and functions of `defineWorker`. */
  readonly workers: readonly (AgentDefinition | CodeWorker)[];
  /** Schema of the result. Default: `{ message: string }`. */
  readonly output_schema?: AgentOptions<never, Output, never, never, never>["output_schema"];
}

/**
 * Defines a planner as an agent: a workflow of one planner node. Its input is `{ message }`, the task, with an optional
 * `plan` to run instead of a generated one.
 *
 * `permissions` and `guardrail_config` also restrict the workers: the planner must grant every permission that their
 * tools need. The default turn timeout (`execution_config.timeout_seconds`) is an hour, not a minute.
 *
 * @throws InvalidDefinitionError with every problem
 * @example
 * const planner = definePlanner({ workers: [counter, writer], max_parallel: 4 });
 * const { output } = await executeAgent(planner, { message: "Count …, then write a report" });
 */
export function definePlanner<Output = { message: string }>(
  options: PlannerOptions<Output>,
): AgentDefinition<PlannerTask, Output> {
  const {
    name = "planner",
    description,
    system_prompt,
    llm_config,
    execution_config,
    context_config,
    memory_config,
    guardrail_config,
    permissions,
    rails,
    workers,
    output_schema,
    ...config
  } = options;
  const isAgent = (worker: AgentDefinition | CodeWorker): worker is AgentDefinition =>
    "spec" in worker;
  const listed = Array.isArray(workers) ? workers : [];
  return defineAgent<PlannerTask, Output, unknown, unknown>({
    name,
    ...(description !== undefined && { description }),
    ...(system_prompt !== undefined && { system_prompt }),
    ...(llm_config !== undefined && { llm_config }),
    execution_config: { timeout_seconds: turnSeconds, ...execution_config },
    ...(context_config !== undefined && { context_config }),
    ...(memory_config !== undefined && { memory_config }),
    ...(guardrail_config !== undefined && { guardrail_config }),
    ...(permissions !== undefined && { permissions }),
    ...(rails !== undefined && { rails }),
    ...(output_schema !== undefined && { output_schema }),
    input_schema: {
      type: "object",
      properties: {
        message: { type: "string", description: "The task." },
        plan: { description: "A plan to run instead of a model's." },
      },
      required: ["message"],
    },
    agents: listed.filter(isAgent),
    workers: listed.filter((worker): worker is CodeWorker => !isAgent(worker)),
    workflow_graph: {
      entry_point: "planner",
      nodes: [
        {
          name: "planner",
          type: "planner",
          description: "Plans the task and has it done",
          config: { plan: "${has(input.plan) ? input.plan : null}", ...config },
        },
      ],
      edges: [{ from: "planner", to: "END" }],
    },
  });
}
