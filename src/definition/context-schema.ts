import { z } from "zod";
import { besideDefaults } from "./beside-defaults.ts";
import { modelRef } from "./model-ref-schema.ts";

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

/** What a model call gets to read, and how much of it. */
export const contextConfigSchema = z
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
      .enum(["turn", "last_step"])
      .default("turn")
      .describe(
        "Which tool results are whole while there is room: those of the turn under way, or of its last step only.",
      ),
    preview_chars: z
      .int()
      .min(100)
      .default(1000)
      .describe("Characters from which on a result is previewed where it need not be whole."),
    summarize_results: summarizeResultsSchema.optional(),
  })
  .describe("What the model reads of the conversation and of the steps, and how much of it.");

export type ContextConfig = z.output<typeof contextConfigSchema>;

const defaults = contextConfigSchema.parse({});

/** The part of it that is not what it would be if nothing were written; null where that is nothing. */
export function contextConfigBeside(config: ContextConfig): Partial<ContextConfig> | null {
  return besideDefaults(config, defaults);
}
