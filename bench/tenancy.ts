/**
 * The cost of row-level security: microseconds (medians) of a statement by a prepared name and of a `put`, in the
 * transaction of a tenant and without any, in turns, and the ratio of the two.
 *
 *   npx tsx bench/tenancy.ts [--rounds 1000] [--database postgres://…] [--pglite]
 */
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { PostgresCheckpointer } from "../checkpointers/postgres.ts";
import { openDatabase } from "../src/storage/database.ts";
import type { DatabasePool } from "../src/storage/pool.ts";
import { median } from "./helpers/median.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "1000" },
    pglite: { type: "boolean", default: false },
    database: {
      type: "string",
      default: process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test",
    },
  },
});
const database = await openDatabase(
  options.pglite ? { inMemory: true } : { url: options.database },
);
const schema = `bench_${randomUUID().slice(0, 8)}`;
const config = (thread_id: string, checkpoint_id?: string) => ({
  configurable: { thread_id, checkpoint_ns: "", ...(checkpoint_id && { checkpoint_id }) },
});

/** Leaves out what makes a statement that of a tenant: the same statements, as a user who reads all rows. */
function withoutTenants(pool: DatabasePool): DatabasePool {
  return {
    query: (...of) => pool.query(...of),
    async connect() {
      const client = await pool.connect();
      const skipped = { rows: [], rowCount: null, command: "" };
      return {
        release: () => client.release(),
        query: async (query, values) =>
          query === "commit" || (typeof query === "string" && query.includes("app.tenant"))
            ? skipped
            : client.query(query, values),
      };
    },
    end: () => pool.end(),
  };
}

/** Puts, and readings of the newest checkpoint, on a thread of its own. */
function subject(pool: DatabasePool) {
  const saver = new PostgresCheckpointer(pool, { schema });
  const thread = randomUUID();
  let parent: string | undefined;
  let made = 0;
  return {
    async put() {
      const id = uuid6((made += 1) % 1000);
      const checkpoint = {
        ...emptyCheckpoint(),
        id,
        channel_values: { text: `value ${made}` },
        channel_versions: { text: made },
      };
      const metadata = { source: "loop", step: made, parents: {} } as const;
      await saver.put(config(thread, parent), checkpoint, metadata, { text: made });
      parent = id;
    },
    read: () => saver.blobs.get(thread, "none"),
    setup: () => saver.setup(),
  };
}

try {
  const [tenant, bare] = [subject(database.pool), subject(withoutTenants(database.pool))];
  // The tables are made with all statements.
  await tenant.setup();
  console.log(`${database.kind}\n\n            tenant    bare   ratio`);
  for (const kind of ["read", "put"] as const) {
    const times = { tenant: [] as number[], bare: [] as number[] };
    for (let round = -50; round < Number(options.rounds); round += 1) {
      for (const [name, of] of Object.entries({ tenant, bare })) {
        const start = performance.now();
        await of[kind]();
        if (round >= 0) times[name as keyof typeof times].push(performance.now() - start);
      }
    }
    const [one, other] = [median(times.tenant), median(times.bare)];
    const micros = [one, other].map((ms) => (ms * 1000).toFixed(0).padStart(8));
    console.log(`${kind.padEnd(10)}${micros.join("")}${(one / other).toFixed(2).padStart(8)}`);
  }
} finally {
  await database.pool.query(`drop schema if exists ${schema} cascade`);
  await database.close();
}
