import { z } from "zod";
import type { RetentionRound } from "../../engine/retention/retention-round.ts";
import type { Platform } from "../../storage/platform/open-platform.ts";
import { policyOf } from "../../storage/retention/policy.ts";
import type { RetentionMoves } from "../../storage/retention/retention-state.ts";
import type { Clock } from "../../clock.ts";
import type { Metrics } from "../metrics.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, type Route } from "../route.ts";

const stageAge = z
  .union([z.int().min(1), z.literal("off")])
  .describe("Days; `off` if the stage never begins.");
const rows = { archive_after_days: stageAge, delete_after_days: stageAge };
const count = z.int().min(0);
const moved = { threads: count, rows: count, bytes: count };

const retentionSchema = z
  .strictObject({
    policy: z
      .strictObject({
        checkpoints: z.strictObject({ thin_after_days: stageAge, ...rows }),
        turns: z.strictObject(rows),
        tool_calls: z.strictObject(rows),
        llm_calls: z.strictObject(rows),
        events: z.strictObject(rows),
        audit: z.strictObject(rows),
      })
      .describe("The defaults, with the settings of the tenant over them."),
    archives: z
      .boolean()
      .describe("Whether there is a place for archives: else data stays in the database."),
    last_round: z
      .strictObject({
        at: z.iso.datetime(),
        thinned: z.strictObject(moved).describe("Checkpoints that do not end a turn."),
        archived: z.strictObject(moved),
        deleted: z.strictObject({ ...moved, archives: count }),
        failures: count.describe("Threads, days and archives that the next round tries again."),
      })
      .nullable(),
  })
  .meta({ id: "Retention" });

/** Creates the route of a tenant's retention. */
export function retentionRoutes({ platform }: Pick<ApiBase, "platform">): readonly Route[] {
  const { archives, retention, tenants } = platform;
  return [
    defineRoute({
      method: "get",
      path: "/v1/retention",
      operationId: "getRetention",
      summary: "How long the tenant's data is kept, and what the last round of retention did.",
      tag: "usage",
      scopes: ["usage:read"],
      answers: { 200: { description: "The policy and the last round.", schema: retentionSchema } },
      async handle({ principal: { tenantId } }) {
        const [{ settings }, last] = await Promise.all([
          tenants.get(tenantId),
          retention.lastRound(tenantId),
        ]);
        const policy = policyOf(settings.retention);
        const lastRound = last === null ? null : { at: last.at, ...last.moves };
        return {
          status: 200,
          body: { policy, archives: archives.isConfigured, last_round: lastRound },
        };
      },
    }),
  ];
}

const stages = [
  "thinned",
  "archived",
  "deleted",
] as const satisfies readonly (keyof RetentionMoves)[];

/** Counts what a round moved, of all tenants together. */
export function countMoves(metrics: Pick<Metrics, "count">, round: RetentionRound): void {
  for (const { moves } of round.tenants) {
    for (const stage of stages) {
      const { rows: movedRows, bytes } = moves[stage];
      metrics.count(
        "stratagraph_retention_rows_total",
        "Rows and checkpoints that retention moved.",
        { stage },
        movedRows,
      );
      metrics.count(
        "stratagraph_retention_bytes_total",
        "Bytes that retention moved.",
        { stage },
        bytes,
      );
    }
    metrics.count(
      "stratagraph_retention_failures_total",
      "Threads, days and archives that failed.",
      {},
      moves.failures,
    );
  }
}

/** Adds the age of the oldest row that is in the database. */
export function addOldestRow(
  metrics: Pick<Metrics, "addSource">,
  { retention, clock }: Pick<Platform, "retention"> & { readonly clock: Clock },
): void {
  metrics.addSource(async () => {
    const oldest = await retention.oldestRow();
    const age = oldest === null ? 0 : (clock.now().getTime() - oldest.getTime()) / 1000;
    const help = "Seconds since the oldest turn, call or event in the database.";
    return [{ name: "stratagraph_oldest_row_age_seconds", help, value: Math.max(0, age) }];
  });
}
