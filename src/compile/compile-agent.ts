import type { BaseCheckpointSaver } from "@langchain/langgraph";
import type { Clock, IdSource } from "../clock.ts";
import { inputText } from "../context/input-text.ts";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import { toolsInside, withAgentsInside } from "../definition/agents-inside.ts";
import { agentReferences, subagentKey } from "../definition/agent-references.ts";
import { stampDefinition, type DefinitionStamp } from "../definition/definition-hash.ts";
import type { JsonSchema } from "../definition/json-schema.ts";
import type { Rail } from "../definition/rail.ts";
import type { LlmConfig } from "../definition/schema.ts";
import type { AgentTool } from "../definition/tool.ts";
import type { AgentModel, ModelSource } from "../models/agent-model.ts";
import { createRails } from "../guardrails/create-rails.ts";
import type { Embeddings } from "../models/embeddings/embeddings.ts";
import type { RunContext } from "../state/channels.ts";
import type { ToolJournal } from "../tools/journal.ts";
import type { Sandbox } from "../tools/sandbox/sandbox.ts";
import type { Secrets } from "../tools/secrets/secrets.ts";
import { toModelTool } from "../tools/model-tool.ts";
import type { AgentGraph } from "./agent-graph.ts";
import { agentTools, type ToolServices } from "./agent-tools.ts";
import { compileArgumentRules } from "./argument-rules.ts";
import type { AgentRegistry } from "./agent-registry.ts";
import { guardAnswers } from "./answer-guard.ts";
import { contextReader, keepReader, readerOf } from "./context-reader.ts";
import { definitionHashKey, stampGraph, stampOf } from "./definition-stamps.ts";
import { drawnFromNodes } from "./draw-graph.ts";
import { InactiveAgentError } from "./errors.ts";
import { buildGraph, type GraphNode } from "./graph-builder.ts";
import { initialAttempt, initialExecution } from "./loop/initial-state.ts";
import type { AttemptShape, LoopParts, Thinker, ToolBounds } from "./loop/parts.ts";
import { openings } from "./loop/openings.ts";
import { resultSummariserOf } from "./loop/result-summaries.ts";
import type { Subagent } from "./nodes/run-subagent.ts";
import type { LlmNode, PlannerNode, RouterNode, WorkflowPlan } from "./plan/plan-node.ts";
import { taskIn } from "./planner/planner-input.ts";
import type { Worker } from "./planner/planner-parts.ts";
import { standardAttempts, standardLoop, superstepLimit } from "./standard-loop.ts";
import { durabilityOf } from "./durability.ts";
import type { ThreadKeeper } from "./hold-thread.ts";
import { guardThread } from "./thread-guard.ts";
import { guardOwner } from "./thread-owner.ts";
import { holdStreams } from "./held-streams.ts";
import { guardInputs } from "./input-guard.ts";
import { countTurnCalls } from "./turn-calls.ts";
import { guardUpdates } from "./update-guard.ts";
import { isWithholding, redacts, withholdFromCallbacks } from "./withheld-callbacks.ts";

/** What compiling needs from the outside. */
export interface CompileServices extends ToolServices, Pick<ThreadKeeper, "lockThread"> {
  readonly models: ModelSource;
  /** Where names of agent nodes are looked up that a definition's own `agents` do not have. */
  readonly agents?: AgentRegistry;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Left out, the graph has none of its own, and an Agent Server puts in its own. */
  readonly checkpointer?: AgentCheckpointer | undefined;
  /** Where references to secrets are looked up. Left out, there are none. */
  readonly secrets?: Secrets | undefined;
  /** Where sandboxed tools run. Left out, these cannot be called. */
  readonly sandbox?: Sandbox | undefined;
  /** What turns texts into vectors, for choosing tools and for rails. */
  readonly embeddings: Embeddings;
  /** Custom rails that definitions may name. */
  readonly rails?: readonly Rail[] | undefined;
  /** Where tool calls are written down, so that none that has ended is made again. Left out, they are not. */
  readonly journal?: ToolJournal | undefined;
}

/** A LangGraph checkpointer, which may keep the definitions that checkpoints were made under. */
export type AgentCheckpointer = BaseCheckpointSaver & {
  /** Kept with the next checkpoint that carries the hash. */
  rememberDefinition?(hash: string, definition: unknown): void;
};

/**
 * Compiles a checked definition into a LangGraph graph: tools and model are resolved now, so that what is missing is
 * said before anything runs.
 *
 * @throws InactiveAgentError, ToolClashError, UnknownToolError, UnknownModelError, MissingProviderError,
 * MissingApiKeyError, ModelOptionError; for agent nodes UnknownAgentError, InactiveSubagentError, AgentRecursionError,
 * AgentDepthError, InvalidDefinitionError
 */
