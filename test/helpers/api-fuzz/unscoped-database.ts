import type { Database } from "../../../src/storage/database.ts";
import type { DatabaseClient, DatabasePool } from "../../../src/storage/pool.ts";

/** Conditions on the tenant, each with what leaves it out. Values stay used, since Postgres wants the type of each. */
const conditions: readonly (readonly [RegExp, string])[] = [
  [/(?:\b\w+\.)?\btenant_id\s*=\s*(\$\d+)(?:::uuid)?(?![\w:])/g, "($1::uuid is not null)"],
  [/\b\w+\.tenant_id\s*=\s*\w+\.(?:tenant_)?id\b/g, "true"],
  [/(\.tenant (?:set [^`]*? )?where )id\s*=\s*(\$\d+)::uuid/g, "$1($2::uuid is not null)"],
];

/** Returns a statement without its conditions on the tenant. */
export function withoutTenant(text: string): string {
  return conditions.reduce((left, [form, without]) => left.replaceAll(form, without), text);
}

export interface UnscopedDatabase extends Database {
  /** Statements whose conditions were left out, as the code has them. */
  readonly rewritten: ReadonlySet<string>;
}

const tenantSet = /set local app\.tenant\b/;
const ends = /^\s*(?:commit|end|abort|rollback(?!\s+(?:(?:work|transaction)\s+)?to))\b/i;

/**
 * A database on which statements of tenants have no condition on the tenant, so that row-level security alone keeps tenants
 * apart. Upkeep, which row-level security lets through, keeps its conditions. Without `rowSecurity` there is nothing
 * that keeps tenants apart.
 */
export function unscopedDatabase(
  database: Database,
  { rowSecurity = true }: { readonly rowSecurity?: boolean } = {},
): UnscopedDatabase {
  const { pool } = database;
  const rewritten = new Set<string>();
  const connect = async (): Promise<DatabaseClient> => {
    const client = await pool.connect();
    let isOfTenant = false;
    return {
      ...(client.lost && { lost: client.lost }),
      release: (error) => client.release(error),
      async query(query, values) {
        const config = typeof query === "string" ? { text: query } : query;
        const { text, name } = config;
        if (tenantSet.test(text)) isOfTenant = true;
        if (ends.test(text)) isOfTenant = false;
        let changed = isOfTenant ? withoutTenant(text) : text;
        if (changed !== text) rewritten.add(text);
        if (!rowSecurity) changed = changed.replaceAll(/set local role "[^"]*"; /g, "");
        return client.query(
          {
            ...config,
            text: changed,
            // A name stands for one text, and the statement may run with its conditions too.
            ...(name !== undefined && changed !== text && { name: `u_${name}`.slice(0, 63) }),
          },
          values,
        );
      },
    };
  };
  const unscoped: DatabasePool = {
    ...(pool.heldLocks && { heldLocks: pool.heldLocks }),
    connect,
    async query(query, values) {
      const client = await connect();
      try {
        return await client.query(query, values);
      } finally {
        client.release();
      }
    },
    end: () => pool.end(),
  };
  return { kind: database.kind, pool: unscoped, close: () => database.close(), rewritten };
}
