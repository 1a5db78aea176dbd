import type { AgentState, Awaitable } from "../state/agent-state.ts";
import type { JsonSchema, SchemaCheck } from "./json-schema.ts";

/** Which tier a tool's handler writes; `none` for tools without state. */
export type ToolPersistence = "none" | "attempt" | "execution";

/** A tool as data: MCP-compatible, what a model is told and what the caller enforces. */
export interface ToolDefinition {
  /** `[A-Za-z0-9_-]{1,64}`, unique in an agent. */
  readonly name: string;
  readonly display_name?: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
  readonly output_schema?: JsonSchema;
  readonly execution: ToolExecution;
  readonly persistence: ToolPersistence;
  /** Whether a person has to approve every call. */
  readonly requires_approval: boolean;
  readonly version: string;
  readonly is_builtin: boolean;
}

export interface ToolExecution {
  /** Milliseconds one call may take before it is aborted with outcome `timeout`. Default 30,000. */
  readonly timeout_ms: number;
  /** UTF-8 bytes of the result's JSON; what is over is cut and marked. Default 262,144. */
  readonly max_result_bytes: number;
  /** Whether a call that is made twice does no more than one that is made once. Default false. */
  readonly idempotent: boolean;
}

/** What a handler is given beside its input. */
export interface ToolContext {
  /** Aborts on the tool's timeout, the turn's timeout and cancellation. */
  readonly signal: AbortSignal;
  /** The id of this call, unique in the turn. */
  readonly callId: string;
  /** The current time, from the runtime's clock. */
  readonly now: () => Date;
}

/** A tool with its code. `input` and `output` are checks of the definition's schemas. */
export type AgentTool = StatelessTool | StatefulTool;

interface ToolBase {
  readonly definition: ToolDefinition;
  readonly input: SchemaCheck;
  readonly output?: SchemaCheck;
}

export interface StatelessTool extends ToolBase {
  readonly kind: "stateless";
  run(input: unknown, context: ToolContext): Awaitable<unknown>;
}

export interface StatefulTool extends ToolBase {
  readonly kind: "stateful";
  reduce(
    state: AgentState<unknown, unknown>,
    input: unknown,
    context: ToolContext,
  ): Awaitable<{ newState: AgentState<unknown, unknown>; toolResult: unknown }>;
}