export async function compileAgentWith(
  definition: AgentDefinition,
  services: CompileServices,
): Promise<AgentGraph> {
  const { spec } = definition;
  if (!spec.is_active) throw new InactiveAgentError(spec.name);
  if (spec.workflow_graph === undefined) return compileGraph(definition, services, {});
  const { compileSubagents } = await import("./subagents.ts");
  // They are kept with the thread of the graph around them.
  const within = { ...services, checkpointer: undefined };
  const asksPeople = [...withAgentsInside(definition)].some(asksForApproval);
  const subagents = await compileSubagents(definition, services.agents ?? new Map(), (agent, own) =>
    compileGraph(agent, within, { subagents: own, isInside: true, asksPeople }),
  );
  return compileGraph(definition, services, { subagents });
}

/** What a graph is compiled for. */
interface GraphOf {
  /** The agents of agent and planner nodes, by `subagentKey`. Default none. */
  readonly subagents?: ReadonlyMap<string, Subagent>;
  /** Set where the definition is that of a planner node. */
  readonly planner?: PlannerOf;
  /** Whether nodes of other graphs run it, and nothing else. Default false. */
  readonly isInside?: boolean;
  /** Whether agents around it may have a person approve its calls, so that it is drawn asking. Default false. */
  readonly asksPeople?: boolean;
}

function asksForApproval({ spec: { guardrail_config } }: AgentDefinition): boolean {
  const { require_approval: required } = guardrail_config.tool_rails;
  return required === "all" || required.length > 0;
}

async function compileGraph(
  definition: AgentDefinition,
  services: CompileServices,
  { subagents = new Map(), planner, isInside = false, asksPeople = false }: GraphOf,
): Promise<AgentGraph> {
  const { spec } = definition;
  const inside = { subagents, planner: planner ?? null, asksPeople };
  const { parts, nodes, recursionLimit } = await resolve(definition, services, inside);
  const graph = buildGraph(parts, nodes, { isInside }).compile({
    name: spec.name,
    ...(spec.description !== "" && { description: spec.description }),
    ...(services.checkpointer && { checkpointer: services.checkpointer }),
  });
  const stamp = stampOfAgent(definition, parts, subagents);
  services.checkpointer?.rememberDefinition?.(stamp.hash, stamp.document);
  graph.config = {
    ...graph.config,
    recursionLimit,
    configurable: {
      ...graph.config?.configurable,
      // Where LangGraph looks for it when a caller names none.
      __pregel_durability: durabilityOf(spec),
      [definitionHashKey]: stamp.hash,
      // An answer that another process gave first is refused, not taken for the next question's.
      __pregel_strict_resume: true,
    },
  };
  const agentsInside = [...subagents.values()];
  if (redacts(definition) || agentsInside.some((agent) => isWithholding(agent.graph))) {
    withholdFromCallbacks(graph);
  }
  const held = holdStreams(countTurnCalls(graph), { hasRails: parts.rails.output.length > 0 });
  const guarded = guardUpdates(guardInputs(guardAnswers(held), definition), { parts, nodes });
  const owned = guardOwner(guarded, spec.name);
  const kept = isInside ? owned : guardThread(owned, services);
  const agentGraph = drawnFromNodes(kept, nodes) as unknown as AgentGraph;
  stampGraph(agentGraph, stamp);
  keepReader(agentGraph, contextReader({ parts, nodes, recursionLimit }));
  return agentGraph;
}

function stampOfAgent(
  definition: AgentDefinition,
  { tools }: Pick<LoopParts, "tools">,
  subagents: ReadonlyMap<string, Subagent>,
): DefinitionStamp {
  const agents = new Map<string, DefinitionStamp>();
  for (const reference of agentReferences(definition.spec, definition.agents.keys())) {
    const graph = subagents.get(subagentKey(reference))?.graph;
    const stamp = graph && stampOf(graph);
    if (stamp !== undefined) agents.set(reference.agent, stamp);
  }
  return stampDefinition(definition, { tools: tools.values(), agents });
}

/** What the graph of a planner node is made for. */
interface PlannerOf {
  readonly node: PlannerNode;
  readonly workers: readonly Worker[];
}

interface Resolved {
  readonly parts: LoopParts;
  readonly nodes: readonly GraphNode[];
  readonly recursionLimit: number;
}

