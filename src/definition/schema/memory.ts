import { z } from "zod";

const share = z.number().min(0).max(1);

/** The memory across conversations. */
const longTermSchema = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .describe("Whether turns begin with what is remembered, and leave memories."),
  embedding_model: z
    .string()
    .describe(
      "`provider:model` of the embeddings, `local:minilm` or `none`. Default: the local encoder if it is installed, else search by words.",
    )
    .optional(),
  top_k: z.int().min(1).max(100).default(5).describe("Entries that a turn begins with at most."),
  max_tokens: z
    .int()
    .min(1)
    .describe("Tokens that the entries of a turn may take together. Default 1,500.")
    .optional(),
  min_score: share.describe("The least score of an entry, 0 to 1. Default 0.").optional(),
  extraction_model: z
    .string()
    .describe(
      "`provider:model` that reads a finished turn and extracts its facts and names, in one call. Default: rules.",
    )
    .optional(),
  consolidation: z
    .strictObject({
      automatic: z
        .boolean()
        .describe("Whether a turn that leaves more than `max_tokens` is consolidated. Default true.")
        .optional(),
      strategy: z.enum(["importance", "age", "hybrid"]).optional().describe("Default hybrid."),
      max_entries: z.int().min(1).optional().describe("Candidates of one call at most. Default 1,000."),
      max_tokens: z
        .int()
        .min(1)
        .describe("Tokens of a thread's short-term entries. Default 8,000.")
        .optional(),
      min_age_hours: z.number().min(0).optional().describe("Default 24."),
      importance_threshold: share.optional().describe("Default 0.5."),
      max_entry_tokens: z.int().min(1).optional().describe("Default 400."),
      half_life_hours: z
        .number()
        .positive()
        .describe("Hours after which recency is 1/e. Default 168.")
        .optional(),
      archive_evicted: z.boolean().optional().describe("Default true."),
      weights: z
        .strictObject({
          recency: share.optional(),
          frequency: share.optional(),
          relevance: share.optional(),
        })
        .optional()
        .describe("Default 0.3 recency, 0.3 frequency, 0.4 relevance."),
    })
    .describe("What becomes of short-term entries.")
    .optional(),
});

/** An agent's memory within a conversation and across conversations. */
export const memoryConfigSchema = z.strictObject({
  short_term: z
    .strictObject({
      max_tokens: z
        .int()
        .min(1)
        .describe(
          "Tokens that earlier turns may take of what a model reads. Default: 8,000 where a cached token of the model costs at most a quarter of another one, else 4,000.",
        )
        .optional(),
      strategy: z
        .enum(["fifo", "summarize", "hybrid"])
        .default("hybrid")
        .describe(
          "What becomes of the oldest turns over that: dropped; summarised by a model; or shortened first, and summarised only when that is not enough.",
        ),
    })
    .prefault({}),
  long_term: longTermSchema.prefault({}),
  procedural: z
    .strictObject({
      enabled: z
        .boolean()
        .default(false)
        .describe("Whether sequences of tools that led to success become patterns for planning."),
      min_frequency: z
        .int()
        .min(1)
        .default(3)
        .describe("Successful turns after which a sequence is a pattern."),
    })
    .prefault({}),
});

