import { answersInText } from "../context/answer-form.ts";
import type { AgentSpec } from "../definition/schema/agent.ts";
import type { JsonSchema } from "../definition/schema/json-schema.ts";
import {
  durationSeconds,
  type NodeOfType,
  type WorkflowGraph,
  type WorkflowNode,
} from "../definition/schema/workflow.ts";
import { analyzeFlow, type WorkflowFlow } from "../definition/workflow/flow.ts";
import { endOfWorkflow } from "../state/branch.ts";
import type { ExecutionMode } from "../state/step-record.ts";
import { deepFreeze } from "../values/json.ts";

/** A workflow ready to compile: frozen plain data with all defaults filled in. */
export interface WorkflowPlan {
  readonly entry: string;
  /** In the order of the definition. */
  readonly nodes: readonly PlanNode[];
  /** The nodes that the end of the workflow waits for. */
  readonly endWaitsFor: readonly string[];
  /** The turn's output with templates; null if it is the last node's output. */
  readonly output: unknown;
  /** How often one node may run in an attempt. */
  readonly maxVisits: number;
}

export type PlanNode =
  | LlmNode
  | ToolNode
  | RouterNode
  | HumanNode
  | WaitNode
  | AgentNode
  | PlannerNode;

interface PlanNodeBase {
  readonly name: string;
  readonly description: string;
  /** In the order in which they are tried. */
  readonly edges: readonly PlanEdge[];
  /** The nodes from which another branch can still arrive; the node runs when no branch is at any of them. */
  readonly waitsFor: readonly string[];
  /** Whether it is on a cycle, so that its visits are counted. */
  readonly isCyclic: boolean;
  /** The tier key that also receives its output. */
  readonly writes: { readonly tier: "execution" | "attempt"; readonly key: string } | null;
}

/** `to` has several nodes for a fan-out, and `END` for the end. */
interface PlanEdge {
  readonly to: readonly string[];
  /** CEL; null for the default. */
  readonly condition: string | null;
}

export interface LlmNode extends PlanNodeBase {
  readonly type: "llm";
  /** Template; null if the conversation states the task. */
  readonly prompt: string | null;
  /** `provider:model`; null for the agent's own. */
  readonly model: string | null;
  readonly tools: readonly string[] | "all" | "none";
  /** Checked against the node's answer. */
  readonly outputSchema: JsonSchema | null;
  /** The form of its answer: its own schema, or the agent's if its answer is the turn's output. */
  readonly answerSchema: JsonSchema | null;
  readonly mode: ExecutionMode;
}

export interface ToolNode extends PlanNodeBase {
  readonly type: "tool";
  /** Null if it runs the calls of the last llm node. */
  readonly tool: string | null;
  /** With templates. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly concurrency: number;
}

export interface RouterNode extends PlanNodeBase {
  readonly type: "router";
  readonly rules: readonly { readonly when: string; readonly choice: string }[];
  /** The choices of a model; empty for a router by rule. */
  readonly choices: readonly { readonly name: string; readonly description: string }[];
  readonly default: string | null;
  /** Template; null if the decision is about the conversation. */
  readonly prompt: string | null;
  readonly model: string | null;
}

export interface HumanNode extends PlanNodeBase {
  readonly type: "human";
  readonly kind: "approval" | "input" | "edit";
  /** Template. */
  readonly prompt: string;
  /** With templates; null for the branch's last text, or for none in an input request. */
  readonly proposed: unknown;
  readonly schema: JsonSchema | null;
  readonly timeoutSeconds: number | null;
  readonly onTimeout: "approve" | "reject" | "fail";
}

export interface WaitNode extends PlanNodeBase {
  readonly type: "wait";
  /** Template of an ISO 8601 time; null for a duration or an event. */
  readonly until: string | null;
  /** How long it waits, or how long the event may take; null for no limit. */
  readonly seconds: number | null;
  readonly event: string | null;
  /** Of the event's payload; null for any. */
  readonly schema: JsonSchema | null;
  /** With templates; undefined if there is none. */
  readonly fallback: unknown;
}

export interface AgentNode extends PlanNodeBase {
  readonly type: "agent";
  /** Name or path, as written. */
  readonly agent: string;
  /** With templates; null for the turn's own input. */
  readonly input: Readonly<Record<string, unknown>> | null;
  readonly conversation: "own" | "shared";
}

export interface PlannerNode extends PlanNodeBase {
  readonly type: "planner";
  /** Template; null for the turn's own input. */
  readonly task: string | null;
  /** With templates; null if a model makes it. */
  readonly plan: unknown;
  /** Template; null if the plan states them. */
  readonly criteria: string | null;
  /** Agents and code workers, as written; null for all that came with the definition. */
  readonly workers: readonly string[] | null;
  /** Maximum over all plans of a task. */
  readonly maxSubtasks: number;
  /** Maximum number of concurrent subtasks. */
  readonly maxParallel: number;
  /** Maximum number of plans for gaps, after the first plan. */
  readonly maxDepth: number;
  /** Timeout of one attempt of a subtask. */
  readonly timeoutSeconds: number;
  /** Attempts of a subtask after the first. */
  readonly retries: number;
  /** Maximum size of one result as JSON. */
  readonly maxResultBytes: number;
  readonly onFailure: "replan" | "partial" | "fail";
  /** Whether a person must approve every plan before it runs. */
  readonly needsApproval: boolean;
  /** `provider:model`; null for the agent's own. */
  readonly model: string | null;
  /** The agent's schema if this node's result is the turn's output; null for free text. */
  readonly answerSchema: JsonSchema | null;
}

/** Default number of concurrent calls in a tool node. */
const defaultConcurrency = 16;

/**
 * Turns a checked definition's workflow into frozen plan nodes: their work, their edges and the nodes they wait for.
 */
export function planWorkflow(spec: Omit<AgentSpec, "tools">, graph: WorkflowGraph): WorkflowPlan {
  const flow = analyzeFlow(graph);
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
  readonly spec: Omit<AgentSpec, "tools">;
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
    case "wait": {
      const { until, for: given, event, schema, timeout, default: fallback } = node.config;
      const limit = given ?? timeout;
      return {
        ...base,
        type: "wait",
        until: until ?? null,
        seconds: limit === undefined ? null : durationSeconds(limit),
        event: event ?? null,
        schema: schema ?? null,
        fallback,
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
    answerSchema: schema ?? answerForTurn(spec, graph, flow.successors(node.name)),
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
    needsApproval: config.approve ?? false,
    model: config.model ?? null,
    answerSchema: answerForTurn(spec, graph, flow.successors(name)),
  };
}

/** Returns the agent's schema for a node whose answer becomes the turn's output. */
function answerForTurn(
  spec: Planning["spec"],
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
  return flow.successors(name).some((next) => runsCalls.has(next));
}

function tool({ config }: NodeOfType<"tool">): Pick<ToolNode, "tool" | "args" | "concurrency"> {
  const { tool: name, args, concurrency } = config;
  return { tool: name ?? null, args: args ?? {}, concurrency: concurrency ?? defaultConcurrency };
}
