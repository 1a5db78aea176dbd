import type { DatabasePool } from "../../src/storage/pool.ts";

/** Rows as the saver writes them, made by hand, for statements that look at columns alone. */
export interface CheckpointRowOptions {
  readonly namespace?: string;
  readonly parent?: string;
  /** Flat triples: log, from, to. */
  readonly segments?: readonly number[];
  readonly metadata?: object;
  readonly body?: string;
}

export class CheckpointRows {
  constructor(
    readonly pool: DatabasePool,
    /** In its quotes. */
    readonly schema = `"public"`,
  ) {}

  async checkpoint(thread: string, id: string, options: CheckpointRowOptions = {}): Promise<void> {
    const { namespace = "", parent, segments = [], metadata = {}, body = "{}" } = options;
    await this.pool.query(
      `with uses as (
        insert into ${this.schema}.checkpoint_log_uses (log_id, thread_id)
        select distinct unnest($5::bigint[]), $1 on conflict do nothing
      )
      insert into ${this.schema}.checkpoints
        (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata, body, segments)
      values ($1, $2, $3, $4, 'null', $6, $7, $8::bigint[])`,
      [
        thread,
        namespace,
        id,
        parent ?? null,
        segments.filter((_, at) => at % 3 === 0),
        JSON.stringify(metadata),
        Buffer.from(body),
        [...segments],
      ],
    );
  }

  /** As many elements, of ten bytes each. */
  async log(log: number, elements: number): Promise<void> {
    await this.pool.query(
      `insert into ${this.schema}.checkpoint_elements (log_id, idx, blob)
      select $1, idx, '0123456789'::bytea from generate_series(0, $2::integer - 1) as idx`,
      [log, elements],
    );
  }

  async writeSet(thread: string, id: string, body = "written"): Promise<void> {
    await this.pool.query(
      `insert into ${this.schema}.checkpoint_write_sets values ($1, '', $2, 'task', 0, $3, '')`,
      [thread, id, Buffer.from(body)],
    );
  }

  /** Of each log the elements that are there. */
  async elements(): Promise<Record<string, number[]>> {
    const { rows } = await this.pool.query<{ log: string; idxs: number[] }>(
      `select log_id as log, array_agg(idx order by idx) as idxs from ${this.schema}.checkpoint_elements
      group by log_id`,
    );
    return Object.fromEntries(rows.map(({ log, idxs }) => [log, idxs]));
  }

  async checkpoints(thread: string): Promise<string[]> {
    const { rows } = await this.pool.query<{ id: string }>(
      `select checkpoint_id as id from ${this.schema}.checkpoints where thread_id = $1 order by id`,
      [thread],
    );
    return rows.map(({ id }) => id);
  }

  /** Rows of a thread by table, for the tables that have any. */
  async counts(thread: string): Promise<Record<string, number>> {
    const tables = ["checkpoints", "checkpoint_write_sets", "checkpoint_log_uses"];
    const stock = ["checkpoint_blobs", "checkpoint_writes"];
    const counts: Record<string, number> = {};
    for (const table of [...tables, ...stock]) {
      const { rowCount } = await this.pool.query(
        `select from ${this.schema}.${table} where thread_id = $1`,
        [thread],
      );
      if (rowCount) counts[table] = rowCount;
    }
    return counts;
  }

  async clear(): Promise<void> {
    await this.pool.query(
      `truncate ${[
        "checkpoints",
        "checkpoint_elements",
        "checkpoint_log_uses",
        "checkpoint_write_sets",
        "checkpoint_blobs",
        "checkpoint_writes",
      ]
        .map((table) => `${this.schema}.${table}`)
        .join(", ")}`,
    );
  }
}
