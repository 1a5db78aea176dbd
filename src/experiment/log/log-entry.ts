import { z } from "zod";

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

const metrics = z.strictObject({
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
          cost_usd: z.number().min(0).describe("US dollars; 0 for models without a known price."),
        })
        .describe("What the answer took. Logs of earlier versions have none.")
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
    payload: z.strictObject({ final_reflection: z.string(), metrics }),
  }),
]);

export type LogEntry = z.output<typeof logEntrySchema>;
export type LogEventType = LogEntry["event_type"];
export type LogMessage = z.output<typeof logMessage>;
export type CycleMetrics = z.output<typeof metrics>;
