/**
 * The queue of runs on Postgres beside a plain graphile-worker, in the same run: milliseconds from queuing to start, one
 * run at a time, in another process; runs per second with 1 to 8 worker processes; both again with 100,000 queued runs.
 * Prints also the size of the table while 1,000,000 runs end, and milliseconds of lists and searches among their threads.
 *
 *   npx tsx bench/run-queue.ts [--singles 300] [--runs 4000] [--depth 100000] [--threads 1000000] [--repeats 3] [--database postgres://…]
 */
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Logger, makeWorkerUtils } from "graphile-worker";
import { type Database, openDatabase } from "../src/storage/database.ts";
import { systemClock } from "../src/clock.ts";
import { openPlatform, type Platform } from "../src/storage/platform/open-platform.ts";
import { median } from "./helpers/median.ts";
import { printTable } from "./helpers/table.ts";

const { values: options } = parseArgs({
  options: {
    singles: { type: "string", default: "300" },
    runs: { type: "string", default: "4000" },
    depth: { type: "string", default: "100000" },
    threads: { type: "string", default: "1000000" },
    repeats: { type: "string", default: "3" },
    database: {
      type: "string",
      default: process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test",
    },
  },
});
const [singles, runs, depth, threads, repeats] = [
  options.singles,
  options.runs,
  options.depth,
  options.threads,
  options.repeats,
].map(Number) as [number, number, number, number, number];
const program = fileURLToPath(new URL("helpers/queue-worker.ts", import.meta.url));

/** A queue, as the process that fills it uses it. */
interface Subject {
  readonly kind: "ours" | "graphile";
  readonly url: string;
  /** Queues a job, and returns its id. */
  add(): Promise<string>;
  /** Queues many by one statement. */
  fill(count: number): Promise<void>;
  /** Removes what is queued. */
  clear(): Promise<void>;
  readonly database: Database;
  close(): Promise<void>;
}

async function newDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `stratagraph_bench_${randomBytes(4).toString("hex")}`;
  const admin = await openDatabase({ url: options.database });
  await admin.pool.query(`create database ${name}`);
  const url = new URL(options.database);
  url.pathname = `/${name}`;
  const drop = async () => {
    await admin.pool.query(`drop database ${name} with (force)`);
    await admin.close();
  };
  return { url: url.toString(), drop };
}

async function openOurs(): Promise<Subject> {
  const { url, drop } = await newDatabase();
  const database = await openDatabase({ url });
  const platform = await openPlatform(database);
  const { id: tenantId } = await platform.tenants.create({ name: "bench" });
  const { id: definitionId } = await platform.agents.create(tenantId, {
    name: "a",
    definition: {},
  });
  const notices = database.openNotices?.("bench_queue", {
    clock: systemClock,
    onNotice: () => {},
    onChange: () => {},
    onError: console.error,
  });
  let made = 0;
  return {
    kind: "ours",
    url,
    database,
    async add() {
      const run = await platform.runs.createOnNewThread(tenantId, {
        threadId: `single-${(made += 1)}`,
        agent: "a",
        definitionId,
        isEphemeral: false,
        request: {},
      });
      notices?.send("queued");
      return run.id;
    },
    async fill(count) {
      await inUpkeep(
        database,
        `with made as (
          insert into stratagraph.agent_instance (id, tenant_id, definition_id, agent, thread_id, created_at)
          select gen_random_uuid(), '${tenantId}', '${definitionId}', 'a', gen_random_uuid()::text, now() - n * interval '1 second'
          from generate_series(1, ${count}) n returning id, thread_id
        ) insert into stratagraph.run (id, tenant_id, instance_id, thread_id, seq, kind, request)
        select gen_random_uuid(), '${tenantId}', id, thread_id, 1, 'turn', '{}' from made`,
      );
    },
    async clear() {
      await inUpkeep(database, "delete from stratagraph.run");
      await inUpkeep(database, "delete from stratagraph.agent_instance");
    },
    async close() {
      await notices?.close();
      await database.close();
      await drop();
    },
  };
}

async function inUpkeep(database: Database, text: string): Promise<void> {
  const client = await database.pool.connect();
  try {
    await client.query(
      `begin; set local app.upkeep = 'on'; set local statement_timeout = 0; ${text}; commit`,
    );
  } finally {
    client.release();
  }
}

