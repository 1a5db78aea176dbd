import type { JsonSchema } from "../../definition/json-schema.ts";
import type { ExecutionMode } from "../../state/step-record.ts";

/** A workflow as it will be compiled: frozen plain data, every default filled in. */
export interface WorkflowPlan {
  readonly entry: string;
  /** As written. */
  readonly nodes: readonly PlanNode[];
  /** The nodes that the end of the workflow waits for. */
  readonly endWaitsFor: readonly string[];
  /** The turn's output with templates; null where it is what the last node gave. */
  readonly output: unknown;
  /** Times that one node may run in an attempt. */
  readonly maxVisits: number;
}

export type PlanNode = LlmNode | ToolNode | RouterNode | HumanNode | AgentNode | PlannerNode;

interface PlanNodeBase {
  readonly name: string;
  readonly description: string;
  /** In the order in which they are tried. */
  readonly edges: readonly PlanEdge[];
  /** The nodes from which another branch can still come here; it runs when no branch is at any of them. */
  readonly waitsFor: readonly string[];
  /** Whether it can come round again, so that its visits are counted. */
  readonly isCyclic: boolean;
  /** Where its output goes beside `nodes`. */
  readonly writes: { readonly tier: "execution" | "attempt"; readonly key: string } | null;
}

/** `to` has several nodes where it fans out, and `END` for the end. */
export interface PlanEdge {
  readonly to: readonly string[];
  /** CEL; null for the default. */
  readonly condition: string | null;
}

export interface LlmNode extends PlanNodeBase {
  readonly type: "llm";
  /** Template; null where the conversation says what to do. */
  readonly prompt: string | null;
  /** `provider:model`; null for the agent's own. */
  readonly model: string | null;
  readonly tools: readonly string[] | "all" | "none";
  /** Checked when the node answers. */
  readonly outputSchema: JsonSchema | null;
  /** What its answer is to look like: its own schema, or the agent's where its answer is the turn's output. */
  readonly answerSchema: JsonSchema | null;
  readonly mode: ExecutionMode;
}

export interface ToolNode extends PlanNodeBase {
  readonly type: "tool";
  /** Null where it runs the calls that the last llm node asked for. */
  readonly tool: string | null;
  /** With templates. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly concurrency: number;
}

export interface RouterNode extends PlanNodeBase {
  readonly type: "router";
  readonly rules: readonly { readonly when: string; readonly choice: string }[];
  /** What a model chooses among; empty for a router by rule. */
  readonly choices: readonly { readonly name: string; readonly description: string }[];
  readonly default: string | null;
  /** Template; null where the conversation is what is decided on. */
  readonly prompt: string | null;
  readonly model: string | null;
}

export interface HumanNode extends PlanNodeBase {
  readonly type: "human";
  readonly kind: "approval" | "input" | "edit";
  /** Template. */
  readonly prompt: string;
  /** With templates; null for what was said last, or nothing where something is asked for. */
  readonly proposed: unknown;
  readonly schema: JsonSchema | null;
  readonly timeoutSeconds: number | null;
  readonly onTimeout: "approve" | "reject" | "fail";
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
  /** With templates; null where a model makes it. */
  readonly plan: unknown;
  /** Template; null where the plan says it. */
  readonly criteria: string | null;
  /** Agents and workers of code, as written; null for all that came with the definition. */
  readonly workers: readonly string[] | null;
  /** Of all plans for a task. */
  readonly maxSubtasks: number;
  /** Subtasks at once. */
  readonly maxParallel: number;
  /** Plans for gaps, after the first plan. */
  readonly maxDepth: number;
  /** Of one attempt of a subtask. */
  readonly timeoutSeconds: number;
  /** Attempts of a subtask after the first. */
  readonly retries: number;
  /** Of one result as JSON. */
  readonly maxResultBytes: number;
  readonly onFailure: "replan" | "partial" | "fail";
  /** `provider:model`; null for the agent's own. */
  readonly model: string | null;
  /** The agent's, where what this node gives is the turn's output; null for free text. */
  readonly answerSchema: JsonSchema | null;
}
