import { z } from "zod";
import { failureReasons } from "../../state/usage.ts";
import { isRecord } from "../../values/json.ts";
import { isPermission } from "../tool/tool.ts";
import { guardrailConfigSchema } from "./guardrails.ts";
import { type JsonSchema, stateConfigSchema } from "./json-schema.ts";
import { modelRef } from "./model-ref.ts";
import {
  type ClientToolSpec,
  dataToolSchema,
  httpToolSchema,
  isDataTool,
} from "./data-tools.ts";
import { communitySchema, serverSchema } from "./servers.ts";
import { workflowGraphSchema } from "./workflow.ts";
import { memoryConfigSchema } from "./memory.ts";

/** The schema of a chat message: exactly `{ message: string }`. */
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

/** A plain string is shorthand for the instructions. */
const systemPromptSchema = z.union([
  systemPromptParts,
  z.string().transform((instructions) => systemPromptParts.parse({ instructions })),
]);

const seconds = z.number().positive().max(86_400);

export const llmConfigSchema = z.strictObject({
  default_model: modelRef.optional(),
  fallback_model: z
    .union([modelRef, z.array(modelRef).min(1).max(8)])
    .describe("The model that takes over if the default one fails, or several, asked in order.")
    .optional(),
  fallback_on: z
    .array(z.enum(failureReasons))
    .describe("The failures after which a fallback is asked. Default: all but auth and bad_request.")
    .optional(),
  timeout: z
    .strictObject({
      first_token_seconds: seconds
        .describe("Seconds to the first token. Default: by the model, 60 for most.")
        .optional(),
      between_tokens_seconds: seconds
        .describe("Seconds between two tokens. Default: 30.")
        .optional(),
    })
    .describe("How long a model may be silent before the call fails, and a fallback is asked.")
    .optional(),
  continue_truncated: z
    .boolean()
    .describe("Whether an answer that is cut off at the output limit is continued once.")
    .optional(),
  structured_output: z
    .enum(["auto", "native", "prompt"])
    .describe(
      "How an answer of output_schema is requested: by the provider where the model can (auto), always by it, or in the prompt only.",
    )
    .optional(),
  reasoning_effort: z
    .enum(["none", "minimal", "low", "medium", "high", "xhigh"])
    .describe("How much a reasoning model thinks.")
    .optional(),
  verbosity: z.enum(["low", "medium", "high"]).describe("Length of replies (OpenAI).").optional(),
  parallel_tool_calls: z
    .boolean()
    .describe("Whether the model may make several tool calls in one reply.")
    .optional(),
  prompt_cache: z
    .boolean()
    .describe("Whether the stable beginning of requests is marked for the provider's cache. Default: true.")
    .optional(),
  provider_options: z
    .record(z.string(), z.json())
    .describe("Further options in the provider's own words, passed through to its API.")
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

/** A label of a worker, which agents may ask for. */
export const workerLabel = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]{0,62}$/,
    "expected 1 to 63 lower-case letters, digits, - and _, beginning with a letter",
  );

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
  worker_labels: z
    .array(workerLabel)
    .max(8)
    .describe("Labels that a worker must have, all of them, to take runs over HTTP. Default: none.")
    .optional(),
});

const serverEntries = [
  z.string().min(1),
  z.strictObject({ mcp: serverSchema }),
  z.strictObject({ community: communitySchema }),
] as const;

/** Tools that need no caller: names, MCP servers, packages and HTTP requests. */
export const unattendedToolsSchema = z.array(z.union([...serverEntries, httpToolSchema]));

const toolEntry = z.union([...serverEntries, dataToolSchema]);

const summarizeResultsSchema = z
  .strictObject({
    model: modelRef
      .describe("provider:model that summarises. Default: the agent's own.")
      .optional(),
    threshold_tokens: z
      .int()
      .min(200)
      .default(2000)
      .describe("Tokens from which on a successful result is summarised."),
    timeout_seconds: z
      .number()
      .positive()
      .max(300)
      .default(15)
      .describe(
        "Seconds that the summaries of one context may take; what is missing then is previewed.",
      ),
  })
  .describe(
    "Large results are told by what a model says of them that matters for the request. Off when left out.",
  );

