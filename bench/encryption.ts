/**
 * Cost of encrypting stored values: a put of a step on a growing thread with a cipher and without, taken in turns in one
 * run on one database, the bytes that they store, and sealing alone. Prints medians and their ratios.
 *
 *   npx tsx bench/encryption.ts [--steps 300] [--repeats 5] [--kb 2] [--database postgres://…]
 */
import { randomBytes, randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { uuid6, type Checkpoint } from "@langchain/langgraph-checkpoint";
import { PostgresCheckpointer } from "../checkpointers/postgres.ts";
import { type Database, openDatabase } from "../src/storage/database.ts";
import { createValueCipher } from "../src/storage/encryption/value-cipher.ts";
import { median } from "./helpers/median.ts";

const { values: options } = parseArgs({
  options: {
    steps: { type: "string", default: "300" },
    repeats: { type: "string", default: "5" },
    kb: { type: "string", default: "2" },
    database: {
      type: "string",
      default: process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test",
    },
  },
});
const steps = Number(options.steps);
const repeats = Number(options.repeats);
const cipher = createValueCipher([{ id: "bench", key: randomBytes(32) }]);
/** Words, so that the database compresses what is not sealed as it would in practice. */
const words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"];
const text = (at: number): string => {
  let result = "";
  for (let n = at; result.length < Number(options.kb) * 1024; n = (n * 7 + 3) % 1_000_003) {
    result += `${words[n % words.length]} ${n} `;
  }
  return result;
};

/** A thread to which steps are added: a call and its result each. */
class Thread {
  readonly times: number[] = [];
  readonly #messages: unknown[] = [];
  #config: { configurable: Record<string, string> };

  constructor(readonly saver: PostgresCheckpointer) {
    this.#config = { configurable: { thread_id: randomUUID(), checkpoint_ns: "" } };
  }

  async step(at: number): Promise<void> {
    const call = { id: `call_${at}`, name: "search", args: { query: text(at).slice(0, 200) } };
    const added = [
      new AIMessage({ content: "", tool_calls: [call] }),
      new ToolMessage({ content: text(at), tool_call_id: call.id }),
    ];
    this.#messages.push(...added);
    const checkpoint: Checkpoint = {
      v: 4,
      id: uuid6(at),
      ts: new Date().toISOString(),
      channel_values: { messages: [...this.#messages], step: at },
      channel_versions: { messages: at + 1, step: at + 1 },
      versions_seen: { loop: { messages: at, step: at } },
    };
    const begun = performance.now();
    const metadata = { source: "loop" as const, step: at, parents: {} };
    const versions = { messages: at + 1, step: at + 1 };
    const stored = await this.saver.put(this.#config, checkpoint, metadata, versions);
    this.#config = stored as { configurable: Record<string, string> };
    await this.saver.putWrites(stored, [["messages", added]], `task-${at}`);
    this.times.push(performance.now() - begun);
  }
}

async function bytesOf({ pool }: Database, schema: string): Promise<number> {
  const { rows } = await pool.query<{ bytes: string }>(
    `select (select sum(pg_column_size(blob)) from ${schema}.checkpoint_elements)
      + (select sum(pg_column_size(body)) from ${schema}.checkpoints)
      + (select sum(pg_column_size(body)) from ${schema}.checkpoint_write_sets) as bytes`,
  );
  return Number(rows[0]!.bytes);
}

async function measure(database: Database): Promise<void> {
  const id = randomUUID().slice(0, 8);
  const [plainSchema, sealedSchema] = [`bench_plain_${id}`, `bench_sealed_${id}`];
  const plain = new PostgresCheckpointer(database.pool, { schema: plainSchema });
  const sealed = new PostgresCheckpointer(database.pool, { schema: sealedSchema, cipher });
  const times: { plain: number[]; sealed: number[] } = { plain: [], sealed: [] };
  const ratios: number[] = [];
  await Promise.all([plain.setup(), sealed.setup()]);
  // The first repeat warms up.
  for (let repeat = 0; repeat <= repeats; repeat += 1) {
    const pair = { plain: new Thread(plain), sealed: new Thread(sealed) };
    for (let at = 0; at < steps; at += 1) {
      const order = at % 2 === 0 ? [pair.plain, pair.sealed] : [pair.sealed, pair.plain];
      for (const thread of order) await thread.step(at);
    }
    if (repeat === 0) continue;
    times.plain.push(...pair.plain.times);
    times.sealed.push(...pair.sealed.times);
    ratios.push(median(pair.sealed.times) / median(pair.plain.times));
  }
  const [a, b] = [await bytesOf(database, plainSchema), await bytesOf(database, sealedSchema)];
  const per = (bytes: number) => Math.round(bytes / (steps * (repeats + 1)));
  console.log(
    `${database.kind}: a step ${median(times.plain).toFixed(2)} ms plain, ${median(times.sealed).toFixed(2)} ms sealed, ` +
      `ratio ${median(ratios).toFixed(2)} (${ratios.map((one) => one.toFixed(2)).join(", ")}); ` +
      `${per(a)} bytes a step plain, ${per(b)} sealed, ratio ${(b / a).toFixed(2)}`,
  );
  await database.pool.query(`drop schema ${plainSchema} cascade`);
  await database.pool.query(`drop schema ${sealedSchema} cascade`);
}

/** Microseconds of sealing and opening a value. */
function sealing(bytes: number): { seal: number; open: number } {
  const plain = randomBytes(bytes);
  const value = cipher.sealBytes(plain, "element 1 1");
  const timed = (work: () => unknown) => {
    const rounds = Array.from({ length: 9 }, () => {
      const begun = performance.now();
      for (let n = 0; n < 500; n += 1) work();
      return ((performance.now() - begun) * 1000) / 500;
    });
    return median(rounds);
  };
  return {
    seal: timed(() => cipher.sealBytes(plain, "element 1 1")),
    open: timed(() => cipher.openBytes(value, "element 1 1")),
  };
}

for (const bytes of [200, 2_048, 65_536]) {
  const { seal, open } = sealing(bytes);
  console.log(`${bytes} bytes: sealed in ${seal.toFixed(1)} µs, opened in ${open.toFixed(1)} µs`);
}
for (const given of [{ inMemory: true }, { url: options.database }]) {
  const database = await openDatabase(given);
  try {
    await measure(database);
  } finally {
    await database.close();
  }
}
