/**
 * What a database of many threads costs: listing them, deleting a fork that has many siblings, deleting a thread, and
 * verifying long ones. Prints milliseconds (medians), and the ratio of each to the smallest size in its column.
 *
 *   npx tsx bench/thread-scale.ts [--checkpoints 10000,100000,1000000] [--forks 100,2000,18000] [--lengths 500,4000] [--repeats 9] [--database postgres://…] [--pglite]
 *
 * Rows are made in SQL, 20 checkpoints a thread. A million takes 3 GB of disk, which is given back.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { uuid6, type Checkpoint } from "@langchain/langgraph-checkpoint";
import { PostgresCheckpointer } from "../checkpointers/postgres.ts";
import { openDatabase, type Database } from "../src/storage/database.ts";
import { median } from "./helpers/median.ts";

const { values: options } = parseArgs({
  options: {
    checkpoints: { type: "string", default: "10000,100000,1000000" },
    forks: { type: "string", default: "100,2000,18000" },
    lengths: { type: "string", default: "500,4000" },
    repeats: { type: "string", default: "9" },
    pglite: { type: "boolean", default: false },
    database: {
      type: "string",
      default: process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test",
    },
  },
});
const sizes = (given: string) =>
  given
    .split(",")
    .filter((size) => size !== "")
    .map(Number);
const repeats = Number(options.repeats);
const perThread = 20;

const folder = options.pglite ? await mkdtemp(join(tmpdir(), "thread-scale-")) : null;
const database: Database = await openDatabase(
  folder === null ? { url: options.database } : { folder },
);
const schema = `bench_${randomUUID().slice(0, 8)}`;
const { pool } = database;
const saver = () => new PostgresCheckpointer(pool, { schema });

async function timed(work: (round: number) => Promise<unknown>, rounds = repeats) {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    await work(round);
    times.push(performance.now() - start);
  }
  return median(times);
}

/** Adds threads of 20 checkpoints each, until there are so many checkpoints. */
async function fill(from: number, to: number): Promise<void> {
  await pool.query(`insert into ${schema}.checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, body, segments, hash, metadata, summary)
    select 'thread-' || n / ${perThread}, '', to_char(n, 'FM000000000000'), null, 'null', decode(repeat(md5(n::text), 30), 'hex'),
      array[1000000 + n / ${perThread}, 0, 1 + n % ${perThread}], decode(md5(n::text) || md5(n::text), 'hex'), '{"step": 1}',
      jsonb_build_object('bytes', 1000, 'agent', 'agent-' || n / ${perThread} % 7,
        'status', case n / ${perThread} % 50 when 0 then 'FAILED' else 'COMPLETED' end)
    from generate_series(${from}::bigint, ${to - 1}) n`);
  await pool.query(`insert into ${schema}.checkpoint_log_uses (log_id, thread_id)
    select 1000000 + t, 'thread-' || t from generate_series(${from / perThread}::bigint, ${to / perThread - 1}) t`);
  await pool.query(`insert into ${schema}.checkpoint_elements (log_id, idx, blob)
    select 1000000 + n / ${perThread}, n % ${perThread}, decode(repeat(md5(n::text), 30), 'hex') from generate_series(${from}::bigint, ${to - 1}) n`);
}

const cell = (ms: number) => ms.toFixed(1).padStart(9);

