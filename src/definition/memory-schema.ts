import { z } from "zod";

/** What an agent remembers, within a conversation and beyond it. */
export const memoryConfigSchema = z.strictObject({
  short_term: z
    .strictObject({
      max_tokens: z
        .int()
        .min(1)
        .default(8000)
        .describe("Tokens that earlier turns may take of what a model reads."),
      strategy: z
        .enum(["fifo", "summarize", "hybrid"])
        .default("hybrid")
        .describe(
          "What becomes of the oldest turns over that: dropped; summarised by a model; or shortened first, and summarised only when that is not enough.",
        ),
    })
    .prefault({}),
  long_term: z
    .strictObject({
      enabled: z.boolean().default(false),
      embedding_model: z.string().optional(),
      top_k: z.int().min(1).default(5),
    })
    .prefault({}),
  procedural: z
    .strictObject({
      enabled: z.boolean().default(false),
      min_frequency: z.int().min(1).default(3),
    })
    .prefault({}),
});
