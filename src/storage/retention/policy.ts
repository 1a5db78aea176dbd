import { z } from "zod";
import type { PartitionedTable } from "../platform/partitions.ts";

/** Days, 1 to 36,500, or `off`: the stage never begins. */
const age = z.union([z.int().min(1).max(36_500), z.literal("off")]);
const rows = { archive_after_days: age.optional(), delete_after_days: age.optional() };

/** Ages at which stages begin, for each kind of data. What is left out has its default. */
export const retentionSettingsSchema = z
  .strictObject({
    checkpoints: z
      .strictObject({
        /** Idle threads keep the checkpoints that end turns. */
        thin_after_days: age.optional(),
        ...rows,
      })
      .optional(),
    turns: z.strictObject(rows).optional(),
    tool_calls: z.strictObject(rows).optional(),
    llm_calls: z.strictObject(rows).optional(),
    events: z.strictObject(rows).optional(),
    audit: z.strictObject(rows).optional(),
  })
  .superRefine((settings, context) => {
    for (const kind of retentionKinds) {
      const stages = Object.entries(policyOf(settings)[kind]).filter(
        (stage): stage is [string, number] => stage[1] !== "off",
      );
      for (const [at, [name, days]] of stages.entries()) {
        const next = stages[at + 1];
        if (next === undefined || days <= next[1]) continue;
        context.addIssue({
          code: "custom",
          path: [kind, name],
          message: `expected at most the ${next[1]} days of ${next[0]}, got ${days}`,
        });
      }
    }
  });

export type RetentionSettings = z.input<typeof retentionSettingsSchema>;

export type StageAge = number | "off";

/** When rows leave the database, and when they are gone from the archive too. */
export interface RowStages {
  readonly archive_after_days: StageAge;
  readonly delete_after_days: StageAge;
}

export interface RetentionPolicy {
  readonly checkpoints: RowStages & { readonly thin_after_days: StageAge };
  readonly turns: RowStages;
  readonly tool_calls: RowStages;
  readonly llm_calls: RowStages;
  readonly events: RowStages;
  readonly audit: RowStages;
}

export type RetentionKind = keyof RetentionPolicy;

const usual: RetentionPolicy = {
  checkpoints: { thin_after_days: 7, archive_after_days: 90, delete_after_days: 365 },
  turns: { archive_after_days: 365, delete_after_days: 730 },
  tool_calls: { archive_after_days: 365, delete_after_days: 730 },
  llm_calls: { archive_after_days: 90, delete_after_days: 365 },
  events: { archive_after_days: 365, delete_after_days: 730 },
  audit: { archive_after_days: 365, delete_after_days: 2555 },
};

const retentionKinds = Object.keys(usual) as readonly RetentionKind[];

/** The kind of data of each table. */
export const kindOfTable: Readonly<Record<PartitionedTable, RetentionKind>> = {
  turn: "turns",
  tool_call: "tool_calls",
  llm_call: "llm_calls",
  run_event: "events",
  audit_log: "audit",
};

/** Returns the policy of a tenant: the defaults, with its settings over them. */
export function policyOf(settings: RetentionSettings = {}): RetentionPolicy {
  const merged = Object.entries(usual).map(([kind, stages]) => {
    const given = Object.entries(settings[kind as RetentionKind] ?? {});
    return [
      kind,
      { ...stages, ...Object.fromEntries(given.filter(([, days]) => days !== undefined)) },
    ];
  });
  return Object.fromEntries(merged) as RetentionPolicy;
}

const dayMs = 86_400_000;

/** Returns the time before which data has reached a stage; null if the stage never begins. */
export function limitOf(days: StageAge, now: Date): Date | null {
  return days === "off" ? null : new Date(now.getTime() - days * dayMs);
}
