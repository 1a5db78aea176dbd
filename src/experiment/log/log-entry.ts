import { z } from "zod";
import type { JsonSchema } from "../../definition/schema/json-schema.ts";
import { cleanText } from "../../context/clean-text.ts";
import type { ModelReply } from "../../models/agent-model.ts";
import { finishWord } from "../../models/replies/finish-reason.ts";
import { isRecord } from "../../values/json.ts";
import { headOf, truncateText } from "../../values/text.ts";
import { memoryToolNames, operatorToolName } from "../config/run-spec.ts";

const logMessage = z.strictObject({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: z.string(),
  tool_calls: z
    .array(
      z.strictObject({
        id: z.string(),
        name: z.string(),
        args: z.unknown(),
      }),
    )
    .describe("Calls that an assistant asked for; left out where there are none.")
    .optional(),
  tool_call_id: z.string().describe("The call that a tool's message answers.").optional(),
});

const metricsSchema = z.strictObject({
  memory_ops_total: z
    .int()
    .min(0)
    .describe("Calls of memory_write, memory_read, memory_list and memory_delete that succeeded."),
  messages_to_operator: z.int().min(0).describe("Calls of message_operator that succeeded."),
  response_chars: z
    .int()
    .min(0)
    .describe("Code points of all that the model wrote as text, the reflection included."),
  memory_write_chars: z
    .int()
    .min(0)
    .describe("Code points of the values that memory_write has written."),
});

/** Characters of a provider's word for how a reply ended. */
const doneReasonCharacters = 64;

/** Characters of the reasoning before one reply. */
const reasoningCharacters = 20_000;

const head = {
  timestamp: z.iso.datetime().describe("ISO 8601, UTC."),
  run_id: z.string().min(1),
  cycle_number: z.int().min(1),
};

/** A line of a run's log. */
export const logEntrySchema = z.discriminatedUnion("event_type", [
  z.strictObject({
    ...head,
    event_type: z.literal("CYCLE_START"),
    payload: z.strictObject({
      model_name: z.string().describe("provider:model"),
      seed: z.int().nullable(),
      prompt_name: z.string().nullable().describe("Name of the system prompt in the matrix."),
      config_hash: z.string().describe("SHA-256 of what makes the run, in hex."),
      memory_keys: z.array(z.string()).describe("Keys in memory as the cycle begins."),
    }),
  }),
  z.strictObject({
    ...head,
    event_type: z.literal("LLM_INVOCATION"),
    payload: z.strictObject({
      prompt_messages: z.array(logMessage),
      response_message: logMessage,
      model_options: z.record(z.string(), z.unknown()),
      usage: z
        .strictObject({
          tokens_in: z.int().min(0),
          tokens_out: z.int().min(0),
          cached_tokens: z
            .int()
            .min(0)
            .describe(
              "The part of tokens_in that was read from a cache. Earlier versions wrote none.",
            )
            .optional(),
          reasoning_tokens: z
            .int()
            .min(0)
            .describe("The part of tokens_out that is reasoning. Earlier versions wrote none.")
            .optional(),
          cost_usd: z
            .number()
            .min(0)
            .nullable()
            .describe(
              "US dollars; null for a model without a known price, for which earlier versions wrote 0.",
            ),
        })
        .describe("What the answer took. Logs of earlier versions have none.")
        .optional(),
      finish_reason: z
        .enum(["stop", "length"])
        .describe("Whether the reply is whole or was cut off at the output limit.")
        .optional(),
      done_reason: z
        .string()
        .max(doneReasonCharacters)
        .describe("The provider's own word for how the reply ended, such as Ollama's done_reason.")
        .optional(),
      latency_ms: z
        .int()
        .min(0)
        .describe("Milliseconds of the request that was answered.")
        .optional(),
      first_token_ms: z
        .int()
        .min(0)
        .nullable()
        .describe("Milliseconds to its first token; null if the reply was not streamed.")
        .optional(),
      reasoning: z
        .string()
        .describe("What the model thought before it replied, truncated at 20,000 characters.")
        .optional(),
    }),
  }),
  z.strictObject({
    ...head,
    event_type: z.literal("TOOL_CALL"),
    payload: z.strictObject({
      tool_name: z.string(),
      parameters: z.unknown(),
      output: z.unknown().describe("What the call gave; { error } where it failed."),
    }),
  }),
  z.strictObject({
    ...head,
    event_type: z.literal("CYCLE_END"),
    payload: z.strictObject({ final_reflection: z.string(), metrics: metricsSchema }),
  }),
]);

