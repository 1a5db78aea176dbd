import { z } from "zod";
import { contextConfigSchema } from "./context-schema.ts";
import { guardrailConfigSchema } from "./guardrail-schema.ts";
import { memoryConfigSchema } from "./memory-schema.ts";
import { modelRef } from "./model-ref-schema.ts";
import { isPermission } from "./permission.ts";
import { communitySchema, serverSchema } from "./server-schema.ts";
import { stateConfigSchema } from "./state-schema.ts";
import { toolSelectionSchema } from "./tool-selection-schema.ts";
import { workflowGraphSchema } from "./workflow-schema.ts";

/** What a conversation needs: `{ message: string }`, and nothing else. */
const messageSchema = {
  type: "object",
  properties: { message: { type: "string" } },
  required: ["message"],
  additionalProperties: false,
} as const;

const jsonSchema = z
  .record(z.string(), z.unknown())
  .describe("A JSON Schema of type object.")
  .default(() => ({ ...messageSchema }));

const systemPromptParts = z.strictObject({
  role: z.string().default("").describe("Who the agent is."),
  instructions: z.string().default("").describe("What it does, and how."),
  examples: z
    .array(z.strictObject({ input: z.string(), output: z.string() }))
    .default([])
    .describe("Few-shot examples, shown as turns before the conversation."),
});

/** A bare text stands for its instructions. */
const systemPromptSchema = z.union([
  systemPromptParts,
  z.string().transform((instructions) => systemPromptParts.parse({ instructions })),
]);

export const llmConfigSchema = z.strictObject({
  default_model: modelRef.optional(),
  fallback_model: modelRef
    .describe("Takes over on outage, rate limit after retries, or context overflow.")
    .optional(),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: z.int().min(1).describe("Output tokens.").optional(),
  seed: z.int().optional(),
  top_p: z.number().min(0).max(1).optional(),
  num_ctx: z.int().min(1).describe("Context window in tokens (Ollama).").optional(),
  num_predict: z.int().min(-2).describe("Output tokens; -1 for no limit (Ollama).").optional(),
  repeat_last_n: z.int().min(-1).optional(),
  repeat_penalty: z.number().min(0).optional(),
  base_url: z
    .url({ protocol: /^https?$/, error: "expected an http or https URL" })
    .describe("Base URL of an OpenAI-compatible server, for openai: models.")
    .optional(),
});

const executionConfigSchema = z.strictObject({
  mode: z.enum(["fast", "deep"]).default("fast"),
  execution_scope: z.enum(["turn", "thread"]).default("turn").describe("How long tier 1 lives."),
  max_attempts: z.int().min(1).max(100).default(3).describe("Attempts of one turn."),
  max_iterations: z
    .int()
    .min(1)
    .default(10)
    .describe("Reasoning steps in one attempt; in a workflow, how often each node may run in one."),
  max_turns: z.int().min(1).default(25).describe("User turns of one thread."),
  timeout_seconds: z
    .number()
    .positive()
    .max(86_400)
    .default(60)
    .describe("Active seconds of one turn."),
  checkpoint_frequency: z
    .enum(["every_turn", "on_change", "manual"])
    .default("on_change")
    .describe(
      "When a turn is kept: at its end and when it waits; after every step; or as each run says.",
    ),
});

const toolEntry = z.union([
  z.string().min(1),
  z.strictObject({ mcp: serverSchema }),
  z.strictObject({ community: communitySchema }),
]);

/** The whole of an agent definition. Strict: an unknown key is refused everywhere. */
export const agentSpecSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]*$/, "expected lower-case letters, digits, _ and -")
    .max(128),
  version: z.string().default("1.0.0").describe("Semantic version."),
  description: z.string().default(""),
  system_prompt: systemPromptSchema.prefault({}),
  input_schema: jsonSchema,
  output_schema: jsonSchema,
  tools: z
    .array(toolEntry)
    .default([])
    .describe("Names from the tool registry, MCP servers, or tools of @langchain/community."),
  permissions: z
    .array(
      z
        .string()
        .refine(
          (text) => isPermission(text, { wildcards: true }),
          "expected a permission such as file:read, or a pattern such as network:*",
        ),
    )
    .default([])
    .describe("What the agent is granted; tools that require more are not called."),
  tool_selection: toolSelectionSchema.prefault({}),
  workflow_graph: workflowGraphSchema.optional(),
  state_config: stateConfigSchema.prefault({}),
  memory_config: memoryConfigSchema.prefault({}),
  context_config: contextConfigSchema.prefault({}),
  guardrail_config: guardrailConfigSchema.prefault({}),
  llm_config: llmConfigSchema.prefault({}),
  execution_config: executionConfigSchema.prefault({}),
  is_active: z.boolean().default(true),
});

/** A definition with its defaults filled in: plain JSON. */
export type AgentSpec = z.output<typeof agentSpecSchema>;
/** A definition as it is written. */
export type AgentSpecInput = z.input<typeof agentSpecSchema>;
export type LlmConfig = z.output<typeof llmConfigSchema>;
