import { z } from "zod";
import { runStates } from "../../storage/platform/runs/run-rows.ts";
import { jsonbText } from "../../storage/platform/checks.ts";
import { maxPayloadBytes } from "../../state/human-answer.ts";
import { toJson } from "../../values/bounded-json.ts";
import { parameterText } from "../paging.ts";

/** Files of an input; of 20 MB each, which the engine checks. */
const maxAttachments = 10;
/** Results of client tools in one request. */
const maxToolResults = 1_000;
const maxWaitSeconds = 3_600;

/** Bytes of a body. With what is added, the request of a run stays below 16 MiB. */
export const maxRunBodyBytes = 15_728_640;
/** Milliseconds until a route that waits gives up, beyond what callers may ask for. */
export const waitLimitMs = (maxWaitSeconds + 60) * 1_000;

export const agentParams = z.strictObject({
  agent_id: z.string().min(1).max(100).describe("Id of the agent."),
});
export const runParams = agentParams.extend({
  run_id: z.string().min(1).max(100).describe("Id of the run."),
});

export const threadId = z
  .string()
  .min(1)
  .max(255)
  .refine(
    (text) => !/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(text),
    "expected text without control characters",
  );

const attachment = z
  .strictObject({
    name: parameterText.describe("Shown to the model.").optional(),
    mime_type: z.string().min(1).max(200).optional(),
    type: z.string().min(1).max(200).describe("The same as `mime_type`.").optional(),
    data: z.string().min(1).describe("Base64. Requires `mime_type`.").optional(),
    url: z
      .url({ protocol: /^https?$/ })
      .max(8_192)
      .describe("Read when the run is executed, from hosts with public addresses.")
      .optional(),
  })
  .refine(
    ({ data, url }) => (data === undefined) !== (url === undefined),
    "expected either data or url",
  )
  .refine(
    ({ type, mime_type: mime }) => type === undefined || mime === undefined || type === mime,
    "expected either mime_type or type",
  )
  .meta({ id: "RunAttachment" });
export type WrittenAttachment = z.output<typeof attachment>;

const attachments = z
  .array(attachment)
  .max(maxAttachments)
  .nullish()
  .describe("Files that come with the input.");
export const message = z
  .unknown()
  .describe("The message, for agents without an input schema.")
  .optional();

/** What the agent gets as its input, with further keys for the run. */
const runInput = z
  .looseObject({ message, attachments })
  .meta({ id: "RunInput", description: "Apart from `attachments`, as the agent's input schema." });

export const modelOverride = z
  .string()
  .max(300)
  .regex(/^[^\s:]+:\S+$/, "expected provider:model")
  .nullish()
  .describe("`provider:model` instead of the definition's.");
const stream = z.boolean().optional().describe("Answers with the events instead. Default false.");
const timeout = z
  .int()
  .min(1)
  .max(maxWaitSeconds)
  .default(300)
  .describe("Seconds until the answer is given up with 504. The run goes on.");

export const runMetadata = z
  .record(z.string(), z.unknown())
  .refine(isStorable, "expected at most 65,536 bytes of JSON without NUL");

export const startBody = z
  .strictObject({
    thread_id: threadId.nullish().describe("A conversation to continue. Default: a new one."),
    input: runInput,
    config: z
      .strictObject({
        model_override: modelOverride,
        stream,
        user: parameterText.nullish().describe("Whose memories the run reads and writes."),
        priority: z.int().min(-1_000).max(1_000).default(0).describe("Higher ones are first."),
        run_at: z.iso.datetime({ offset: true }).nullish().describe("Not executed before."),
        after_seconds: z
          .number()
          .min(0)
          .max(2_678_400)
          .nullish()
          .describe("Seconds before which it is not executed, instead of `run_at`."),
      })
      .refine(
        ({ run_at: at, after_seconds: after }) => (at ?? null) === null || (after ?? null) === null,
        "expected either run_at or after_seconds",
      )
      .optional(),
    metadata: runMetadata.optional(),
  })
  .meta({ id: "NewRun" });
export type StartBody = z.output<typeof startBody>;

function isStorable(metadata: object): boolean {
  try {
    jsonbText("metadata", metadata, 65_536);
    return true;
  } catch {
    return false;
  }
}

const toolResult = z
  .strictObject({
    call_id: z.string().min(1),
    request_id: z.string().optional(),
    output: z.unknown().optional(),
    error: z.string().optional(),
  })
  .refine(
    (result) => Object.hasOwn(result, "output") !== Object.hasOwn(result, "error"),
    "expected either output or error",
  )
  .meta({ id: "ToolCallResult" });
export type WrittenToolResult = z.output<typeof toolResult>;

export const turnBody = z
  .strictObject({
    input: z
      .looseObject({
        message,
        attachments,
        tool_results: z
          .array(toolResult)
          .max(maxToolResults)
          .nullish()
          .describe("Results of `tool_calls`. The open turn continues, without a message."),
      })
      .meta({ id: "TurnInput" }),
    config: z.strictObject({ model_override: modelOverride, timeout_s: timeout }).optional(),
  })
  .meta({ id: "NewTurn" });
export type TurnBody = z.output<typeof turnBody>;

export const resumeBody = z
  .strictObject({
    answers: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("Answers by id of their requests, for some or all of them."),
    answer: z.unknown().optional().describe("The answer to the only request."),
    config: z
      .strictObject({
        stream,
        wait: z.boolean().optional().describe("Waits for the end of the turn. Default false."),
        timeout_s: timeout,
      })
      .optional(),
  })
  .refine(
    (body) => (body.answers === undefined) !== !Object.hasOwn(body, "answer"),
    "expected either answers or answer",
  )
  .meta({ id: "RunAnswers" });
