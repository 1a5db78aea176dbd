/**
 * Cost of keeping checkpoints: ours beside the stock Postgres saver, LangGraph's delta channels on it, and no saver at
 * all, on the same database in the same run. Prints time, bytes and growth.
 *
 *   npx tsx bench/checkpoints.ts [--steps 1000] [--repeats 3] [--database postgres://…] [--pglite] [--no-stock] [--threads 200] [--only steps,reading,threads]
 *   npx tsx bench/checkpoints.ts --only curve [--lengths 100,1000,10000] [--seconds 600] [--pglite]
 *
 * The stock saver takes minutes for 1,000 steps and a gigabyte of disk, which is given back. `curve` measures ours alone
 * on threads of several lengths. It leaves out lengths that would not end within so many seconds.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { MemorySaver, type BaseCheckpointSaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { PostgresCheckpointer } from "../checkpointers/postgres.ts";
import { openDatabase, type Database } from "../src/storage/database.ts";
import {
  deltaMessages,
  largeObject,
  messages,
  replacedLast,
  type LongThread,
  type MeasuredGraph,
} from "./helpers/long-threads.ts";
import { median } from "./helpers/median.ts";

const { values: options } = parseArgs({
  allowNegative: true,
  options: {
    steps: { type: "string", default: "1000" },
    repeats: { type: "string", default: "3" },
    threads: { type: "string", default: "200" },
    only: { type: "string", default: "steps,reading,threads" },
    lengths: { type: "string", default: "100,1000,10000" },
    seconds: { type: "string", default: "600" },
    pglite: { type: "boolean", default: false },
    stock: { type: "boolean", default: true },
    database: {
      type: "string",
      default: process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test",
    },
  },
});
const steps = Number(options.steps);
const repeats = Number(options.repeats);

type MakeSaver = () => BaseCheckpointSaver;

interface Kind {
  readonly name: string;
  readonly thread: (thread: LongThread) => LongThread;
  readonly saver: (database: Database, schema: string) => MakeSaver | undefined;
}

const none: Kind = { name: "no saver", thread: (thread) => thread, saver: () => undefined };
const ours = (name: string, elements: "freeze" | "compare"): Kind => ({
  name,
  thread: (thread) => thread,
  saver: (database, schema) => () => new PostgresCheckpointer(database.pool, { schema, elements }),
});
const stock = (name: string, thread: Kind["thread"]): Kind => ({
  name,
  thread,
  saver: (database, schema) => () =>
    new PostgresSaver(database.pool as never, undefined, { schema }),
});
const kinds: readonly Kind[] = [
  none,
  ours("ours", "freeze"),
  ours("ours, compare", "compare"),
  ...(options.stock
    ? [
        stock("stock", (thread) => thread),
        stock("stock, delta", (thread) => (thread === messages ? deltaMessages : thread)),
      ]
    : []),
];

async function open(): Promise<{ database: Database; close: () => Promise<void> }> {
  if (!options.pglite) {
    const database = await openDatabase({ url: options.database, statementTimeoutMs: 0 });
    return { database, close: () => database.close() };
  }
  const folder = await mkdtemp(join(tmpdir(), "stratagraph-bench-"));
  const database = await openDatabase({ folder });
  return {
    database,
    close: async () => {
      await database.close();
      await rm(folder, { recursive: true });
    },
  };
}

interface Written {
  /** Milliseconds of each step. */
  readonly times: readonly number[];
  readonly diskMb: number;
  readonly walMb: number;
  readonly graph: MeasuredGraph;
  readonly config: { readonly configurable: { readonly thread_id: string } };
  readonly makeSaver: MakeSaver | undefined;
  readonly schema: string;
}

const { database, close } = await open();
const schemas: string[] = [];