async function openGraphile(): Promise<Subject> {
  const { url, drop } = await newDatabase();
  const database = await openDatabase({ url });
  const utils = await makeWorkerUtils({
    connectionString: url,
    logger: new Logger(() => () => {}),
  });
  await utils.migrate();
  return {
    kind: "graphile",
    url,
    database,
    async add() {
      const id = randomBytes(8).toString("hex");
      await utils.addJob("job", { id });
      return id;
    },
    async fill(count) {
      await inUpkeep(
        database,
        `select graphile_worker.add_job('job', json_build_object('id', n::text)) from generate_series(1, ${count}) n`,
      );
    },
    clear: () =>
      inUpkeep(
        database,
        "select graphile_worker.complete_jobs(array(select id from graphile_worker.jobs))",
      ),
    async close() {
      await utils.release();
      // Its sessions end a little later.
      await sleep(500);
      await database.close();
      await drop();
    },
  };
}

interface WorkerProcess {
  stop(): Promise<void>;
}

async function startWorker(
  { kind, url }: Subject,
  onStarts: (starts: readonly (readonly [string, number])[]) => void,
): Promise<WorkerProcess> {
  const child: ChildProcess = fork(program, [kind, url], { execArgv: ["--import", "tsx"] });
  await new Promise<void>((resolve, reject) => {
    child.on("message", (message) => {
      if (message === "ready") resolve();
      else onStarts(message as [string, number][]);
    });
    child.once("exit", (code) => reject(new Error(`the worker ended with ${code}`)));
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  return {
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const now = () => performance.timeOrigin + performance.now();

/** Jobs before those that are measured: until then the processes compile their code. */
const warmUp = 50;

/** Milliseconds from the call that queues a job until it starts in another process. */
async function pickUps(subject: Subject, count: number): Promise<readonly number[]> {
  const starts = new Map<string, number>();
  const worker = await startWorker(subject, (some) => {
    for (const [id, at] of some) starts.set(id, at);
  });
  await sleep(500);
  const queued = new Map<string, number>();
  for (let n = 0; n < warmUp + count; n += 1) {
    const at = now();
    queued.set(await subject.add(), at);
    await sleep(5 + (n % 7));
  }
  while ([...queued.keys()].some((id) => !starts.has(id))) await sleep(20);
  await worker.stop();
  return [...queued].slice(warmUp).map(([id, at]) => starts.get(id)! - at);
}

/** Jobs per second of a number of worker processes, from the first start to the last. */
async function rate(subject: Subject, of: { workers: number; count: number }): Promise<number> {
  const times: number[] = [];
  const workers = await Promise.all(
    Array.from({ length: of.workers }, () =>
      startWorker(subject, (some) => times.push(...some.map(([, at]) => at))),
    ),
  );
  await sleep(500);
  times.splice(0);
  await subject.fill(of.count);
  if (subject.kind === "ours") await subject.add();
  while (times.length < of.count) await sleep(50);
  await Promise.all(workers.map((worker) => worker.stop()));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  return (times.length / (last - first)) * 1_000;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const figure = (value: number, digits = 1) => value.toFixed(digits);

async function compare(): Promise<void> {
  const measured = { ours: [] as number[][], graphile: [] as number[][] };
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    for (const open of [openOurs, openGraphile]) {
      const subject = await open();
      const empty = await pickUps(subject, singles);
      const rates: number[] = [];
      for (const workers of [1, 2, 4, 8]) {
        rates.push(await rate(subject, { workers, count: runs }));
        await subject.clear();
      }
      await subject.fill(depth);
      await subject.database.pool.query("analyze");
      const adds: number[] = [];
      for (let n = 0; n < 200; n += 1) {
        const at = now();
        await subject.add();
        adds.push(now() - at);
      }
      const times: number[] = [];
      const worker = await startWorker(subject, (some) => times.push(...some.map(([, at]) => at)));
      while (times.length < runs) await sleep(50);
      await worker.stop();
      const deep = (times.length / (Math.max(...times) - Math.min(...times))) * 1_000;
      measured[subject.kind].push([
        quantile(empty, 0.5),
        quantile(empty, 0.99),
        ...rates,
        deep,
        median(adds),
      ]);
      console.error(
        subject.kind,
        measured[subject.kind]
          .at(-1)!
          .map((value) => figure(value))
          .join("  "),
      );
      await subject.close();
    }
  }
  const medians = (of: number[][]) => of[0]!.map((_, at) => median(of.map((row) => row[at]!)));
  const [ours, graphile] = [medians(measured.ours), medians(measured.graphile)];
  const ratio = ours.map((value, at) => value / graphile[at]!);
  const deepName = `${depth} queued, 1 worker /s`;
  printTable(
    [
      "queue",
      "pick-up p50 ms",
      "p99 ms",
      "1 worker /s",
      "2 /s",
      "4 /s",
      "8 /s",
      deepName,
      "add ms there",
    ],
    [
      ["ours", ...ours.map((value) => figure(value))],
      ["graphile-worker", ...graphile.map((value) => figure(value))],
      ["ours / graphile-worker", ...ratio.map((value) => figure(value, 2))],
    ],
  );
}

/** Executes all that is queued a thousand runs at a time, as their rows see it, while autovacuum does its work. */
async function measureBloat(database: Database, platform: Platform): Promise<void> {
  const sizes = async () => {
    const { rows } = await database.pool.query<{ table: string; queued: string }>(
      `select pg_table_size('stratagraph.run')::text as table, pg_relation_size('stratagraph.run_claims')::text as queued`,
    );
    return [rows[0]!.table, rows[0]!.queued].map((bytes) => Number(bytes) / 2 ** 20);
  };
  const rows: string[][] = [];
  const report = async (name: string) => {
    const times: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      const at = performance.now();
      const run = await platform.claims.claim({ worker: "w", leaseMs: 60_000 });
      times.push(performance.now() - at);
      if (run) await platform.claims.finish(run, { state: "complete", result: null });
    }
    const [table, queued] = await sizes();
    rows.push([name, figure(table!), figure(queued!), figure(median(times), 2)]);
  };
  await report("all queued");
  const tenths = Math.max(1, Math.round(threads / 1_000 / 10));
  for (let tenth = 1; tenth <= 10; tenth += 1) {
    for (let batch = 0; batch < tenths; batch += 1)
      await inUpkeep(
        database,
        `update stratagraph.run set state = 'running', epoch = 1, attempts = 1, worker = 'w', started_at = now(),
          lease_until = now() + interval '15 seconds' where id in (
          select id from stratagraph.run where state = 'queued' order by priority desc, run_at, id limit 1000);
        update stratagraph.run set state = 'complete', result = '{"status":"complete"}', worker = null, lease_until = null,
          ended_at = now() where state = 'running'`,
      );
    if (tenth % 5 === 0) await report(`${tenth * 10} % ended`);
  }
  const at = performance.now();
  await database.pool.query("vacuum analyze stratagraph.run");
  const seconds = (performance.now() - at) / 1_000;
  await report(`after vacuum (${figure(seconds)} s)`);
  console.log("");
  printTable([`${threads} runs`, "table MiB", "index of queued MiB", "claim ms"], rows);
}

/** Lists and searches among many threads of one tenant. */
async function measureThreads(): Promise<void> {
  const subject = await openOurs();
  const { database } = subject;
  await subject.fill(threads);
  await database.pool.query("analyze");
  const platform = await openPlatform(database);
  await measureBloat(database, platform);
  const [tenant] = (await platform.tenants.list()).items;
  const timed = async (name: string, work: () => Promise<unknown>) => {
    const times: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      const at = performance.now();
      await work();
      times.push(performance.now() - at);
    }
    return [name, figure(median(times)), figure(quantile(times, 0.95))];
  };
  const { instances, threads: search, claims } = platform;
  const tenantId = tenant!.id;
  const [one] = (await instances.list(tenantId, { limit: 1 })).items;
  const rows = [
    await timed("newest 50 threads", () => search.search(tenantId, { limit: 50 })),
    await timed("50 from 100,000 on", () =>
      search.search(tenantId, { limit: 50, offset: 100_000 }),
    ),
    await timed("one by its id", () => search.find(tenantId, one!.threadId)),
    await timed("50 with an agent's id", () =>
      search.search(tenantId, { metadata: { graph_id: "a" }, limit: 50 }),
    ),
    await timed("50 with unknown metadata", () =>
      search.search(tenantId, { metadata: { customer: "none" }, limit: 50 }),
    ),
    await timed("50 that are busy", () => search.search(tenantId, { state: "busy", limit: 50 })),
    await timed("number of threads", () => search.count(tenantId, {})),
    await timed("a claim with nothing queued", () => claims.claim({ worker: "w", leaseMs: 1_000 })),
  ];
  console.log("");
  printTable([`${threads} threads`, "p50 ms", "p95 ms"], rows);
  await subject.close();
}

if (repeats > 0) await compare();
if (threads > 0) await measureThreads();