async function resolve(
  definition: AgentDefinition,
  services: CompileServices,
  inside: {
    readonly subagents: ReadonlyMap<string, Subagent>;
    readonly planner: PlannerOf | null;
    readonly asksPeople: boolean;
  },
): Promise<Resolved> {
  const { subagents, planner, asksPeople } = inside;
  const { spec } = definition;
  const { workflow_graph: written, execution_config: limits } = spec;
  const toolNames = toolNamesInside(definition, subagents);
  const thinkers = await createThinkers(definition, { services, inside: toolNames });
  const thinker = await thinkers.make({});
  const summariser = await resultSummariserOf(spec, (model) => {
    return thinkers.make({ model, tools: "none", answerSchema: null });
  });
  const { clock, ids, journal, secrets, sandbox, embeddings } = services;
  const own = await createRails(spec, [...definition.rails, ...(services.rails ?? [])]);
  // The agent around a planner node looks at what the node is given, and has its rails and bounds inside of it.
  const rails = planner === null ? own : { ...own, input: [], answer: [], tool_result: [] };
  const bounds = planner === null ? [toolBounds(spec)] : [];
  const partsWith = (attempts: AttemptShape): LoopParts => ({
    definition,
    clock,
    ids,
    tools: thinkers.tools,
    journal,
    secrets,
    sandbox,
    embeddings,
    rails,
    bounds,
    railModel: (ref) => services.models.resolve(withModel(spec.llm_config, ref)),
    needsApproval: approvalRule(definition, thinkers.tools),
    thinker,
    summariser,
    requestOf: (input) => (planner === null ? inputText(input) : taskIn(input)),
    initialExecution: (input, desk) => initialExecution(definition, input, desk),
    initialAttempt: (of) => initialAttempt(definition, of),
    attempts,
  });
  if (planner !== null) {
    const loop = await import("./planner/planner-loop.ts");
    const parts = partsWith(loop.plannerAttempts);
    const asking = await thinkers.make({ tools: "none", answerSchema: null });
    return {
      parts,
      nodes: loop.plannerLoop(loop.plannerParts(planner.node, planner.workers, asking)),
      recursionLimit: loop.plannerLimit(planner.node, limits),
    };
  }
  if (written === undefined) {
    const parts = partsWith(standardAttempts);
    return {
      parts,
      nodes: standardLoop(parts, { asksPeople }),
      recursionLimit: superstepLimit(limits),
    };
  }
  const { compileWorkflow } = await import("./workflow.ts");
  const workflow = compileWorkflow(spec, written, services);
  const nodes = workflow.nodes({
    thinker,
    thinkers: await thinkersOf(workflow.plan, thinkers),
    agents: new Map([
      ...subagents,
      ...(await compilePlanners(workflow.plan, definition, { services, subagents })),
    ]),
  });
  return {
    parts: partsWith(workflow.attempts),
    nodes,
    recursionLimit: workflowLimit(workflow.plan, limits.max_attempts),
  };
}

/** The graphs of planner nodes, by node. They are kept with the thread of the graph around them, as agents are. */
async function compilePlanners(
  { nodes }: WorkflowPlan,
  definition: AgentDefinition,
  of: { readonly services: CompileServices; readonly subagents: ReadonlyMap<string, Subagent> },
): Promise<ReadonlyMap<string, Subagent>> {
  const planners = nodes.filter((node): node is PlannerNode => node.type === "planner");
  if (planners.length === 0) return new Map();
  const { plannerDefinition } = await import("./planner/planner-definition.ts");
  const { workersOf } = await import("./planner/workers-of.ts");
  const { services, subagents } = of;
  const within = { ...services, checkpointer: undefined };
  const made = await Promise.all(
    planners.map(async (node) => {
      const workers = workersOf(node, definition, { subagents, tools: services.tools });
      const own = plannerDefinition(definition, node);
      const planner = { node, workers };
      const graph = await compileGraph(own, within, { planner, isInside: true });
      return [node.name, { definition: own, graph }] as const;
    }),
  );
  return new Map(made);
}

/** Every node may run so often, and be triggered once more for each branch that it waits for. */
function workflowLimit({ nodes, maxVisits }: WorkflowPlan, maxAttempts: number): number {
  return maxAttempts * (nodes.length * (maxVisits + 1) * 2 + 6) + 10;
}

