import type { PGlite, Results } from "@electric-sql/pglite";

/** The members of PGlite used here. */
export type PGliteProtocol = Pick<PGlite, "execProtocol" | "parsers" | "serializers">;

/** A statement with values, and the name under which it stays prepared. */
export interface PGliteStatement {
  readonly text: string;
  readonly name: string | undefined;
  readonly values: readonly unknown[];
}

interface Prepared {
  readonly text: string;
  readonly parameterTypes: readonly number[];
  readonly columns: readonly { readonly name: string; readonly dataTypeID: number }[];
}

/**
 * Runs statements with values on one PGlite, and keeps those with a name prepared. `PGlite.query` calls WebAssembly six
 * times and plans anew each time; a prepared statement takes one call, any other takes two.
 */
export class PGliteStatements {
  readonly #prepared = new Map<string, Prepared>();

  constructor(
    private readonly database: PGliteProtocol,
    private readonly protocol: typeof import("@electric-sql/pglite").protocol,
  ) {}

  async run<Row>(statement: PGliteStatement): Promise<Results<Row>> {
    const { serialize } = this.protocol;
    const { name = "", text } = statement;
    const known = this.#prepared.get(name);
    if (known !== undefined && known.text !== text)
      throw new RangeError(`The statement "${name}" was prepared with another text.`);
    const { parameterTypes, columns } = known ?? (await this.#prepare(statement));
    const { serializers } = this.database;
    const values = statement.values.map((value, at) => {
      if (value === null) return null;
      return serializers[parameterTypes[at]!]?.(value) ?? `${value as string | number}`;
    });
    const messages = await this.#send(
      serialize.bind({ statement: name, values }),
      serialize.execute(),
      serialize.sync(),
    );
    return this.#toResult(messages, columns);
  }

  async #prepare({ name = "", text }: PGliteStatement): Promise<Prepared> {
    const { serialize, messages: kinds } = this.protocol;
    const messages = await this.#send(
      serialize.parse({ name, text }),
      serialize.describe({ type: "S", name }),
      serialize.sync(),
    );
    const prepared = {
      text,
      parameterTypes:
        messages.find((message) => message instanceof kinds.ParameterDescriptionMessage)
          ?.dataTypeIDs ?? [],
      columns:
        messages.find((message) => message instanceof kinds.RowDescriptionMessage)?.fields ?? [],
    };
    if (name !== "") this.#prepared.set(name, prepared);
    return prepared;
  }

  #toResult<Row>(messages: readonly Message[], columns: Prepared["columns"]): Results<Row> {
    const { messages: kinds } = this.protocol;
    const { parsers } = this.database;
    const rows: Row[] = [];
    let tag: string[] = [];
    for (const message of messages) {
      if (message instanceof kinds.DataRowMessage) {
        const entries = columns.map(({ name, dataTypeID }, at) => {
          const text = message.fields[at]!;
          const parse = parsers[dataTypeID];
          return [name, text === null || !parse ? text : parse(text, dataTypeID)];
        });
        rows.push(Object.fromEntries(entries) as Row);
      } else if (message instanceof kinds.CommandCompleteMessage) tag = message.text.split(" ");
    }
    // A tag such as "INSERT 0 5" ends in a count; one such as "CREATE TABLE" has none.
    const count = Number(tag.at(-1));
    return {
      rows,
      fields: [...columns],
      command: tag[0],
      ...(Number.isInteger(count) && { rowCount: count }),
    };
  }

  async #send(...parts: readonly Uint8Array[]): Promise<readonly Message[]> {
    return (await this.database.execProtocol(Buffer.concat(parts))).messages;
  }
}

type Message = Awaited<ReturnType<PGlite["execProtocol"]>>["messages"][number];