export type LogEntry = z.output<typeof logEntrySchema>;
export type LogEventType = LogEntry["event_type"];
export type LogMessage = z.output<typeof logMessage>;
export type CycleMetrics = z.output<typeof metricsSchema>;

/** What a cycle counts before anything has happened in it. */
export const noMetrics: CycleMetrics = Object.freeze({
  memory_ops_total: 0,
  messages_to_operator: 0,
  response_chars: 0,
  memory_write_chars: 0,
});

/**
 * The metrics of one cycle, from all its entries in order; those of CYCLE_START and CYCLE_END count nothing.
 * This is the one definition: what is written to CYCLE_END, what a log is checked against, what reports show.
 */
export function cycleMetrics(entries: Iterable<LogEntry>): CycleMetrics {
  let metrics = noMetrics;
  for (const entry of entries) metrics = withEntry(metrics, entry);
  return metrics;
}

/** The metrics after one more entry of the same cycle, for readers that do not hold a whole cycle. */
export function withEntry(metrics: CycleMetrics, entry: LogEntry): CycleMetrics {
  if (entry.event_type === "LLM_INVOCATION") {
    const chars = codePoints(entry.payload.response_message.content);
    return { ...metrics, response_chars: metrics.response_chars + chars };
  }
  if (entry.event_type !== "TOOL_CALL" || isFailedOutput(entry.payload.output)) return metrics;
  const { tool_name: tool, parameters } = entry.payload;
  return {
    ...metrics,
    memory_ops_total: metrics.memory_ops_total + (memoryToolNames.includes(tool) ? 1 : 0),
    messages_to_operator: metrics.messages_to_operator + (tool === operatorToolName ? 1 : 0),
    memory_write_chars:
      metrics.memory_write_chars +
      (tool === "memory_write" ? codePoints(textParameter(parameters, "value") ?? "") : 0),
  };
}

/** Whether a call was refused or failed: its output is an object whose `error` is there and not null. */
export function isFailedOutput(output: unknown): boolean {
  return isRecord(output) && Object.hasOwn(output, "error") && output["error"] !== null;
}

/** A text among the parameters of a call; undefined where there is none of that name. */
export function textParameter(parameters: unknown, name: string): string | undefined {
  if (!isRecord(parameters) || !Object.hasOwn(parameters, name)) return undefined;
  const value = parameters[name];
  return typeof value === "string" ? value : undefined;
}

/** Length of a text in code points, so that a character outside the BMP counts once. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** JSON Schema of one line of a run's log, for who reads logs in other languages. */
export function logJsonSchema(): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Stratagraph experiment log line",
    ...(z.toJSONSchema(logEntrySchema) as JsonSchema),
  };
}

type InvocationPayload = Extract<LogEntry, { event_type: "LLM_INVOCATION" }>["payload"];

/** What a log says of the cost of a model's answer. */
export type LoggedUsage = NonNullable<InvocationPayload["usage"]>;

/** The fields of a reply in the log, apart from its message. How often the model was asked may differ from run to run. */
export function loggedReply(
  reply: ModelReply,
): Omit<InvocationPayload, "prompt_messages" | "response_message" | "model_options"> {
  const { message, usage, finish, reasoning, calls } = reply;
  const { tokens_in, tokens_out, cached_tokens, reasoning_tokens, cost_usd } = usage;
  const word = finishWord(message);
  const answered = calls.at(-1);
  const thought = cleanText(reasoning?.text ?? "");
  return {
    usage: { tokens_in, tokens_out, cached_tokens, reasoning_tokens, cost_usd },
    finish_reason: finish,
    ...(word !== "" && { done_reason: headOf(cleanText(word), doneReasonCharacters) }),
    ...(answered !== undefined && {
      latency_ms: Math.round(answered.latency_ms),
      first_token_ms: answered.first_token_ms === null ? null : Math.round(answered.first_token_ms),
    }),
    ...(thought !== "" && { reasoning: truncateText(thought, reasoningCharacters) }),
  };
}
