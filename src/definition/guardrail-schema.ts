import { z } from "zod";

const config = z.record(z.string(), z.unknown()).default({});

/** Checks around an agent: on its input, its output and its tool calls. */
export const guardrailConfigSchema = z.strictObject({
  input_rails: z
    .array(z.strictObject({ type: z.enum(["pii", "injection", "topic"]), config }))
    .default([]),
  output_rails: z
    .array(z.strictObject({ type: z.enum(["hallucination", "toxicity", "format"]), config }))
    .default([]),
  tool_rails: z
    .strictObject({
      max_calls_per_turn: z.int().min(0).optional(),
      allowed_tools: z.union([z.literal("all"), z.array(z.string())]).default("all"),
      require_approval: z
        .union([z.literal("all"), z.array(z.string())])
        .default([])
        .describe("Tools whose calls wait for a person, beside those that ask for it themselves."),
    })
    .prefault({}),
});
