import { z } from "zod";
import { memoryLimits, namespaceSchema } from "../entry.ts";
import { InvalidMemoryError } from "../errors.ts";
import type { ConsolidateOptions } from "../memory.ts";

/** Options of a consolidation with all defaults. */
export interface ConsolidationRules {
  readonly strategy: "importance" | "age" | "hybrid";
  readonly maxEntries: number;
  readonly minAgeHours: number;
  readonly maxTokens: number;
  readonly importanceThreshold: number;
  readonly maxEntryTokens: number;
  readonly halfLifeHours: number;
  readonly archiveEvicted: boolean;
  readonly weights: {
    readonly recency: number;
    readonly frequency: number;
    readonly relevance: number;
  };
}

const weight = z.number().min(0);
const count = z.int().min(1);

const optionsSchema = z.strictObject({
  namespace: namespaceSchema,
  threadId: z.string().min(1).max(memoryLimits.key).optional(),
  strategy: z.enum(["importance", "age", "hybrid"]).default("hybrid"),
  maxEntries: count.default(1_000),
  minAgeHours: z.number().min(0).default(24),
  maxTokens: count.default(8_000),
  importanceThreshold: z.number().min(0).max(1).default(0.5),
  maxEntryTokens: count.default(400),
  halfLifeHours: z.number().positive().default(168),
  archiveEvicted: z.boolean().default(true),
  weights: z
    .strictObject({
      recency: weight.default(0.3),
      frequency: weight.default(0.3),
      relevance: weight.default(0.4),
    })
    .prefault({}),
  goal: z.string().optional(),
  summarise: z.custom((given) => typeof given === "function", "expected a function").optional(),
  signal: z.custom((given) => given instanceof AbortSignal, "expected an AbortSignal").optional(),
});

/** Checks the options of a consolidation and fills in defaults. @throws InvalidMemoryError */
export function consolidationRules(options: ConsolidateOptions): ConsolidationRules {
  const checked = optionsSchema.safeParse(options);
  if (checked.success) return checked.data;
  throw new InvalidMemoryError(
    "consolidation",
    checked.error.issues.map(({ path, message }) =>
      path.length === 0 ? message : `${path.join(".")}: ${message}`,
    ),
  );
}