async function write(kind: Kind, thread: LongThread, count = steps): Promise<Written> {
  const schema = `bench_${randomUUID().slice(0, 8)}`;
  schemas.push(schema);
  const makeSaver = kind.saver(database, schema);
  const saver = makeSaver?.();
  if (saver !== undefined) await (saver as unknown as PostgresCheckpointer).setup();
  const at: number[] = [];
  const { graph, input } = kind.thread(thread)(count, saver, (time) => at.push(time));
  const config = { configurable: { thread_id: randomUUID() } };
  const wal = await walPosition();
  await graph.invoke(input, { ...config, recursionLimit: count + 10, durability: "sync" });
  const walMb = ((await walPosition()) - wal) / 2 ** 20;
  const times = at.slice(1).map((time, step) => time - at[step]!);
  const diskMb = saver === undefined ? 0 : await diskSize(schema);
  return { times, diskMb, walMb, graph, config, makeSaver, schema };
}

async function walPosition(): Promise<number> {
  const { rows } = await database.pool.query<{ bytes: string }>(
    "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes",
  );
  return Number(rows[0]!.bytes);
}

async function diskSize(schema: string): Promise<number> {
  const { rows } = await database.pool.query<{ bytes: string }>(
    `select sum(pg_total_relation_size(c.oid)) as bytes from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relkind = 'r'`,
    [schema],
  );
  return Number(rows[0]!.bytes) / 2 ** 20;
}

async function drop(schema: string): Promise<void> {
  await database.pool.query(`drop schema if exists "${schema}" cascade`);
}

async function timed(work: () => Promise<unknown>, times = 9): Promise<number> {
  const all: number[] = [];
  for (let round = 0; round < times; round += 1) {
    const start = performance.now();
    await work();
    all.push(performance.now() - start);
  }
  return median(all);
}

/** Steps around the tenth, and the last ones. */
function ends(times: readonly number[]): { early: number; late: number } {
  const width = Math.min(40, Math.floor(times.length / 3));
  return { early: median(times.slice(5, 5 + width)), late: median(times.slice(-width)) };
}

const ms = (value: number): string => value.toFixed(value < 10 ? 2 : 1).padStart(9);
const mb = (value: number): string => `${value.toFixed(1)} MB`.padStart(11);
const ratio = (value: number): string => `${value.toFixed(2)} x`.padStart(9);

async function steppingTable(title: string, thread: LongThread, of: readonly Kind[]) {
  console.log(`\n${title}: ${steps} steps, every checkpoint waited for`);
  console.log(
    `${"".padEnd(16)}${"step 10".padStart(9)}${"last".padStart(9)}  growth  ${"over none".padStart(9)}${"its growth".padStart(11)}${"on disk".padStart(12)}${"WAL".padStart(12)}   (ms; last = the last 40 steps)`,
  );
  const results = new Map<string, { early: number; late: number; disk: number; wal: number }>();
  for (const kind of of) {
    const rounds = kind.name.startsWith("stock") ? 1 : repeats;
    const runs: { early: number; late: number; disk: number; wal: number }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const run = await write(kind, thread);
      runs.push({ ...ends(run.times), disk: run.diskMb, wal: run.walMb });
      await drop(run.schema);
    }
    const middle = (pick: (run: (typeof runs)[number]) => number) => median(runs.map(pick));
    const result = {
      early: middle((run) => run.early),
      late: middle((run) => run.late),
      disk: middle((run) => run.disk),
      wal: middle((run) => run.wal),
    };
    results.set(kind.name, result);
    const base = results.get("no saver")!;
    const over = { early: result.early - base.early, late: result.late - base.late };
    console.log(
      `${kind.name.padEnd(16)}${ms(result.early)}${ms(result.late)}${ratio(result.late / result.early)}  ${ms(over.late)}${kind === none ? "".padStart(11) : ratio(over.late / over.early).padStart(11)}${mb(result.disk)}${mb(result.wal)}`,
    );
  }
}

interface Reading {
  /** Of a saver that remembers nothing. */
  readonly cold: number;
  readonly again: number;
  readonly history: number;
  readonly summaries: number;
  readonly update: number;
  readonly fork: number;
}

