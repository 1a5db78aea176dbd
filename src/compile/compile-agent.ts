import type { BlobStore, DurableSaver } from "../durable-saver.ts";
import {
  createBoundModels,
  type ModelServices,
  createNodeModels,
  extractorOf,
  withModel,
} from "./bound-models.ts";
import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph";
import type { Clock, IdSource } from "../clock.ts";
import { inputText } from "../context/answer-form.ts";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import {
  agentReferences,
  subagentKey,
  findNestedToolNames,
  collectAgents,
} from "../definition/check/agents.ts";
import { stampDefinition, type DefinitionStamp } from "../definition/definition-hash.ts";
import type { Rail } from "../definition/rail.ts";
import type { AgentTool } from "../definition/tool/tool.ts";
import { createMemoryBlobs } from "./attachments/memory-blobs.ts";
import type { Memory } from "../memory/memory.ts";
import { createRails } from "../guardrails/create-rails.ts";
import type { Embeddings } from "../models/embeddings/embeddings.ts";
import { withAttachments } from "../models/calls/with-attachments.ts";
import type { HttpAllow } from "../tools/builtins/http/allow-list.ts";
import type { ToolJournal } from "../tools/journal.ts";
import type { Sandbox } from "../tools/sandbox/sandbox.ts";
import {
  type AgentGraph,
  definitionHashKey,
  durabilityOf,
  stampGraph,
  stampOf,
  withOwnSchemas,
} from "./agent-graph.ts";
import { compileArgumentRules, initialAttempt, initialExecution } from "./agent-setup.ts";
import type { AgentRegistry } from "./agent-registry.ts";
import { guardAnswers } from "./guards/answers.ts";
import { createContextInspector, attachInspector, inspectorOf } from "./context-inspector.ts";
import { drawnFromNodes } from "./draw-graph.ts";
import { InactiveAgentError } from "./errors.ts";
import { buildGraph, type GraphNode } from "./graph-builder.ts";
import type { AgentMemory, AttemptShape, LoopConfig, ToolBounds } from "./loop/loop-config.ts";
import { resultSummariserOf } from "./loop/context.ts";
import type { Subagent } from "./nodes/run-subagent.ts";
import type { PlannerNode, WorkflowPlan } from "./workflow-plan.ts";
import { taskIn, type Worker } from "./planner/planner-config.ts";
import { standardAttempts, standardLoop, superstepLimit } from "./standard-loop.ts";
import type { ThreadKeeper } from "./run/acquire-thread.ts";
import type { TurnLog } from "./run/log-turn.ts";
import { guardOwner, guardThread } from "./guards/threads.ts";
import { gateStreams } from "./run/gated-streams.ts";
import { guardInputs } from "./guards/inputs.ts";
import { countTurnCalls } from "./run/turn-calls.ts";
import { guardUpdates } from "./guards/edited-turn.ts";
import { isWithholding, redacts, withholdFromCallbacks } from "./run/withheld-callbacks.ts";

/** The external dependencies of compiling. */
export interface CompileServices extends ModelServices, TurnLog, Pick<ThreadKeeper, "lockThread"> {
  /** Agents that a definition's agent nodes may name beyond its own `agents`. */
  readonly agents?: AgentRegistry;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** If left out, the graph has no checkpointer, and an Agent Server adds its own. */
  readonly checkpointer?: (BaseCheckpointSaver & Partial<DurableSaver>) | undefined;
  /** The sandbox for sandboxed tools; if left out, they cannot be called. */
  readonly sandbox?: Sandbox | undefined;
  /** Embeddings for tool selection and for rails. */
  readonly embeddings: Embeddings;
  /** Custom rails that definitions may name. */
  readonly rails?: readonly Rail[] | undefined;
  /** The journal of tool calls, which prevents that completed ones are repeated. If left out, none are recorded. */
  readonly journal?: ToolJournal | undefined;
  /** The attachments of threads; if left out, they are in the memory of the compiled graph. */
  readonly blobs?: BlobStore | undefined;
  /**
   * Returns the memories of agents, by the `embedding_model` of a definition; undefined is the default. If left out,
   * agents with long-term or procedural memory cannot be compiled.
   */
  readonly memory?: ((embeddingModel: string | undefined) => Promise<Memory>) | undefined;
  /** The LangGraph store of tools and of graphs in them, unless the caller gives another. If left out, there is none. */
  readonly store?: BaseStore | undefined;
  /** Hosts in private networks whose files may be attached by URL. Default: none. */
  readonly httpAllow?: readonly HttpAllow[] | undefined;
}

/**
 * Compiles a checked definition into a LangGraph graph. Tools and models are resolved now, so that missing ones are
 * reported before anything runs.
 *
 * @throws InactiveAgentError, ToolClashError, UnknownToolError, UnknownModelError, MissingProviderError,
 * MissingApiKeyError, ModelOptionError, NoMemoryError; for agent nodes UnknownAgentError, InactiveSubagentError, AgentRecursionError,
 * AgentDepthError, InvalidDefinitionError
 */