async function listing(): Promise<void> {
  console.log("\ncheckpoints   first page  deep page  status  agent    prune  delete (ms)");
  let made = 0;
  for (const size of sizes(options.checkpoints)) {
    await fill(made, size);
    made = size;
    const fresh = saver();
    let cursor: string | undefined;
    for (let page = 0; page < 20; page += 1) {
      const { next } = await fresh.listThreads({ limit: 50, ...(cursor && { cursor }) });
      cursor = next ?? cursor;
    }
    const seen = made / perThread;
    const times = [
      await timed(() => fresh.listThreads({ limit: 50 })),
      await timed(() => fresh.listThreads({ limit: 50, cursor: cursor! })),
      await timed(() => fresh.listThreads({ limit: 50, status: "FAILED" })),
      await timed(() => fresh.listThreads({ limit: 50, agent: "agent-3" })),
      await timed((round) =>
        fresh.prune({ threadId: `thread-${seen - 1 - round}`, keep: "latest" }),
      ),
      await timed((round) => fresh.deleteThread(`thread-${round + 1}`)),
    ];
    console.log(`${size.toLocaleString("en").padStart(11)} ${times.map(cell).join("")}`);
    // What was deleted is put back, so that the next sizes hold.
    await fill(perThread, perThread * (repeats + 1));
  }
}

async function forking(): Promise<void> {
  console.log("\nsiblings   delete a fork (ms)");
  const thread = randomUUID();
  const last = await grow(thread, 50);
  let made = 0;
  for (const size of sizes(options.forks)) {
    await pool.query(
      `insert into ${schema}.checkpoints
        (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, type, body, segments, hash, metadata, summary)
      select 'fork-' || n, checkpoint_ns, checkpoint_id, null, checkpoint, type, body, segments, hash, metadata, summary
      from ${schema}.checkpoints, generate_series(${made}::int, ${size - 1}) n where thread_id = $1 and checkpoint_id = $2`,
      [thread, last],
    );
    await pool.query(
      `insert into ${schema}.checkpoint_log_uses (log_id, thread_id)
      select log_id, 'fork-' || n from ${schema}.checkpoint_log_uses, generate_series(${made}::int, ${size - 1}) n where thread_id = $1`,
      [thread],
    );
    made = size;
    const fresh = saver();
    await fresh.setup();
    const forks = Array.from({ length: repeats }, () => randomUUID());
    for (const newThreadId of forks) {
      await fresh.forkThread({ threadId: thread, checkpointId: last, newThreadId });
    }
    const time = await timed((round) => fresh.deleteThread(forks[round]!));
    console.log(`${size.toLocaleString("en").padStart(8)} ${cell(time)}`);
  }
}

/** A thread whose list grows by one message of 1 KB a checkpoint. @returns the id of its last checkpoint */
async function grow(thread: string, length: number): Promise<string> {
  const writer = saver();
  const items: unknown[] = [];
  let parent: string | undefined;
  for (let step = 0; step < length; step += 1) {
    items.push({ step, text: "x".repeat(1000) });
    const checkpoint: Checkpoint = {
      v: 4,
      id: uuid6(step % 1000),
      ts: new Date(0).toISOString(),
      channel_values: { items: items.slice() },
      channel_versions: { items: step },
      versions_seen: {},
    };
    const configurable = { thread_id: thread, ...(parent && { checkpoint_id: parent }) };
    const metadata = { source: "loop", step, parents: {} } as const;
    await writer.put({ configurable }, checkpoint, metadata, { items: step });
    parent = checkpoint.id;
  }
  return parent!;
}

async function verifying(): Promise<void> {
  console.log("\ncheckpoints   verify (ms a checkpoint)   export");
  for (const length of sizes(options.lengths)) {
    const thread = randomUUID();
    await grow(thread, length);
    const verify = await timed(() => saver().verifyThread(thread), 3);
    const exported = await timed(async () => {
      for await (const line of saver().exportThread(thread)) void line;
    }, 3);
    const each = (ms: number) => (ms / length).toFixed(3).padStart(9);
    console.log(`${length.toLocaleString("en").padStart(11)} ${each(verify)} ${each(exported)}`);
  }
}

try {
  await saver().setup();
  const { rows } = await pool.query<{ version: string }>("select version()");
  console.log(`Node ${process.version}, ${rows[0]!.version.split(" on ")[0]}`);
  await forking();
  await verifying();
  await listing();
} finally {
  await pool.query(`drop schema if exists ${schema} cascade`);
  await database.close();
  if (folder !== null) await rm(folder, { recursive: true, force: true });
}
