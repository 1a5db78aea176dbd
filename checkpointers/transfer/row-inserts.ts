import type { Queryable } from "../../src/storage/pool.ts";

/** Characters of rows, about, that are sent at a time. */
const PORTION = 2 ** 20;

/** Rows have `bytea` as base64, and `jsonb` as the data itself. */
type ColumnType =
  | "text"
  | "integer"
  | "bigint"
  | "bigint[]"
  | "bytea"
  | "jsonb"
  /** JSON's own null stays one. */
  | "jsonb not null";

const GIVEN: Partial<Record<ColumnType, string>> = { bytea: "text", "jsonb not null": "jsonb" };
const STORED: Partial<Record<ColumnType, (name: string) => string>> = {
  bytea: (name) => `decode(${name}, 'base64')`,
  "jsonb not null": (name) => `coalesce(${name}, 'null')`,
};

/** Collects rows for one table, and inserts many with one statement. */
export class RowInserts<const Of extends Readonly<Record<string, ColumnType>>> {
  #rows: string[] = [];
  #size = 0;
  readonly #statement: string;

  constructor(
    private readonly database: Queryable,
    /** As SQL. */
    table: string,
    columns: Of,
    /** What follows the rows, as `on conflict do nothing`. */
    conflict = "",
  ) {
    const entries = Object.entries(columns);
    const given = entries.map(([name, type]) => `${name} ${GIVEN[type] ?? type}`);
    const values = entries.map(([name, type]) => STORED[type]?.(name) ?? name);
    this.#statement = `insert into ${table} (${Object.keys(columns).join(", ")})
      select ${values.join(", ")} from json_to_recordset($1::json) as given (${given.join(", ")}) ${conflict}`;
  }

  async add(row: Readonly<Record<keyof Of, unknown>>): Promise<void> {
    const text = JSON.stringify(row);
    this.#rows.push(text);
    this.#size += text.length;
    if (this.#size >= PORTION) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#rows.length === 0) return;
    const rows = `[${this.#rows.join(",")}]`;
    this.#rows = [];
    this.#size = 0;
    await this.database.query(this.#statement, [rows]);
  }
}