/** Milliseconds of reading a thread of messages, and of forking it in the middle. */
async function measureReading(kind: Kind, run: Written, length: number): Promise<Reading> {
  const fresh = () => kind.thread(messages)(length, run.makeSaver!(), () => {}).graph;
  const setUp = async (graph: MeasuredGraph) => {
    await graph.getState({ configurable: { thread_id: "none" } });
    return graph;
  };
  const rounds = kind.name.startsWith("stock") ? 3 : 9;
  const cold: number[] = [];
  const histories: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const graph = await setUp(fresh());
    cold.push(await timed(() => graph.getState(run.config), 1));
    const other = await setUp(fresh());
    histories.push(
      await timed(async () => {
        for await (const entry of other.getStateHistory(run.config, { limit: 10 })) void entry;
      }, 1),
    );
  }
  const warmGraph = await setUp(fresh());
  const again = await timed(() => warmGraph.getState(run.config), rounds);
  const saver = run.makeSaver!() as unknown as PostgresCheckpointer;
  const isOurs = saver instanceof PostgresCheckpointer;
  const threadId = run.config.configurable.thread_id;
  const summaries = isOurs
    ? await timed(() => saver.listSummaries({ threadId, limit: 10 }))
    : Number.NaN;
  const [middle] = await takeAt(warmGraph, run.config, length);
  const update = await timed(
    () => warmGraph.updateState(middle!.config, { messages: [] }, "work"),
    rounds,
  );
  const fork = isOurs
    ? await timed(() => {
        const checkpointId = checkpointIdOf(middle!.config);
        return saver.forkThread({ threadId, checkpointId, newThreadId: randomUUID() });
      })
    : Number.NaN;
  return { cold: median(cold), again, history: median(histories), summaries, update, fork };
}

async function readingTable(lengths: readonly number[]) {
  console.log(
    "\nReading the thread of messages, from a saver that remembers nothing (ms, medians)",
  );
  console.log(
    `${"".padEnd(16)}${"steps".padStart(6)}${"getState".padStart(10)}${"/serializer".padStart(12)}${"again".padStart(10)}${"history 10".padStart(11)}${"/getState".padStart(10)}${"summaries".padStart(10)}${"updateState".padStart(12)}${"forkThread".padStart(11)}`,
  );
  for (const kind of kinds.slice(1)) {
    for (const length of lengths) {
      const run = await write(kind, messages, length);
      const { values } = await run.graph.getState(run.config);
      const floor = await serializerAlone(values["messages"] as readonly unknown[]);
      const { cold, again, history, summaries, update, fork } = await measureReading(
        kind,
        run,
        length,
      );
      console.log(
        `${kind.name.padEnd(16)}${String(length).padStart(6)} ${ms(cold)}${ratio(cold / floor).padStart(12)} ${ms(again)}  ${ms(history)}${ratio(history / cold).padStart(10)} ${ms(summaries)}   ${ms(update)}  ${ms(fork)}`,
      );
      await drop(run.schema);
    }
  }
}

async function curveTable(lengths: readonly number[], seconds: number) {
  console.log("\nOur saver on threads of messages (ms, medians; step = the last 40 steps)");
  const titles = [
    "no saver",
    "step",
    "over none",
    "getState",
    "again",
    "history 10",
    "summaries",
    "updateState",
    "forkThread",
    "on disk",
  ];
  console.log(`${"steps".padStart(6)}${titles.map((title) => title.padStart(12)).join("")}`);
  const [kind] = kinds.slice(1);
  const start = performance.now();
  let before = { length: 0, took: 0 };
  for (const length of lengths) {
    const began = performance.now();
    // The time of a step grows with the thread: LangGraph's reducer of messages goes through all of them.
    const expected = before.took * (length / (before.length || 1)) ** 1.5;
    if (began - start + expected > seconds * 1000) {
      console.log(
        `${String(length).padStart(6)}   left out: it may take ${(expected / 1000).toFixed(0)} s`,
      );
      break;
    }
    const base = ends((await write(none, messages, length)).times).late;
    const run = await write(kind!, messages, length);
    const { late } = ends(run.times);
    const { cold, again, history, summaries, update, fork } = await measureReading(
      kind!,
      run,
      length,
    );
    const all = [base, late, late - base, cold, again, history, summaries, update, fork];
    console.log(
      `${String(length).padStart(6)}${all.map((time) => ms(time).padStart(12)).join("")}${mb(run.diskMb).padStart(12)}`,
    );
    await drop(run.schema);
    before = { length, took: performance.now() - began };
  }
}

