import { z } from "zod";
import {
  agentSpecSchema,
  llmConfigSchema,
  unattendedToolsSchema,
} from "../../definition/schema/agent.ts";
import type { JsonSchema } from "../../definition/schema/json-schema.ts";
import { modelRefPattern } from "../../definition/schema/model-ref.ts";
import type { Scope } from "../../expression/expression.ts";
import { experimentToolNames } from "./run-spec.ts";

/** Runs of one experiment. */
export const maxRuns = 1000;
/** Characters of a run's id. */
export const maxRunId = 128;
/** A name of a system prompt: part of the ids of runs. */
export const promptName = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;

/** Which providers there are says more of a wrong one than a pattern does, which is here for editors. */
const modelName = z
  .string()
  .meta({ description: "provider:model", pattern: modelRefPattern.source });

/** Options of models, in the order in which the ids of runs name them. */
const modelOptions = llmConfigSchema.pick({
  seed: true,
  temperature: true,
  top_p: true,
  num_predict: true,
  repeat_last_n: true,
  repeat_penalty: true,
  num_ctx: true,
}).shape;
export type OptionName = keyof typeof modelOptions;
export const optionNames = Object.keys(modelOptions) as readonly OptionName[];

const ollamaClientConfigSchema = z
  .strictObject({
    host: z
      .string()
      .refine(isHost, "expected a host such as 127.0.0.1:11434, or an http or https URL")
      .describe("URL or host:port of the server. Default: what the environment says.")
      .optional(),
    timeout_ms: z
      .int()
      .min(1)
      .max(2_147_483_647)
      .describe("Milliseconds of one request, its stream included. Default: no limit.")
      .optional(),
    headers: z
      .record(z.string(), z.string())
      .describe("Sent with every request; {{secret:NAME}} stands for a secret.")
      .optional(),
  })
  .describe("How the server of ollama: models is reached.");

function isHost(text: string): boolean {
  const url = text.includes("://") ? text : `http://${text}`;
  return !/\s/.test(text) && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

function listOf<Value extends z.ZodType>(value: Value) {
  return z.array(value).min(1).max(maxRuns).optional();
}

/** What runs differ in: each key has the values of which every combination is a run. */
export const matrixSchema = z.strictObject({
  model_name: listOf(modelName),
  seed: listOf(modelOptions.seed.unwrap()),
  temperature: listOf(modelOptions.temperature.unwrap()),
  top_p: listOf(modelOptions.top_p.unwrap()),
  num_predict: listOf(modelOptions.num_predict.unwrap()),
  repeat_last_n: listOf(modelOptions.repeat_last_n.unwrap()),
  repeat_penalty: listOf(modelOptions.repeat_penalty.unwrap()),
  num_ctx: listOf(modelOptions.num_ctx.unwrap()),
  system_prompt: z
    .record(z.string().meta({ pattern: promptName.source }), z.string())
    .describe("Texts by names of their own, which the ids of runs hold.")
    .optional(),
});

/** The default system prompt. */
const defaultPrompts = Object.freeze({
  system: [
    "You are an agent that works on its own, in cycles. Nobody answers you while you work: what you do, and why, is up to you.",
    "",
    "Every cycle is a conversation of its own, and it is forgotten when the cycle ends. Your memory is not: what you write to it with your tools is there in all later cycles, and nothing else of what you said or did is, but for the reflection that you are asked for at the end of each cycle. Read what you need from your memory when a cycle begins, and write down what you want to know later.",
    "",
    "Call tools as often as you need to. A cycle ends with a reply that calls none.",
  ].join("\n"),
  cycle:
    "This is cycle ${cycle_number} of ${cycle_count}. Go on with what you have begun, or begin something new. When you have done enough for this cycle, end it with a reply that calls no tool.",
  reflection:
    "This cycle is over. Reflect on it in a few sentences: what you did and why, what came of it, and what you want to do next. You will be told this in later cycles. Answer in plain words, without calling a tool.",
});

/** The whole of an experiment's config. Strict: an unknown key is refused everywhere. */
export const experimentSchema = z.strictObject({
  run_id: z
    .string()
    .regex(
      /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/,
      "expected letters, digits, ., _ and -, and no . at the beginning",
    )
    .max(maxRunId)
    .describe("Names the run, its log and its memory; of several runs, their names begin with it."),
  model_name: modelName.optional(),
  cycle_count: z.int().min(1).max(1_000_000),
  ollama_client_config: ollamaClientConfigSchema.optional(),
  model_options: z.strictObject(modelOptions).prefault({}),
  system_prompt: z.string().default(defaultPrompts.system),
  cycle_prompt: z
    .string()
    .min(1)
    .describe(
      "What the user says at the beginning of a cycle; may read cycle_number, cycle_count and run_id.",
    )
    .default(defaultPrompts.cycle),
  reflection_prompt: z
    .string()
    .min(1)
    .describe("What is asked at the end of a cycle.")
    .default(defaultPrompts.reflection),
  reflections_shown: z
    .int()
    .min(0)
    .max(1000)
    .describe("How many of the newest reflections the system prompt tells.")
    .default(10),
  tools: unattendedToolsSchema
    .describe(
      "The experiment's own tools, names from the tool registry, MCP servers, or tools of @langchain/community.",
    )
    .default([...experimentToolNames]),
  permissions: agentSpecSchema.shape.permissions,
  max_iterations: z.int().min(1).max(1000).describe("Model calls of one cycle.").default(10),
  matrix: matrixSchema
    .describe("One run for every combination of the values that are listed here.")
    .optional(),
  parallel: z.int().min(1).max(64).describe("Runs that are made at the same time.").default(1),
});

/** A config with its defaults: plain JSON. */
export type ExperimentConfig = z.output<typeof experimentSchema>;
/** A config as it is written. */
export type ExperimentInput = z.input<typeof experimentSchema>;

/** What `cycle_prompt` may read. */
export const promptScope = {
  cycle_number: { kind: "int" },
  cycle_count: { kind: "int" },
  run_id: { kind: "string" },
} as const satisfies Scope;

/** JSON Schema of an experiment's config as it is written, for editors. */
export function experimentJsonSchema(): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Stratagraph experiment",
    ...(z.toJSONSchema(experimentSchema, { io: "input" }) as JsonSchema),
    anyOf: [
      { required: ["model_name"] },
      {
        required: ["matrix"],
        properties: { matrix: { type: "object", required: ["model_name"] } },
      },
    ],
  };
}
