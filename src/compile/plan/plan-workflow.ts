import { answersInText } from "../../context/answer-form.ts";
import type { JsonSchema } from "../../definition/json-schema.ts";
import type { AgentSpec } from "../../definition/schema.ts";
import { workflowFlow, type WorkflowFlow } from "../../definition/workflow-flow.ts";
import type { NodeOfType, WorkflowGraph, WorkflowNode } from "../../definition/workflow-schema.ts";
import { endOfWorkflow } from "../../state/branch.ts";
import { deepFreeze } from "../../state/freeze.ts";
import type { PlanEdge, PlanNode, ToolNode, WorkflowPlan } from "./plan-node.ts";

/** Calls at once in a tool node that says nothing of it. */
const defaultConcurrency = 16;

/** Turns a checked definition's workflow into frozen plan nodes: what they do, where they lead, what they wait for. */
export function planWorkflow(spec: AgentSpec, graph: WorkflowGraph): WorkflowPlan {
  const flow = workflowFlow(graph);
  const edges = edgesByNode(graph);
  const planning: Planning = { spec, graph, flow };
  return deepFreeze({
    entry: graph.entry_point,
    nodes: graph.nodes.map((node) => planNode(node, edges.get(node.name) ?? [], planning)),
    endWaitsFor: [...flow.waitsFor(endOfWorkflow)],
    output: graph.output ?? null,
    maxVisits: spec.execution_config.max_iterations,
  });
}

interface Planning {
  readonly spec: AgentSpec;
  readonly graph: WorkflowGraph;
  readonly flow: WorkflowFlow;
}

function edgesByNode(graph: WorkflowGraph): ReadonlyMap<string, readonly PlanEdge[]> {
  const edges = new Map<string, PlanEdge[]>();
  for (const { from, to, condition = null } of graph.edges) {
    const list = edges.get(from) ?? [];
    edges.set(from, list);
    list.push({ to: typeof to === "string" ? [to] : to, condition });
  }
  return edges;
}

function planNode(
  node: WorkflowNode,
  edges: readonly PlanEdge[],
  { spec, graph, flow }: Planning,
): PlanNode {
  const base = {
    name: node.name,
    description: node.description ?? "",
    edges,
    waitsFor: [...flow.waitsFor(node.name)],
    isCyclic: flow.isCyclic(node.name),
    writes: "writes" in node.config ? target(node.config.writes) : null,
  };
  switch (node.type) {
    case "llm":
      return { ...base, type: "llm", ...llm(node, { spec, graph, flow }) };
    case "tool":
      return { ...base, type: "tool", ...tool(node) };
    case "router": {
      const { rules = [], choices = [], default: fallback, prompt, model } = node.config;
      return {
        ...base,
        type: "router",
        rules,
        choices,
        default: fallback ?? null,
        prompt: prompt ?? null,
        model: model ?? null,
      };
    }
    case "human": {
      const { kind, prompt, proposed, schema, timeout_seconds, on_timeout } = node.config;
      return {
        ...base,
        type: "human",
        kind,
        prompt: prompt ?? node.description ?? `${node.name}?`,
        proposed: proposed ?? null,
        schema: schema ?? null,
        timeoutSeconds: timeout_seconds ?? null,
        onTimeout: on_timeout ?? "fail",
      };
    }
    case "agent": {
      const { agent, input, conversation } = node.config;
      return { ...base, type: "agent", agent, input: input ?? null, conversation };
    }
    case "planner":
      return { ...base, type: "planner", ...planner(node, { spec, graph, flow }) };
  }
}

function target(writes: string | undefined): PlanNode["writes"] {
  if (writes === undefined) return null;
  const [tier, key = ""] = writes.split(".");
  return { tier: tier === "execution" ? "execution" : "attempt", key };
}

function llm(node: NodeOfType<"llm">, planning: Planning) {
  const { spec, graph, flow } = planning;
  const { prompt, model, tools, output_schema: schema, mode } = node.config;
  return {
    prompt: prompt ?? null,
    model: model ?? null,
    tools: tools ?? (leadsToCalls(node.name, planning) ? ("all" as const) : ("none" as const)),
    outputSchema: schema ?? null,
    answerSchema: schema ?? answerForTurn(spec, graph, flow.targets(node.name)),
    mode: mode ?? spec.execution_config.mode,
  };
}

function planner({ name, config }: NodeOfType<"planner">, { spec, graph, flow }: Planning) {
  return {
    task: config.task ?? null,
    plan: config.plan ?? null,
    criteria: config.success_criteria ?? null,
    workers: config.workers ?? null,
    maxSubtasks: config.max_subtasks,
    maxParallel: config.max_parallel,
    maxDepth: config.max_depth,
    timeoutSeconds: config.timeout_seconds,
    retries: config.retries,
    maxResultBytes: config.max_result_bytes,
    onFailure: config.on_failure,
    model: config.model ?? null,
    answerSchema: answerForTurn(spec, graph, flow.targets(name)),
  };
}

/** The agent's schema for a node whose answer becomes the turn's output. */
function answerForTurn(
  spec: AgentSpec,
  graph: WorkflowGraph,
  targets: readonly string[],
): JsonSchema | null {
  const isOutput = graph.output === undefined && targets.includes(endOfWorkflow);
  return isOutput && !answersInText(spec.output_schema) ? spec.output_schema : null;
}

function leadsToCalls(name: string, { graph, flow }: Planning): boolean {
  const runsCalls = new Set(
    graph.nodes.flatMap((node) =>
      node.type === "tool" && node.config.tool === undefined ? node.name : [],
    ),
  );
  return flow.targets(name).some((next) => runsCalls.has(next));
}

function tool({ config }: NodeOfType<"tool">): Pick<ToolNode, "tool" | "args" | "concurrency"> {
  const { tool: name, args, concurrency } = config;
  return { tool: name ?? null, args: args ?? {}, concurrency: concurrency ?? defaultConcurrency };
}