async function takeAt(graph: MeasuredGraph, config: unknown, length: number) {
  const found: { config: unknown }[] = [];
  const filter = { step: Math.floor(length / 2) };
  for await (const entry of graph.getStateHistory(config, { limit: 1, filter })) found.push(entry);
  return found;
}

function checkpointIdOf(config: unknown): string {
  return (config as { configurable: { checkpoint_id: string } }).configurable.checkpoint_id;
}

/** LangGraph's serializer on the same elements, one by one. */
async function serializerAlone(elements: readonly unknown[]): Promise<number> {
  const { serde } = new MemorySaver();
  const dumped = await Promise.all(elements.map((element) => serde.dumpsTyped(element)));
  return timed(() => Promise.all(dumped.map(([type, bytes]) => serde.loadsTyped(type, bytes))));
}

async function payload(): Promise<number> {
  const run = await write(none, messages);
  void run;
  const memory = new MemorySaver();
  const at: number[] = [];
  const { graph, input } = messages(steps, undefined, (time) => at.push(time));
  const state = (await graph.invoke(input, { recursionLimit: steps + 10 })) as {
    messages: unknown[];
  };
  const [, bytes] = await memory.serde.dumpsTyped(state.messages);
  return bytes.byteLength / 2 ** 20;
}

async function throughput(kind: Kind, threads: number, length: number): Promise<number> {
  const schema = `bench_${randomUUID().slice(0, 8)}`;
  schemas.push(schema);
  const saver = kind.saver(database, schema)!();
  await (saver as unknown as PostgresCheckpointer).setup();
  const start = performance.now();
  await Promise.all(
    Array.from({ length: threads }, () => {
      const { graph, input } = messages(length, saver, () => {});
      const config = { configurable: { thread_id: randomUUID() } };
      return graph.invoke(input, { ...config, recursionLimit: length + 10, durability: "sync" });
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  await drop(schema);
  return (threads * length) / seconds;
}

try {
  const { rows } = await database.pool.query<{ version: string }>("select version()");
  console.log(
    `Node ${process.version}, ${rows[0]!.version.split(" on ")[0]}${options.pglite ? " (PGlite)" : ""}`,
  );
  console.log(`The state of the thread of messages: ${(await payload()).toFixed(2)} MB as JSON`);
  await write(none, messages, 300);
  for (const kind of kinds.slice(1, 3)) await drop((await write(kind, messages, 300)).schema);
  const parts = options.only.split(",");
  if (parts.includes("steps")) {
    await steppingTable("A message and a result of 1 KB a step", messages, kinds);
    const whole = kinds.filter(({ name }) => name !== "stock, delta");
    await steppingTable("An object of 1 MB, one small key changes", largeObject, whole);
    await steppingTable("The last of 101 messages is replaced", replacedLast, whole);
  }
  if (parts.includes("curve")) {
    await curveTable(options.lengths.split(",").map(Number), Number(options.seconds));
  }
  if (parts.includes("reading")) await readingTable([steps / 4, steps]);
  if (parts.includes("threads")) {
    const threads = Number(options.threads);
    console.log(`\n${threads} threads of 20 steps at the same time on one pool (steps a second)`);
    for (const kind of kinds.slice(1).filter(({ name }) => name !== "stock, delta")) {
      console.log(
        `${kind.name.padEnd(16)}${(await throughput(kind, threads, 20)).toFixed(0).padStart(9)}`,
      );
    }
  }
} finally {
  for (const schema of schemas) await drop(schema);
  await close();
}