export async function compileAgentWith(
  definition: AgentDefinition,
  given: CompileServices,
): Promise<AgentGraph> {
  const { spec } = definition;
  const { blobs = createMemoryBlobs() } = given;
  const services = { ...given, blobs, models: withAttachments(given.models, blobs) };
  if (!spec.is_active) throw new InactiveAgentError(spec.name);
  if (spec.workflow_graph === undefined) return compileGraph(definition, services, {});
  const { compileSubagents } = await import("./subagents.ts");
  // Nested graphs are stored in the outer graph's thread.
  const within = { ...services, checkpointer: undefined };
  const asksPeople = [...collectAgents(definition)].some(asksForApproval);
  const subagents = await compileSubagents(definition, services.agents ?? new Map(), (agent, own) =>
    compileGraph(agent, within, { subagents: own, isInside: true, asksPeople }),
  );
  return compileGraph(definition, services, { subagents });
}

/** The role of a graph that is compiled. */
interface GraphOf {
  /** The agents of agent and planner nodes, by `subagentKey`. Default none. */
  readonly subagents?: ReadonlyMap<string, Subagent>;
  /** Set for the definition of a planner node. */
  readonly planner?: PlannerOf;
  /** Whether it only runs as a node of other graphs. Default false. */
  readonly isInside?: boolean;
  /** Whether outer agents may require approval for its calls, so that its drawing includes `human`. Default false. */
  readonly asksPeople?: boolean;
}

function asksForApproval({ spec: { guardrail_config } }: AgentDefinition): boolean {
  const { require_approval: required } = guardrail_config.tool_rails;
  return required === "all" || required.length > 0;
}

async function compileGraph(
  definition: AgentDefinition,
  services: CompileServices & { readonly blobs: BlobStore },
  { subagents = new Map(), planner, isInside = false, asksPeople = false }: GraphOf,
): Promise<AgentGraph> {
  const { spec } = definition;
  const inside = { subagents, planner: planner ?? null, asksPeople };
  const { loop, nodes, recursionLimit } = await resolve(definition, services, inside);
  const graph = withOwnSchemas(
    buildGraph(loop, nodes, { isInside }).compile({
      name: spec.name,
      ...(spec.description !== "" && { description: spec.description }),
      ...(services.checkpointer && { checkpointer: services.checkpointer }),
    }),
  );
  const stamp = stampOfAgent(definition, loop, subagents);
  services.checkpointer?.rememberDefinition?.(stamp.hash, stamp.document);
  graph.config = {
    ...graph.config,
    recursionLimit,
    configurable: {
      ...graph.config?.configurable,
      // LangGraph reads it here if a caller sets none.
      __pregel_durability: durabilityOf(spec),
      [definitionHashKey]: stamp.hash,
      // An answer that another process gave first is refused instead of answering the next request.
      __pregel_strict_resume: true,
    },
  };
  const agentsInside = [...subagents.values()];
  if (redacts(definition) || agentsInside.some((agent) => isWithholding(agent.graph))) {
    withholdFromCallbacks(graph);
  }
  const held = gateStreams(countTurnCalls(graph), { hasRails: loop.rails.output.length > 0 });
  const guarded = guardUpdates(
    guardInputs(guardAnswers(held), { definition, blobs: services.blobs }),
    { loop, nodes },
  );
  const owned = guardOwner(guarded, spec.name);
  const kept = isInside ? owned : guardThread(owned, services);
  const agentGraph = drawnFromNodes(kept, nodes) as unknown as AgentGraph;
  stampGraph(agentGraph, stamp);
  attachInspector(agentGraph, createContextInspector({ loop, nodes, recursionLimit }));
  return agentGraph;
}

