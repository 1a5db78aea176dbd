import { z } from "zod";
import type { GraphState } from "../../state/channels.ts";
import { statuses } from "../../state/lifecycle.ts";
import { usageSchema } from "../../state/usage.ts";

/** Schemas for edits of an agent's channels; additional keys are allowed. */

const count = z.int().nonnegative();
const text = z.string();
const record = z.record(z.string(), z.unknown());
const when = z
  .string()
  .refine((value) => !Number.isNaN(Date.parse(value)), "expected an ISO 8601 time");

const toolPrediction = z.looseObject({
  id: text,
  name: text,
  args: record,
  reason: text,
  problem: text.optional(),
  mended_from: text.optional(),
});

const toolResult = z.looseObject({
  id: text,
  name: text,
  args: record,
  error: text.nullable(),
  outcome: z.enum(["success", "failure", "error", "timeout"]),
  execution_time_ms: z.number().nonnegative(),
});

const observation = z.looseObject({
  id: text,
  insights: text,
  learning: text,
  relevance: z.enum(["high", "medium", "low", ""]),
});

const currentStep = z.looseObject({
  turn_number: count,
  attempt_number: count,
  step_index: count,
  node: text,
  timestamp: when,
  mode: z.enum(["fast", "deep"]),
  thought: text,
  planning: text,
  reflection: text,
  approach: text,
  next_action: z.enum(["continue", "use_tools", "ask_human", "finish"]),
  tool_predictions: z.array(toolPrediction),
  observations: z.array(observation).optional(),
  synthesis: text,
  progress: z.enum(["advancing", "stuck", "regressing", ""]),
  usage: usageSchema,
  model: text,
});

const stepRecord = currentStep.extend({
  tool_results: z.array(toolResult),
  concurrent_execution: z.boolean(),
});

const branch = z.looseObject({
  id: text,
  superstep: z.int(),
  at: text,
  from: text,
  since: when,
  last: text.nullable(),
  steps: z.array(count),
  open: z.array(currentStep),
  wrote: z.array(z.union([text, z.looseObject({ key: text, value: text })])),
  path: z.array(count).optional(),
  gave: z.array(z.looseObject({ key: text, path: z.array(count), items: count })).optional(),
  visits: z.record(z.string(), count),
  rejections: z
    .array(z.looseObject({ node: text, reason: text, after: z.int().min(-1) }))
    .optional(),
});

const summary = z.looseObject({
  text: text.min(1),
  covers: z.looseObject({ turns: count.min(1), steps: count, messages: count }),
  model: text,
  at: when,
});

const resultSummary = z.looseObject({ text: text.min(1), model: text });

const turn = z.looseObject({
  agent: text.min(1).optional(),
  run: text.min(1),
  started_at: when,
  elapsed_ms: z.number().nonnegative(),
  first_superstep: z.int(),
  usage_before: usageSchema,
  approach: text,
  draft: z
    .looseObject({ answer: text.nullable(), incomplete: z.boolean(), problem: text.nullable() })
    .nullable(),
  failed_attempts: z.array(
    z.looseObject({
      attempt_number: count,
      errors: z.array(text),
      answer: text.nullable(),
      execution_view: z.array(text).optional(),
    }),
  ),
  failure: z.looseObject({ cause: text, message: text }).nullable(),
  approvals: z.record(text, text).optional(),
});

const railRecord = z.looseObject({
  turn_number: count,
  attempt_number: count,
  step_index: count.nullable(),
  timestamp: when,
  rail: text,
  on: z.enum(["input", "tool_call", "tool_result", "output"]),
  verdict: z.enum(["pass", "redact", "block", "flag"]),
  score: z.number().min(0).max(1),
  spans: z.array(z.looseObject({ path: text, start: count, end: count, label: text })),
  reasons: z.array(text),
});

/** By channel. The definition's own schemas check `input`, `output` and the tiers. */
export const updateSchemas = {
  input: z.unknown(),
  // LangChain reads them and reports unreadable ones.
  messages: z.unknown(),
  turn_number: count,
  execution: record,
  attempt: record.nullable(),
  attempt_number: count,
  current_step: currentStep.nullable(),
  steps: z.array(stepRecord),
  nodes: record.nullable(),
  branches: z.union([
    z.array(branch),
    z.strictObject({ only: z.array(branch) }),
    z.strictObject({ leave: z.array(text), enter: z.array(branch) }),
  ]),
  status: z.enum(statuses),
  usage: usageSchema.partial().strict(),
  summary: summary.nullable(),
  result_summaries: z.record(z.string(), resultSummary),
  output: z.unknown(),
  // An update with the turn's start replaces the whole previous turn; others are merged into it.
  turn: turn.partial().superRefine((value, context) => {
    if (value.first_superstep === undefined) return;
    for (const key of ["started_at", "usage_before", "failed_attempts", "elapsed_ms"] as const) {
      if (value[key] !== undefined) continue;
      context.addIssue({
        code: "custom",
        path: [key],
        message: "expected, because the turn is replaced",
      });
    }
  }),
  rails: z.array(railRecord),
  redactions: z.record(z.string(), z.looseObject({ label: text, value: text })),
} satisfies Record<keyof GraphState, z.ZodType>;
