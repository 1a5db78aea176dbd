import { isoTime } from "../platform/checks.ts";
import type { PlatformTables } from "../platform/platform.ts";
import { queryAllTenants, queryTenant } from "../tenant.ts";
import { type HeldLock, lockThread, ThreadLockedError } from "../thread-lock.ts";

/** What a round moved of a tenant. Bytes of thinned checkpoints are as they were before the database compressed them. */
export interface RetentionMoves {
  readonly thinned: { threads: number; rows: number; bytes: number };
  /** Bytes of objects. */
  readonly archived: { threads: number; rows: number; bytes: number };
  /** Archives past their age, and what was deleted without one. */
  readonly deleted: { threads: number; archives: number; rows: number; bytes: number };
  /** Threads, days and archives that failed: the next round tries them again. */
  failures: number;
}

export function noMoves(): RetentionMoves {
  return {
    thinned: { threads: 0, rows: 0, bytes: 0 },
    archived: { threads: 0, rows: 0, bytes: 0 },
    deleted: { threads: 0, archives: 0, rows: 0, bytes: 0 },
    failures: 0,
  };
}

/** Takes the lock of retention for this caller alone; null if another process has it. */
export async function lockRetention(
  tables: Pick<PlatformTables, "tenants" | "schema">,
): Promise<HeldLock | null> {
  const { pool } = tables.tenants;
  // A schema of its own keeps it apart from the lock of a thread.
  return lockThread({ pool }, "retention", { schema: `retention of ${tables.schema}` }).catch(
    (thrown: unknown) => {
      if (thrown instanceof ThreadLockedError) return null;
      throw thrown;
    },
  );
}

/** How far retention has come in each tenant. */
export class RetentionStates {
  constructor(private readonly tables: PlatformTables) {}

  /** The last round of a tenant; null before the first. */
  async lastRound(
    tenantId: string,
  ): Promise<{ readonly at: string; readonly moves: RetentionMoves } | null> {
    const { tenants, schema } = this.tables;
    const { rows } = await queryTenant<{ last_round: RetentionMoves | null; updated_at: Date }>(
      tenants,
      tenantId,
      {
        text: `select last_round, updated_at from ${schema}.retention_state where tenant_id = $1::uuid`,
        values: [tenantId],
      },
    );
    const [row] = rows;
    if (row === undefined || row.last_round === null) return null;
    return { at: isoTime(row.updated_at), moves: row.last_round };
  }

  async saveRound(tenantId: string, moves: RetentionMoves): Promise<void> {
    await this.#save(tenantId, "last_round", JSON.stringify(moves), "jsonb");
  }

  /** The thread up to which checkpoints are thinned; empty before the first. */
  async thinnedUntil(tenantId: string): Promise<string> {
    const { tenants, schema } = this.tables;
    const { rows } = await queryTenant<{ thinned_until: string }>(tenants, tenantId, {
      text: `select thinned_until from ${schema}.retention_state where tenant_id = $1::uuid`,
      values: [tenantId],
    });
    return rows[0]?.thinned_until ?? "";
  }

  async saveThinned(tenantId: string, until: string): Promise<void> {
    await this.#save(tenantId, "thinned_until", until, "text");
  }

  /** The time of the oldest row of turns and calls that is in the database, of all tenants; null without rows. */
  async oldestRow(): Promise<Date | null> {
    const { tenants, schema } = this.tables;
    const { rows } = await queryAllTenants<{ at: Date | null }>(tenants.pool, {
      text: `select least((select at from ${schema}.turn order by at limit 1), (select at from ${schema}.tool_call order by at limit 1),
        (select at from ${schema}.llm_call order by at limit 1), (select at from ${schema}.run_event order by at limit 1)) as at`,
      values: [],
    });
    return rows[0]?.at ?? null;
  }

  async #save(
    tenantId: string,
    column: "last_round" | "thinned_until",
    value: string,
    type: string,
  ): Promise<void> {
    const { tenants, schema, clock } = this.tables;
    await queryTenant(tenants, tenantId, {
      text: `insert into ${schema}.retention_state (tenant_id, ${column}, updated_at) values ($1::uuid, $2::${type}, $3)
        on conflict (tenant_id) do update set ${column} = excluded.${column}, updated_at = excluded.updated_at`,
      values: [tenantId, value, clock.now()],
    });
  }
}
