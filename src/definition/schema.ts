import { z } from "zod";

// Placeholder shape of the borders; the whole zod schema is written in this file.
export const agentSpecSchema = z.strictObject({ name: z.string() });

export interface LlmConfig {
  default_model?: string;
  fallback_model?: string;
  temperature?: number;
  max_tokens?: number;
  seed?: number;
  top_p?: number;
  num_ctx?: number;
  num_predict?: number;
  repeat_last_n?: number;
  repeat_penalty?: number;
  /** Base URL of an OpenAI-compatible server, for `openai:` models. */
  base_url?: string;
}

export interface AgentSpec {
  name: string;
  version: string;
  description: string;
  system_prompt: {
    role: string;
    instructions: string;
    examples: { input: string; output: string }[];
  };
  input_schema: Record<string, unknown>;
  output_schema: Record<string, unknown>;
  tools: (string | Record<string, unknown>)[];
  workflow_graph?: unknown;
  memory_config?: unknown;
  guardrail_config: {
    input_rails: unknown[];
    output_rails: unknown[];
    tool_rails: { max_calls_per_turn?: number; allowed_tools: string[] | "all" };
  };
  llm_config: LlmConfig;
  execution_config: {
    mode: "fast" | "deep";
    execution_scope: "turn" | "thread";
    max_attempts: number;
    max_iterations: number;
    max_turns: number;
    timeout_seconds: number;
    checkpoint_frequency: "every_turn" | "on_change" | "manual";
  };
  is_active: boolean;
}
