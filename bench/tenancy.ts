/**
 * The cost of row-level security: microseconds (medians) of a statement by a prepared name, of a `put`, and of a step of a
 * graph, in the transactions of a tenant and without any, in turns on one database. The step is also measured under the
 * fence of a claimed run, as a worker executes it. Prints the medians and their ratios to what has no transaction.
 *
 *   npx tsx bench/tenancy.ts [--rounds 1000] [--steps 50] [--repeats 7] [--database postgres://…]
 */
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { PostgresCheckpointer } from "../checkpointers/postgres.ts";
import { type Database, openDatabase } from "../src/storage/database.ts";
import { openPlatform } from "../src/storage/platform/open-platform.ts";
import type { DatabasePool } from "../src/storage/pool.ts";
import { ThreadFences } from "../src/storage/tenant-pool.ts";
import { median } from "./helpers/median.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "1000" },
    steps: { type: "string", default: "50" },
    repeats: { type: "string", default: "7" },
    database: {
      type: "string",
      default: process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test",
    },
  },
});
const rounds = Number(options.rounds);
const steps = Number(options.steps);
const repeats = Number(options.repeats);
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

/** Puts, and readings of an attachment that is not there, on a thread of its own. */
function subject(pool: DatabasePool, schema: string) {
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

const State = Annotation.Root({
  lines: Annotation<string[]>({ reducer: (all, added) => [...all, ...added], default: () => [] }),
});

/** Returns the milliseconds of a step of a graph on a new thread, each of whose checkpoints is waited for. */
async function stepMs(saver: PostgresCheckpointer, threadId: string): Promise<number> {
  const graph = new StateGraph(State)
    .addNode("step", ({ lines }) => ({ lines: [`line ${lines.length} ${"x".repeat(200)}`] }))
    .addEdge(START, "step")
    .addConditionalEdges("step", ({ lines }) => (lines.length < steps ? "step" : END))
    .compile({ checkpointer: saver });
  const start = performance.now();
  await graph.invoke(
    {},
    { configurable: { thread_id: threadId }, recursionLimit: steps + 2, durability: "sync" },
  );
  return (performance.now() - start) / steps;
}

/** A tenant with a claimed run, under whose fence threads are written. */
async function claimedRun(database: Database, schema: string) {
  const { tenants, instances, runs, claims } = await openPlatform(database, { schema });
  const { id: tenantId } = await tenants.create({ name: "bench" });
  const { id: instanceId } = await instances.create(tenantId, { threadId: "t", agent: "bench" });
  await runs.create(tenantId, { instanceId, request: {} });
  const run = await claims.claim({ worker: "bench", leaseMs: 3_600_000 });
  if (run === null) throw new Error("Expected a run to claim, got none.");
  return { tenantId, claim: { runId: run.id, epoch: run.epoch } };
}

/** Prints a line of medians, with their ratios to the last one. */
function printMedians(name: string, times: Readonly<Record<string, readonly number[]>>): void {
  const medians = Object.entries(times).map(([kind, ms]) => [kind, median(ms) * 1000] as const);
  const bare = medians.at(-1)?.[1] ?? Number.NaN;
  const cells = medians.map(
    ([kind, us]) => `${kind} ${us.toFixed(0)} µs (${(us / bare).toFixed(2)})`,
  );
  console.log(`${name.padEnd(6)}${cells.join("  ")}`);
}

async function measure(database: Database): Promise<void> {
  const schema = `bench_${randomUUID().slice(0, 8)}`;
  const bare = withoutTenants(database.pool);
  try {
    const subjects = { tenant: subject(database.pool, schema), bare: subject(bare, schema) };
    // The tables are made with all statements.
    await subjects.tenant.setup();
    console.log(`\n${database.kind}`);
    for (const kind of ["read", "put"] as const) {
      const times = { tenant: [] as number[], bare: [] as number[] };
      for (let round = -50; round < rounds; round += 1) {
        for (const [name, of] of Object.entries(subjects)) {
          const start = performance.now();
          await of[kind]();
          if (round >= 0) times[name as keyof typeof times].push(performance.now() - start);
        }
      }
      printMedians(kind, times);
    }

    const { tenantId, claim } = await claimedRun(database, schema);
    const fences = new ThreadFences(schema);
    const savers = {
      fenced: new PostgresCheckpointer(database.pool, { schema, tenantId, fences }),
      tenant: new PostgresCheckpointer(database.pool, { schema, tenantId }),
      bare: new PostgresCheckpointer(bare, { schema }),
    };
    const times = { fenced: [] as number[], tenant: [] as number[], bare: [] as number[] };
    const kinds = Object.keys(savers) as (keyof typeof savers)[];
    // The first repeat warms up. Each begins with another kind.
    for (let repeat = 0; repeat <= repeats; repeat += 1) {
      for (let at = 0; at < kinds.length; at += 1) {
        const kind = kinds[(at + repeat) % kinds.length] as keyof typeof savers;
        const threadId = randomUUID();
        if (kind === "fenced") fences.fence(threadId, claim);
        const ms = await stepMs(savers[kind], threadId);
        if (repeat > 0) times[kind].push(ms);
      }
    }
    printMedians("step", times);
  } finally {
    await database.pool.query(`drop schema if exists ${schema} cascade`);
  }
}

for (const given of [{ inMemory: true }, { url: options.database }]) {
  const database = await openDatabase(given);
  try {
    await measure(database);
  } finally {
    await database.close();
  }
}