/** The content and size of model contexts. */
const contextConfigSchema = z
  .strictObject({
    utilization: z
      .enum(["low", "medium", "full"])
      .default("medium")
      .describe(
        "How much of the model's window a context may fill: a third, two thirds, all of it.",
      ),
    budget: z
      .int()
      .min(256)
      .describe("Tokens of a context, its tools included, instead of a share of the window.")
      .optional(),
    whole_results: z
      .enum(["turn", "last_step", "none"])
      .default("turn")
      .describe(
        "Which tool results are whole while there is room: those of the turn under way, of its last step only, or none. Where the answer needs more, it is written again from whole results.",
      ),
    preview_chars: z
      .int()
      .min(100)
      .default(1000)
      .describe("Characters from which on a result is previewed where it need not be whole."),
    summarize_results: summarizeResultsSchema.optional(),
    execution_view: z
      .enum(["off", "keys", "preview"])
      .default("keys")
      .describe(
        "What an attempt reads of the execution state that failed attempts left: nothing, its keys with the sizes of their values, or previews of the values.",
      ),
  })
  .describe("What the model reads of the conversation and of the steps, and how much of it.");

const weight = z.number().min(0).max(1);

/** The selection among many tools for each model call. */
export const toolSelectionSchema = z
  .strictObject({
    above: z
      .int()
      .min(1)
      .default(40)
      .describe("With more tools than this, each step is offered those that suit it best."),
    top_k: z
      .int()
      .min(1)
      .max(128)
      .default(10)
      .describe("How many tools a step is offered at most."),
    min_score: z.number().min(0).max(1).default(0.05),
    weights: z
      .strictObject({
        semantic: weight.default(0.5),
        keyword: weight.default(0.2),
        success: weight.default(0.2),
        recency: weight.default(0.1),
      })
      .prefault({}),
  })
  .describe("Which of many tools a model is offered.");

/** The schema of an agent definition. Strict: unknown keys are rejected at every level. */
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
    .describe(
      "Names from the tool registry, MCP servers, tools of @langchain/community, HTTP requests, or tools that the caller runs.",
    ),
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

/** Returns the JSON Schema of a definition file, for editors. */
export function agentJsonSchema(): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Stratagraph agent definition",
    ...(z.toJSONSchema(agentSpecSchema, { io: "input" }) as JsonSchema),
  };
}

/** A definition with its defaults filled in: plain JSON. Client tools are named like those of the registry. */
export type AgentSpec = Omit<ParsedSpec, "tools"> & {
  tools: z.output<typeof unattendedToolsSchema>;
};

type ParsedSpec = z.output<typeof agentSpecSchema>;

/** Separates the client tools of a parsed definition, which become tools of its own. */
export function splitClientTools({ tools, ...spec }: ParsedSpec): {
  readonly spec: AgentSpec;
  readonly clientTools: readonly ClientToolSpec[];
} {
  const clientTools: ClientToolSpec[] = [];
  const named = tools.map((entry) => {
    if (!isDataTool(entry)) return entry;
    const { transport } = entry;
    if (transport.type === "http") return { ...entry, transport };
    clientTools.push({ ...entry, transport });
    return entry.name;
  });
  return { spec: { ...spec, tools: named }, clientTools };
}

/** A definition as written. */
export type AgentSpecInput = z.input<typeof agentSpecSchema>;
export type LlmConfig = z.output<typeof llmConfigSchema>;

export type ContextConfig = z.output<typeof contextConfigSchema>;

const contextDefaults = contextConfigSchema.parse({});

/** Returns the values that differ from the defaults, or null if none do. */
export function contextOverrides(config: ContextConfig): Partial<ContextConfig> | null {
  return withoutDefaultValues(config, contextDefaults);
}

export type ToolSelectionConfig = z.output<typeof toolSelectionSchema>;

const selectionDefaults = toolSelectionSchema.parse({});

/** Returns the values that differ from the defaults, or null if none do. */
export function toolSelectionOverrides(config: ToolSelectionConfig): ToolSelectionOverrides | null {
  return withoutDefaultValues(config, selectionDefaults);
}

export type ToolSelectionOverrides = ReturnType<typeof withoutDefaultValues<ToolSelectionConfig>>;

/** Returns the values of a config that differ from the defaults, recursively, or null if none do. */
function withoutDefaultValues<Config extends object>(
  config: Config,
  defaults: Config,
): DeepPartial<Config> | null {
  const own = Object.entries(config).flatMap(([key, value]: [string, unknown]) => {
    const usual: unknown = defaults[key as keyof Config];
    const part = isRecord(value) && isRecord(usual) ? withoutDefaultValues(value, usual) : value;
    return value === undefined || value === usual || part === null ? [] : [[key, part] as const];
  });
  return own.length === 0 ? null : (Object.fromEntries(own) as DeepPartial<Config>);
}

type DeepPartial<Config> = {
  readonly [Key in keyof Config]?: Config[Key] extends Readonly<Record<string, number>>
    ? Partial<Config[Key]>
    : Config[Key];
};
