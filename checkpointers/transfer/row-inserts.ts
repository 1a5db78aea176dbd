import type { Queryable } from "../../src/storage/pool.ts";

/** Characters of rows, about, that are sent at a time. */
const PORTION = 2 ** 20;

/** Column types by name. Rows have `bytea` as base64, and `jsonb` as the data itself. */
type Columns = Readonly<
  Record<string, "text" | "integer" | "bigint" | "bigint[]" | "bytea" | "jsonb">
>;

/** Collects rows for one table, and inserts many with one statement. */
export class RowInserts<const Of extends Columns> {
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
    const given = entries.map(([name, type]) => `${name} ${type === "bytea" ? "text" : type}`);
    const values = entries.map(([name, type]) =>
      type === "bytea" ? `decode(${name}, 'base64')` : name,
    );
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