export type ResumeBody = z.output<typeof resumeBody>;

const eventName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_.-]{0,99}$/, "expected a letter, then letters, digits, _, . and -");
const tooLarge = "expected at most 65,536 bytes of JSON";
const isSmall = (payload: unknown) => toJson(payload ?? null, maxPayloadBytes).whole;

export const eventBody = z
  .discriminatedUnion("as", [
    z.strictObject({
      as: z.literal("event").describe("For a wait node.").optional(),
      name: eventName.describe("Name of the event, as a wait node has it."),
      payload: z
        .unknown()
        .optional()
        .refine(isSmall, tooLarge)
        .describe("At most 65,536 bytes of JSON. Default null."),
    }),
    z.strictObject({
      as: z.literal("message").describe("For the turn that runs, or for the next one."),
      name: eventName.describe("Name in the audit log. Default `message`.").optional(),
      payload: z
        .strictObject({
          content: z
            .string()
            .refine((text) => text.trim() !== "", "expected a text that is not blank")
            .describe("The text of a user message."),
        })
        .refine(isSmall, tooLarge)
        .describe("At most 65,536 bytes of JSON."),
    }),
  ])
  .meta({ id: "ThreadEvent" });

const time = z.iso.datetime();
export const runState = z.enum(runStates);
const links = z.strictObject({
  self: z.string(),
  events: z.string(),
  turns: z.string(),
  cancel: z.string(),
});

export const queuedRun = z
  .strictObject({
    run_id: z.string(),
    thread_id: z.string(),
    turn_id: z.string(),
    status: runState,
    links,
  })
  .meta({ id: "QueuedRun" });

const cause = z
  .strictObject({ code: z.string(), message: z.string() })
  .meta({ id: "TurnCause" })
  .nullable()
  .describe("Why the turn failed or was cancelled.");

const request = z
  .looseObject({
    id: z.string(),
    kind: z.string(),
    prompt: z.string(),
    proposed: z.unknown(),
    schema: z.record(z.string(), z.unknown()).describe("JSON Schema of an answer."),
    expires_at: z.string().nullable(),
  })
  .meta({ id: "HumanRequest" });

const wait = z
  .strictObject({
    id: z.string(),
    node: z.string(),
    prompt: z.string(),
    event: z.string().nullable().describe("Name of the event; null for a wait for a time."),
    schema: z
      .record(z.string(), z.unknown())
      .describe("JSON Schema of the event's payload; `{}` in a list if it is large."),
    expires_at: z.string().nullable().describe("When the wait is over; null for no limit."),
  })
  .meta({ id: "Wait" });
export const listedWait = wait
  .extend({ run_id: z.string(), agent_id: z.string(), thread_id: z.string() })
  .meta({ id: "ListedWait" });

export const turnResult = z
  .strictObject({
    turn_id: z.string(),
    run_id: z.string(),
    output: z.strictObject({
      message: z.string().nullable(),
      value: z.unknown().describe("The whole answer."),
      tool_calls: z.array(z.looseObject({ call_id: z.string(), tool: z.string() })),
      requests: z.array(request),
      waits: z
        .array(wait)
        .optional()
        .describe("Times and events that the run waits for; absent without."),
      status: z.enum([
        "complete",
        "awaiting_tool",
        "awaiting_human",
        "awaiting_event",
        "failed",
        "cancelled",
      ]),
      cause,
      incomplete: z.string().nullable(),
    }),
    usage: z
      .looseObject({
        tokens_in: z.int(),
        cached_tokens: z.int(),
        tokens_out: z.int(),
        reasoning_tokens: z.int(),
        llm_calls: z.int(),
        tool_calls: z.int(),
        cost_usd: z.number().nullable().describe("Null if a model has no known price."),
      })
      .meta({ id: "TurnUsage" }),
    checkpoint_id: z.string().nullable(),
  })
  .meta({ id: "TurnResult" });
export type TurnResultBody = z.output<typeof turnResult>;

const summary = {
  run_id: z.string(),
  agent_id: z.string(),
  thread_id: z.string(),
  status: runState,
  kind: z
    .enum(["turn", "resume", "replay", "graph"])
    .describe("Of what is executed now, or was last."),
  priority: z.int(),
  run_at: time,
  attempts: z.int(),
  last_event: z.int().describe("Number of the newest event."),
  metadata: z.record(z.string(), z.unknown()),
  created_at: time,
  started_at: time.nullable(),
  ended_at: time.nullable(),
  cancel_requested_at: time.nullable(),
};
export const runSummary = z.strictObject(summary).meta({ id: "RunSummary" });
export const runSchema = z
  .strictObject({
    ...summary,
    turn_id: z.string(),
    result: turnResult.nullable().describe("How the last turn ended; null until then."),
    cause,
    links,
  })
  .meta({ id: "Run" });

export const cancelledRun = z
  .strictObject({
    run_id: z.string(),
    status: runState,
    cancel_requested_at: time.nullable(),
  })
  .meta({ id: "CancelledRun" });

export const waitingRequest = request
  .extend({
    run_id: z.string(),
    agent_id: z.string(),
    thread_id: z.string(),
    truncated: z.literal(true).optional().describe("The run has the whole request."),
  })
  .meta({ id: "WaitingRequest" });
