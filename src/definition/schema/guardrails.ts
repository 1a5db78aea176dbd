import { z } from "zod";
import { detectedLanguages } from "../check/rails.ts";
import { modelRef } from "./model-ref.ts";
import { railNamePattern } from "../rail.ts";

/** The kinds of personal data that a `pii` rail detects. */
export const piiEntities = [
  "EMAIL",
  "PHONE",
  "CARD",
  "IBAN",
  "SSN",
  "IP",
  "PASSPORT",
  "API_KEY",
] as const;
export type PiiEntity = (typeof piiEntities)[number];

const onErrorChoice = z.enum(["block", "pass"]);
const onError = onErrorChoice
  .default("block")
  .describe("What becomes of a text that the rail could not check.");

const share = z.number().min(0).max(1);

export const piiConfigSchema = z.strictObject({
  entities: z
    .array(z.enum(piiEntities))
    .min(1)
    .default([...piiEntities]),
  action: z
    .enum(["redact", "block", "flag"])
    .default("redact")
    .describe("redact puts a mark such as <EMAIL_1> in place of each; tools get the value itself."),
});
export type PiiConfig = z.output<typeof piiConfigSchema>;

const inputPiiConfigSchema = piiConfigSchema.extend({
  tool_results: z
    .boolean()
    .default(false)
    .describe(
      "Whether tool results are checked too. Values that are known are always redacted there.",
    ),
});

export const injectionConfigSchema = z.strictObject({
  threshold: share.default(0.5).describe("Score from which on a text counts as an attack."),
  action: z.enum(["block", "flag"]).default("block"),
  tool_results: z
    .boolean()
    .default(true)
    .describe(
      "Whether tool results are checked too: one that is blocked is withheld from the model.",
    ),
  judge: modelRef.describe("Asked about texts that are neither clear nor clean.").optional(),
});
export type InjectionConfig = z.output<typeof injectionConfigSchema>;

const topic = z.string().min(1).describe("A topic in some words, such as: billing and invoices.");

export const topicConfigSchema = z.strictObject({
  allow: z
    .array(topic)
    .default([])
    .describe("If any are given, the request must be on one of them."),
  deny: z.array(topic).default([]),
  threshold: share.default(0.5).describe("Similarity from which on a request is on a topic."),
  action: z.enum(["block", "flag"]).default("block"),
  judge: modelRef.describe("Decides about requests that are close to the threshold.").optional(),
});
export type TopicConfig = z.output<typeof topicConfigSchema>;

export const hallucinationConfigSchema = z.strictObject({
  min_support: share
    .default(0.5)
    .describe("How far the tool results of the turn have to support each claim."),
  action: z.enum(["retry", "flag"]).default("retry"),
});
export type HallucinationConfig = z.output<typeof hallucinationConfigSchema>;

export const toxicityConfigSchema = z.strictObject({
  threshold: share.default(0.5).describe("Score from which on a text counts as toxic."),
  action: z.enum(["redact", "block", "flag"]).default("block"),
  moderation: z
    .strictObject({
      endpoint: z
        .string()
        .default("https://api.openai.com/v1/moderations")
        .describe("Of OpenAI's moderation API, or one like it."),
      model: z.string().default("omni-moderation-latest"),
      headers: z
        .record(z.string(), z.string())
        .default({ Authorization: "Bearer {{secret:OPENAI_API_KEY}}" }),
    })
    .describe("Also called, in addition to the lexicon.")
    .optional(),
});
export type ToxicityConfig = z.output<typeof toxicityConfigSchema>;

export const formatConfigSchema = z.strictObject({
  is: z.enum(["json", "markdown"]).optional(),
  schema: z.record(z.string(), z.unknown()).describe("A JSON Schema; implies is: json.").optional(),
  pattern: z.string().describe("A regular expression that has to match somewhere.").optional(),
  min_length: z.int().min(0).describe("Characters.").optional(),
  max_length: z.int().min(1).describe("Characters.").optional(),
  language: z.enum(detectedLanguages).describe("A language's two-letter code.").optional(),
  action: z.enum(["block", "flag"]).default("block"),
});
export type FormatConfig = z.output<typeof formatConfigSchema>;

const customRail = z.strictObject({
  type: z.literal("custom"),
  name: z
    .string()
    .regex(railNamePattern, "expected a rail's name: lower-case letters, digits, _ and -")
    .describe("Of a rail made with defineRail."),
  config: z.record(z.string(), z.unknown()).default({}).describe("Given to the rail's check."),
  on_error: onErrorChoice.describe("Instead of what the rail itself says.").optional(),
});

function rail<Type extends string, Config extends z.ZodObject>(type: Type, config: Config) {
  return z.strictObject({
    type: z.literal(type),
    config: config.prefault({} as never),
    on_error: onError,
  });
}

/** The types of the built-in rails. */
export const builtInRails: readonly string[] = [
  "pii",
  "injection",
  "topic",
  "hallucination",
  "toxicity",
  "format",
] satisfies (InputRailSpec | OutputRailSpec)["type"][];

const inputRail = z.discriminatedUnion("type", [
  rail("pii", inputPiiConfigSchema),
  rail("injection", injectionConfigSchema),
  rail("topic", topicConfigSchema),
  customRail,
]);
export type InputRailSpec = z.output<typeof inputRail>;

const outputRail = z.discriminatedUnion("type", [
  rail("pii", piiConfigSchema),
  rail("hallucination", hallucinationConfigSchema),
  rail("toxicity", toxicityConfigSchema),
  rail("format", formatConfigSchema),
  customRail,
]);
export type OutputRailSpec = z.output<typeof outputRail>;

const argumentRule = z.strictObject({
  tool: z.string().min(1).describe("The tool whose calls are checked."),
  check: z
    .string()
    .min(1)
    .describe("A CEL condition on args that has to hold, such as: args.amount < 100"),
  message: z.string().describe("What the model reads when it does not hold.").optional(),
  action: z.enum(["block", "flag"]).default("block"),
});

/** Checks around an agent: on its input, its output and its tool calls. */
export const guardrailConfigSchema = z.strictObject({
  input_rails: z.array(inputRail).default([]),
  output_rails: z.array(outputRail).default([]),
  tool_rails: z
    .strictObject({
      max_calls_per_turn: z
        .int()
        .min(0)
        .describe("Calls of the agent and of all agents inside of it.")
        .optional(),
      allowed_tools: z
        .union([z.literal("all"), z.array(z.string())])
        .default("all")
        .describe("Tools that may be called, by agents inside too."),
      require_approval: z
        .union([z.literal("all"), z.array(z.string())])
        .default([])
        .describe("Tools whose calls wait for a person, in addition to those that require it themselves."),
      max_repeats: z
        .int()
        .min(2)
        .max(100)
        .default(3)
        .describe("How often the same call may give the same result before the agent is stuck."),
      max_polls: z.int().min(2).max(1_000).default(100).describe("The same for repeatable tools."),
      repeatable: z
        .array(z.string())
        .default([])
        .describe("Tools that may be repeated, in addition to those that declare it themselves."),
      rules: z
        .array(argumentRule)
        .default([])
        .describe("What the arguments of calls have to fulfil."),
    })
    .prefault({}),
});