function stampOfAgent(
  definition: AgentDefinition,
  { tools }: Pick<LoopConfig, "tools">,
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

/** The planner node that a graph is made for. */
interface PlannerOf {
  readonly node: PlannerNode;
  readonly workers: readonly Worker[];
  /** The memory of its agent: the planner finds what is remembered about its own task. */
  readonly memory: AgentMemory | null;
}

/**
 * Opens the memory of an agent, and returns the tools for it.
 *
 * @throws NoMemoryError, and the errors of opening it
 */
async function openMemory(
  definition: AgentDefinition,
  services: CompileServices,
): Promise<{ readonly memory: AgentMemory | null; readonly memoryTools: readonly AgentTool[] }> {
  const { long_term, procedural } = definition.spec.memory_config;
  if (!long_term.enabled && !procedural.enabled) return { memory: null, memoryTools: [] };
  const { openAgentMemory } = await import("./memory/agent-memory.ts");
  const { memoryToolsOf } = await import("./memory/memory-tools.ts");
  return {
    memory: await openAgentMemory(definition.spec, services),
    memoryTools: memoryToolsOf(definition, services.tools),
  };
}

interface Resolved {
  readonly loop: LoopConfig;
  readonly nodes: readonly GraphNode[];
  readonly recursionLimit: number;
}

async function resolve(
  definition: AgentDefinition,
  services: CompileServices & { readonly blobs: BlobStore },
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
  const { memory, memoryTools } =
    planner === null
      ? await openMemory(definition, services)
      : { memory: planner.memory, memoryTools: [] };
  const boundModels = await createBoundModels(definition, {
    services,
    inside: toolNames,
    implied: memoryTools,
  });
  const boundModel = await boundModels.make({});
  const summariser = await resultSummariserOf(spec, (model) => {
    return boundModels.make({ model, tools: "none", answerSchema: null });
  });
  const extractor = await extractorOf(spec, services);
  const { clock, ids, calls, journal, secrets, sandbox, embeddings } = services;
  const own = await createRails(spec, [...definition.rails, ...(services.rails ?? [])]);
  // The outer agent checks the input of a planner node, and applies its rails and bounds inside of it.
  const rails = planner === null ? own : { ...own, input: [], answer: [], tool_result: [] };
  const bounds = planner === null ? [toolBounds(spec)] : [];
  const loopWith = (attempts: AttemptShape): LoopConfig => ({
    definition,
    clock,
    ids,
    calls,
    tools: boundModels.tools,
    journal,
    secrets,
    sandbox,
    store: services.store,
    embeddings,
    rails,
    bounds,
    memory,
    extractor,
    railModel: (ref) => services.models.resolve(withModel(spec.llm_config, ref)),
    needsApproval: approvalRule(definition, boundModels.tools),
    boundModel,
    summariser,
    requestOf: (input) => (planner === null ? inputText(input) : taskIn(input)),
    initialExecution: (input, desk) => initialExecution(definition, input, desk),
    initialAttempt: (of) => initialAttempt(definition, of),
    attempts,
  });
  if (planner !== null) {
    const plannerLoop = await import("./planner/planner-loop.ts");
    const loop = loopWith(plannerLoop.plannerAttempts(planner.node));
    const asking = await boundModels.make({ tools: "none", answerSchema: null });
    return {
      loop,
      nodes: plannerLoop.plannerLoop(
        plannerLoop.plannerConfig(planner.node, planner.workers, asking),
      ),
      recursionLimit: plannerLoop.plannerLimit(planner.node, limits),
    };
  }
  if (written === undefined) {
    const loop = loopWith(standardAttempts);
    return {
      loop,
      nodes: standardLoop(loop, { asksPeople }),
      recursionLimit: superstepLimit(limits),
    };
  }
  const { compileWorkflow } = await import("./workflow.ts");
  const workflow = compileWorkflow(spec, written, services);
  const nodes = workflow.nodes({
    boundModel,
    boundModels: await createNodeModels(workflow.plan, boundModels),
    agents: new Map([
      ...subagents,
      ...(await compilePlanners(workflow.plan, definition, { services, subagents, memory })),
    ]),
  });
  return {
    loop: loopWith(workflow.attempts),
    nodes,
    recursionLimit: workflowLimit(workflow.plan, limits.max_attempts),
  };
}

/** Compiles the graphs of planner nodes, by node. Like nested agents they are stored in the outer graph's thread. */
async function compilePlanners(
  { nodes }: WorkflowPlan,
  definition: AgentDefinition,
  of: {
    readonly services: CompileServices & { readonly blobs: BlobStore };
    readonly subagents: ReadonlyMap<string, Subagent>;
    readonly memory: AgentMemory | null;
  },
): Promise<ReadonlyMap<string, Subagent>> {
  const planners = nodes.filter((node): node is PlannerNode => node.type === "planner");
  if (planners.length === 0) return new Map();
  const { plannerDefinition, workersOf } = await import("./planner/definition.ts");
  const { services, subagents, memory } = of;
  const within = { ...services, checkpointer: undefined };
  const made = await Promise.all(
    planners.map(async (node) => {
      const workers = workersOf(node, definition, { subagents, tools: services.tools });
      const own = plannerDefinition(definition, node);
      const planner = { node, workers, memory };
      const graph = await compileGraph(own, within, { planner, isInside: true });
      return [node.name, { definition: own, graph }] as const;
    }),
  );
  return new Map(made);
}

/** Returns the recursion limit: a node runs up to its limit, and is triggered once more for each branch it awaits. */
function workflowLimit({ nodes, maxVisits }: WorkflowPlan, maxAttempts: number): number {
  return maxAttempts * (nodes.length * (maxVisits + 1) * 2 + 6) + 10;
}

/**
 * Returns the tool names of nested agents: of those that nodes run, as compiled, and of those that only came with the
 * definition, which tool handlers may run. Undefined if not all are known.
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
    const { loop, nodes = new Map<string, GraphNode>() } = inspectorOf(graph) ?? {};
    for (const name of loop?.tools.keys() ?? []) names.add(name);
    for (const { subgraphs = [], workers } of nodes.values()) {
      for (const inside of [...subgraphs, ...(workers?.values() ?? [])]) addGraph(inside);
    }
  };
  const compiled = new Set([...subagents.values()].map(({ definition }) => definition));
  for (const { graph } of subagents.values()) addGraph(graph);
  const others = [...agents].filter(([, agent]) => !compiled.has(agent));
  const inside = findNestedToolNames({}, { agents: new Map(others), workers: [] });
  return inside && [...names, ...inside];
}

/** Returns the bounds that a definition sets for its agent and all nested calls. */
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
