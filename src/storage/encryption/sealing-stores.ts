import type { Platform } from "../platform/open-platform.ts";
import type { DatabasePool } from "../pool.ts";
import { tenantPool } from "../tenant-pool.ts";
import { withAllTenants } from "../tenant.ts";
import type { SealedTable } from "./reseal.ts";
import type { SealingStore } from "./stored-encryption.ts";

const byId = { id: "uuid" };
const byDay = { at: "timestamptz", id: "uuid" };
const byTenantAndDay = { tenant_id: "uuid", ...byDay };

/** The columns of the platform that are sealed, with the primary keys of their tables. */
const sealedColumns: readonly {
  readonly name: string;
  readonly key: Readonly<Record<string, string>>;
  readonly columns: readonly string[];
}[] = [
  { name: "agent_instance", key: byId, columns: ["title"] },
  { name: "run", key: byId, columns: ["request", "result"] },
  { name: "run_event", key: byDay, columns: ["data"] },
  { name: "turn", key: byTenantAndDay, columns: ["input", "output", "cause"] },
  { name: "tool_call", key: byTenantAndDay, columns: ["input", "output"] },
  { name: "llm_call", key: byTenantAndDay, columns: ["messages", "response"] },
  { name: "idempotency_key", key: { tenant_id: "uuid", key: "text" }, columns: ["answer"] },
  { name: "secret", key: { tenant_id: "uuid", name: "text" }, columns: ["value"] },
  { name: "webhook", key: byId, columns: ["secret"] },
  { name: "webhook_delivery", key: byId, columns: ["body"] },
  { name: "schedule", key: byId, columns: ["request"] },
  { name: "thread_event", key: byId, columns: ["payload"] },
];

export interface SealingStoresOptions {
  readonly openPlatform: () => Promise<Pick<Platform, "tables" | "tenants">>;
  /** The runtime's. */
  readonly tenantId: string;
  /** Whether those of all tenants are returned: of the ones that the table of tenants has, and the runtime's own. */
  readonly allTenants: boolean;
  /** Returns the checkpointer and the journal of a tenant. */
  readonly storesOf: (tenantId: string) => readonly SealingStore[];
}

/** Yields the stores of everything that a cipher seals, of one tenant or of all. */
export async function* sealingStores({
  openPlatform,
  tenantId,
  allTenants,
  storesOf,
}: SealingStoresOptions): AsyncGenerator<SealingStore> {
  yield* storesOf(tenantId);
  const platform = await openPlatform();
  if (allTenants) {
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await platform.tenants.list({ limit: 200, ...(cursor && { cursor }) });
      for (const { id } of page.items) if (id !== tenantId) yield* storesOf(id);
      cursor = page.next;
    }
  }
  const tables = platformTables(platform, allTenants ? null : tenantId);
  yield { sealedTables: () => Promise.resolve(tables) };
}

/** The tables of the platform with their rows of one tenant, or of all tenants for null. */
function platformTables(
  { tables }: Pick<Platform, "tables">,
  tenantId: string | null,
): readonly SealedTable[] {
  const { tenants, schema } = tables;
  const pool = tenantId === null ? upkeepPool(tenants.pool) : tenantPool(tenants, tenantId);
  return sealedColumns.flatMap(({ name, key, columns }) =>
    columns.map((column) => ({
      pool,
      name,
      table: `${schema}.${name}`,
      key,
      column,
      isJson: true,
      context: () => "",
    })),
  );
}

/** A pool each of whose statements reads and writes rows of all tenants, in a transaction of its own. */
function upkeepPool(pool: DatabasePool): DatabasePool {
  return {
    query: (query, values) => withAllTenants(pool, (client) => client.query(query, values)),
    connect: () => pool.connect(),
    end: () => pool.end(),
  };
}
