import { quoteIdentifier } from "../src/storage/quote-identifier.ts";
import type { Queryable } from "../src/storage/pool.ts";

/** As in the migration that makes the sequence. */
const BLOCK = 64;

/** Ids of logs, unique in the database: the sequence gives 64 at a time, so that hardly any put has to ask for one. */
export class LogIds {
  #next = 0;
  #end = 0;
  #asked: Promise<void> | undefined;
  readonly #statement: string;

  constructor(
    private readonly database: Queryable,
    schema: string,
  ) {
    const sequence = `${quoteIdentifier(schema)}.checkpoint_log_ids`;
    this.#statement = `select nextval('${sequence.replaceAll("'", "''")}') as first`;
  }

  async take(): Promise<number> {
    while (this.#next === this.#end) {
      this.#asked ??= this.#ask().finally(() => (this.#asked = undefined));
      await this.#asked;
    }
    this.#next += 1;
    return this.#next - 1;
  }

  async #ask(): Promise<void> {
    const { rows } = await this.database.query<{ first: string }>(this.#statement);
    this.#next = Number(rows[0]!.first);
    this.#end = this.#next + BLOCK;
  }
}
