import type { BaseMessageLike } from "@langchain/core/messages";
import type { BaseCheckpointSaver, CompiledStateGraph, LastValue } from "@langchain/langgraph";
import type { Clock, IdSource } from "../clock.ts";
import { openingMessages } from "../context/system-prompt.ts";
import type { ToolForm } from "../context/step-messages.ts";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import type { LlmConfig } from "../definition/schema.ts";
import type { AgentModel, ModelSource } from "../models/agent-model.ts";
import { renderTextFormInstructions } from "../models/text-form.ts";
import type { GraphState, GraphUpdate, RunContext } from "../state/channels.ts";
import { createToolRegistry, type ToolRegistry } from "../tools/registry.ts";
import { toModelTool } from "../tools/model-tool.ts";
import { InactiveAgentError } from "./errors.ts";
import { initialAttempt, initialExecution } from "./loop/initial-state.ts";
import type { LoopNodeName, LoopParts } from "./loop/parts.ts";
import { buildStandardLoop, superstepLimit } from "./standard-loop.ts";

/** What compiling needs from the outside. */
export interface CompileServices {
  readonly models: ModelSource;
  /** Where names in a definition's `tools` are looked up. */
  readonly tools: ToolRegistry;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Left out, the graph has none of its own, and an Agent Server puts in its own. */
  readonly checkpointer?: BaseCheckpointSaver | undefined;
}

/** What a graph takes: either of the two. */
type InputChannels = {
  input: LastValue<unknown>;
  messages: LastValue<readonly BaseMessageLike[]>;
};

type OutputChannels = { [Key in keyof GraphState]: LastValue<GraphState[Key]> };

/**
 * An agent as a plain LangGraph graph. It takes `{ input }`, or `{ messages }` whose last human message becomes
 * `input.message`, and returns the state's public channels.
 */
export type AgentGraph = CompiledStateGraph<
  GraphState,
  GraphUpdate,
  LoopNodeName | "__start__",
  InputChannels,
  OutputChannels
>;

/**
 * Compiles a checked definition into a LangGraph graph: tools and model are resolved now, so that what is missing is
 * said before anything runs.
 *
 * @throws InactiveAgentError, ToolClashError, UnknownToolError, UnknownModelError, MissingProviderError,
 * MissingApiKeyError, ModelOptionError
 */
export async function compileAgentWith(
  definition: AgentDefinition,
  services: CompileServices,
): Promise<AgentGraph> {
  const { spec } = definition;
  if (!spec.is_active) throw new InactiveAgentError(spec.name);
  const parts = await resolveParts(definition, services);
  const graph = buildStandardLoop(parts).compile({
    name: spec.name,
    ...(spec.description !== "" && { description: spec.description }),
    ...(services.checkpointer && { checkpointer: services.checkpointer }),
  });
  const { checkpoint_frequency } = spec.execution_config;
  const durability = checkpoint_frequency === "every_turn" ? "exit" : "async";
  graph.config = {
    ...graph.config,
    recursionLimit: superstepLimit(spec.execution_config),
    // Where LangGraph looks for it when a caller names none.
    configurable: { ...graph.config?.configurable, __pregel_durability: durability },
  };
  return graph as unknown as AgentGraph;
}

async function resolveParts(
  definition: AgentDefinition,
  services: CompileServices,
): Promise<LoopParts> {
  const { spec } = definition;
  const inline = createToolRegistry(definition.tools);
  const named = spec.tools.filter((tool) => typeof tool === "string");
  const fromRegistry = services.tools.resolve(named.filter((name) => !inline.get(name)));
  const all = createToolRegistry([...definition.tools, ...fromRegistry]);
  const tools = new Map(all.resolve(all.names()).map((tool) => [tool.definition.name, tool]));
  const allowed = spec.guardrail_config.tool_rails.allowed_tools;
  const modelTools = [...tools.values()]
    .filter(({ definition: { name } }) => allowed === "all" || allowed.includes(name))
    .map(toModelTool);
  const defaultModel = await services.models.resolve(spec.llm_config);
  const openings = {
    native: openingMessages(spec),
    text: openingMessages(spec, renderTextFormInstructions(modelTools)),
  } satisfies Record<ToolForm, unknown>;
  return {
    definition,
    clock: services.clock,
    ids: services.ids,
    tools,
    modelTools,
    model: (context) => modelForRun(context, defaultModel, definition, services),
    initialExecution: (input) => initialExecution(definition, input),
    initialAttempt: (input, execution, attemptNumber) =>
      initialAttempt(definition, { input, execution, attemptNumber }),
    opening: (form) => openings[form],
  };
}

function modelForRun(
  context: RunContext | undefined,
  defaultModel: AgentModel,
  definition: AgentDefinition,
  services: CompileServices,
): AgentModel | Promise<AgentModel> {
  if (context?.model === undefined && context?.temperature === undefined) return defaultModel;
  return services.models.resolve(llmConfigFor(definition, context));
}

/** The definition's `llm_config` with what one run asks for instead. */
export function llmConfigFor({ spec }: AgentDefinition, context: RunContext): LlmConfig {
  return {
    ...spec.llm_config,
    ...(context.model !== undefined && { default_model: context.model }),
    ...(context.temperature !== undefined && { temperature: context.temperature }),
  };
}
