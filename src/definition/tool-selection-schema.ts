import { z } from "zod";
import { besideDefaults } from "./beside-defaults.ts";

const weight = z.number().min(0).max(1);

/** Which of many tools a model is offered. */
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
export type ToolSelectionConfig = z.output<typeof toolSelectionSchema>;

const defaults = toolSelectionSchema.parse({});

/** The part of it that is not what it would be if nothing were written; null where that is nothing. */
export function toolSelectionBeside(config: ToolSelectionConfig): ToolSelectionBeside | null {
  return besideDefaults(config, defaults);
}

export type ToolSelectionBeside = ReturnType<typeof besideDefaults<ToolSelectionConfig>>;