async function thinkersOf(
  plan: WorkflowPlan,
  thinkers: Thinkers,
): Promise<ReadonlyMap<string, Thinker>> {
  const thinking = plan.nodes.filter(
    (node): node is LlmNode | RouterNode =>
      node.type === "llm" || (node.type === "router" && node.choices.length > 0),
  );
  const made = await Promise.all(
    thinking.map(async (node) => {
      const of = node.type === "llm" ? node : { model: node.model, tools: "none" as const };
      return [node.name, await thinkers.make({ answerSchema: null, ...of })] as const;
    }),
  );
  return new Map(made);
}

/**
 * Names of the tools of agents inside: of those that nodes run, as they were compiled, and of those that only came with
 * the definition, which handlers of tools may run. Undefined where not all are known.
 */
function toolNamesInside(
  { agents }: AgentDefinition,
  subagents: ReadonlyMap<string, Subagent>,
): readonly string[] | undefined {
  const names = new Set<string>();
  const graphs = new Set<AgentGraph>();
  const addGraph = (graph: AgentGraph) => {
    if (graphs.has(graph)) return;
    graphs.add(graph);
    const { parts, nodes = new Map<string, GraphNode>() } = readerOf(graph) ?? {};
    for (const name of parts?.tools.keys() ?? []) names.add(name);
    for (const { subgraphs = [], workers } of nodes.values()) {
      for (const inside of [...subgraphs, ...(workers?.values() ?? [])]) addGraph(inside);
    }
  };
  const compiled = new Set([...subagents.values()].map(({ definition }) => definition));
  for (const { graph } of subagents.values()) addGraph(graph);
  const others = [...agents].filter(([, agent]) => !compiled.has(agent));
  const inside = toolsInside({}, { agents: new Map(others), workers: [] });
  return inside && [...names, ...inside];
}

interface Thinkers {
  readonly tools: ReadonlyMap<string, AgentTool>;
  /** Left out, everything is the agent's own. */
  make(of: {
    readonly model?: string | null;
    readonly tools?: readonly string[] | "all" | "none";
    /** What an answer is to look like; null for free text. */
    readonly answerSchema?: JsonSchema | null;
  }): Promise<Thinker>;
}

/** @throws what finding its tools and models throws */
async function createThinkers(
  definition: AgentDefinition,
  of: { readonly services: CompileServices; readonly inside: readonly string[] | undefined },
): Promise<Thinkers> {
  const { spec } = definition;
  const { services } = of;
  const tools = await agentTools(definition, services, of.inside);
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
      const thinkerOf = (own: readonly AgentTool[]): Thinker => {
        const modelTools = own.flatMap((tool) => known.get(tool) ?? []);
        return {
          modelTools,
          candidates: own,
          model: (context) => modelForRun(context, defaultModel, config, services),
          opening: openings(spec, { answerSchema, modelTools }),
          within: (mayCall) => thinkerOf(own.filter(mayCall)),
        };
      };
      return thinkerOf(
        candidates.filter(
          ({ definition: { name } }) =>
            offered === "all" || (offered !== "none" && offered.includes(name)),
        ),
      );
    },
  };
}

/** What a definition lets be called, by its agent and inside of it. */
function toolBounds(spec: AgentDefinition["spec"]): ToolBounds {
  const { tool_rails: rails } = spec.guardrail_config;
  return {
    agent: spec.name,
    allowed: rails.allowed_tools,
    approval: rails.require_approval,
    grants: spec.permissions,
    argumentRules: compileArgumentRules(spec),
    maxCalls: rails.max_calls_per_turn,
  };
}

function approvalRule(
  { spec }: AgentDefinition,
  tools: ReadonlyMap<string, AgentTool>,
): (tool: string) => boolean {
  const { require_approval: required } = spec.guardrail_config.tool_rails;
  return (name) => {
    const tool = tools.get(name);
    if (tool === undefined) return false;
    return required === "all" || required.includes(name) || tool.definition.requires_approval;
  };
}

function modelForRun(
  context: RunContext | undefined,
  defaultModel: AgentModel,
  config: LlmConfig,
  services: CompileServices,
): AgentModel | Promise<AgentModel> {
  if (context?.model === undefined && context?.temperature === undefined) return defaultModel;
  return services.models.resolve(forRun(config, context));
}

function withModel(config: LlmConfig, model: string | null): LlmConfig {
  return model === null ? config : { ...config, default_model: model };
}

/** The definition's `llm_config` with what one run asks for instead. */
export function llmConfigFor({ spec }: AgentDefinition, context: RunContext): LlmConfig {
  return forRun(spec.llm_config, context);
}

function forRun(config: LlmConfig, context: RunContext): LlmConfig {
  return {
    ...withModel(config, context.model ?? null),
    ...(context.temperature !== undefined && { temperature: context.temperature }),
  };
}
