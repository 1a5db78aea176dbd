import { createHash } from "node:crypto";
import type { QueryConfig } from "../../storage/pool.ts";
import { quoteIdentifier } from "../../storage/quote-identifier.ts";

type Statement = Omit<QueryConfig, "values">;

/** Statements on the memory of one run, whose id is $1 in each. Those that change it expect the run's lock. */
export interface MemoryStatements {
  /** Waits until no other transaction has the run; ends with the transaction. */
  readonly lock: Statement;
  readonly list: Statement;
  /** $2 is the key. */
  readonly read: Statement;
  /** $2 the number of the change, $3 the key, $4 the value, $5 its hash. Gives a {@link ChangeRow}. */
  readonly write: Statement;
  /** $2 the number of the change, $3 the key. Gives a {@link ChangeRow}. */
  readonly delete: Statement;
  /** $2 is the number of the last change that stays. */
  readonly rewind: Statement;
  /** Gives the number of the last change as `last`; 0 for none. */
  readonly last: Statement;
  readonly clear: Statement;
}

export interface ChangeRow {
  /** Number of the last change before this one; 0 for none. */
  readonly last: number;
  /** False where the number was not above that; nothing was changed then. */
  readonly made: boolean;
  /** Whether there was a value before. */
  readonly existed: boolean;
}

/** @throws InvalidIdentifierError for a schema that Postgres cannot have */
export function memoryStatements(schema: string): MemoryStatements {
  const quoted = quoteIdentifier(schema);
  const memory = `${quoted}.experiment_memory`;
  const changes = `${quoted}.experiment_memory_changes`;
  const prefix = `experiment-memory-${createHash("sha256").update(schema).digest("hex").slice(0, 12)}`;
  const named = (name: string, text: string): Statement => ({ name: `${prefix}-${name}`, text });
  const logged = `last as (select coalesce(max(change), 0) as change from ${changes} where run_id = $1),
    logged as (
      insert into ${changes} (run_id, change, key, before, before_hash)
      select $1, $2::integer, $3, known.value, known.hash
      from last left join ${memory} as known on known.run_id = $1 and known.key = $3
      where last.change < $2
      returning before)`;
  const changeRow = `select last.change as last, exists (select from logged) as made,
      exists (select from logged where before is not null) as existed from last`;
  return {
    lock: named("lock", "select pg_advisory_xact_lock(hashtextextended($1, $2))"),
    list: named("list", `select key from ${memory} where run_id = $1`),
    read: named("read", `select value, hash from ${memory} where run_id = $1 and key = $2`),
    write: named(
      "write",
      `with ${logged},
    written as (
      insert into ${memory} (run_id, key, value, hash, change) select $1, $3, $4, $5::bytea, $2::integer from logged
      on conflict (run_id, key) do update
      set value = excluded.value, hash = excluded.hash, change = excluded.change, updated_at = excluded.updated_at)
    ${changeRow}`,
    ),
    delete: named(
      "delete",
      `with ${logged},
    deleted as (delete from ${memory} using logged where run_id = $1 and key = $3)
    ${changeRow}`,
    ),
    rewind: named("rewind", rewindStatement(memory, changes)),
    last: named(
      "last",
      `select coalesce(max(change), 0) as last from ${changes} where run_id = $1`,
    ),
    clear: named(
      "clear",
      `with forgotten as (delete from ${changes} where run_id = $1) delete from ${memory} where run_id = $1`,
    ),
  };
}

/**
 * A key gets the value before its first change that is taken back, with the number and the time of the change that had
 * written it.
 */
function rewindStatement(memory: string, changes: string): string {
  return `with undone as (delete from ${changes} where run_id = $1 and change > $2 returning change, key, before, before_hash),
    first as (select distinct on (key) key, before, before_hash from undone order by key, change),
    removed as (
      delete from ${memory} as known using first
      where known.run_id = $1 and known.key = first.key and first.before is null),
    earlier as (
      select distinct on (key) key, change, made_at from ${changes} where run_id = $1 and change <= $2
      order by key, change desc)
    insert into ${memory} (run_id, key, value, hash, change, updated_at)
    select $1, key, first.before, first.before_hash, earlier.change, earlier.made_at from first join earlier using (key)
    where first.before is not null
    on conflict (run_id, key) do update
    set value = excluded.value, hash = excluded.hash, change = excluded.change, updated_at = excluded.updated_at`;
}
