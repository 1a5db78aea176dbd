import type { AgentDefinition } from "../definition/agent-definition.ts";
import type { LlmConfig } from "../definition/schema/agent.ts";
import type { JsonSchema } from "../definition/schema/json-schema.ts";
import type { AgentTool } from "../definition/tool/tool.ts";
import type { AgentModel, ModelSource } from "../models/agent-model.ts";
import type { RunContext } from "../state/channels.ts";
import { toModelTool } from "../tools/registry.ts";
import { agentTools, promptPrefix, type ToolServices } from "./agent-setup.ts";
import type { BoundModel } from "./loop/context.ts";
import type { LlmNode, RouterNode, WorkflowPlan } from "./workflow-plan.ts";

/** The sources of the models and tools that definitions name. */
export interface ModelServices extends ToolServices {
  readonly models: ModelSource;
}

export interface BoundModels {
  readonly tools: ReadonlyMap<string, AgentTool>;
  /** Binds a model; options that are left out are the agent's own. */
  make(of: {
    readonly model?: string | null;
    readonly tools?: readonly string[] | "all" | "none";
    /** The form of an answer; null for free text. */
    readonly answerSchema?: JsonSchema | null;
  }): Promise<BoundModel>;
}

/** @throws the errors of resolving its tools and models */
export async function createBoundModels(
  definition: AgentDefinition,
  of: {
    readonly services: ModelServices;
    readonly inside: readonly string[] | undefined;
    /** Tools that come with the agent's configuration; its own tools of the same names replace them. Default none. */
    readonly implied?: readonly AgentTool[];
  },
): Promise<BoundModels> {
  const { spec } = definition;
  const { services } = of;
  const tools = await agentTools(definition, services, of);
  const allowed = spec.guardrail_config.tool_rails.allowed_tools;
  const candidates = [...tools.values()].filter(
    ({ definition: { name } }) => allowed === "all" || allowed.includes(name),
  );
  const known = new Map(candidates.map((tool) => [tool, toModelTool(tool)]));
  return {
    tools,
    async make({ model = null, tools: offered = "all", answerSchema = spec.output_schema }) {
      const config = withModel(spec.llm_config, model);
      const defaultModel = await services.models.resolve(config);
      const modelWith = (own: readonly AgentTool[]): BoundModel => {
        const modelTools = own.flatMap((tool) => known.get(tool) ?? []);
        return {
          modelTools,
          candidates: own,
          model: (context) => modelForRun(context, defaultModel, config, services),
          promptPrefix: promptPrefix(spec, { answerSchema, modelTools }),
          restrictedTo: (mayCall) => modelWith(own.filter(mayCall)),
        };
      };
      return modelWith(
        candidates.filter(
          ({ definition: { name } }) =>
            offered === "all" || (offered !== "none" && offered.includes(name)),
        ),
      );
    },
  };
}

/** Returns the models of the workflow nodes that call one, by node. */
export async function createNodeModels(
  plan: WorkflowPlan,
  boundModels: BoundModels,
): Promise<ReadonlyMap<string, BoundModel>> {
  const thinking = plan.nodes.filter(
    (node): node is LlmNode | RouterNode =>
      node.type === "llm" || (node.type === "router" && node.choices.length > 0),
  );
  const made = await Promise.all(
    thinking.map(async (node) => {
      const of = node.type === "llm" ? node : { model: node.model, tools: "none" as const };
      return [node.name, await boundModels.make({ answerSchema: null, ...of })] as const;
    }),
  );
  return new Map(made);
}

function modelForRun(
  context: RunContext | undefined,
  defaultModel: AgentModel,
  config: LlmConfig,
  services: ModelServices,
): AgentModel | Promise<AgentModel> {
  if (context?.model === undefined && context?.temperature === undefined) return defaultModel;
  return services.models.resolve(forRun(config, context));
}

/** Returns the model that extracts facts of finished turns; null if rules do. */
export async function extractorOf(
  { llm_config, memory_config }: AgentDefinition["spec"],
  { models }: ModelServices,
): Promise<AgentModel | null> {
  const { enabled, extraction_model: ref } = memory_config.long_term;
  return enabled && ref !== undefined ? models.resolve(withModel(llm_config, ref)) : null;
}

export function withModel(config: LlmConfig, model: string | null): LlmConfig {
  return model === null ? config : { ...config, default_model: model };
}

/** Returns the definition's `llm_config` with the overrides of one run. */
export function llmConfigFor({ spec }: AgentDefinition, context: RunContext): LlmConfig {
  return forRun(spec.llm_config, context);
}

function forRun(config: LlmConfig, context: RunContext): LlmConfig {
  return {
    ...withModel(config, context.model ?? null),
    ...(context.temperature !== undefined && { temperature: context.temperature }),
  };
}
