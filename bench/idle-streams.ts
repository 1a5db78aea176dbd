/**
 * What streams cost that have nothing to send: memory of each, and CPU time, transactions and the way of one event while
 * all wait. Compares streams of runs and of threads of our server, on Postgres, with connections that are kept alive
 * on the same server, and with streams of a bare Hono server.
 *
 *   npm run bench:idle-streams -- [--streams 1000] [--repeats 3] [--idle-seconds 10] [--only run,thread,idle,bare,bare-idle]
 */
import { fork } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openDatabase } from "../src/storage/database.ts";
import type { Measured } from "./helpers/idle-server.ts";
import { median } from "./helpers/median.ts";
import { printTable } from "./helpers/table.ts";

const { values: options } = parseArgs({
  options: {
    streams: { type: "string", default: "1000" },
    repeats: { type: "string", default: "3" },
    "idle-seconds": { type: "string", default: "10" },
    only: { type: "string", default: "run,thread,idle,bare,bare-idle" },
    database: {
      type: "string",
      default: process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test",
    },
  },
});
const streams = Number(options.streams);
const idleMs = Number(options["idle-seconds"]) * 1_000;
const program = fileURLToPath(new URL("helpers/idle-server.ts", import.meta.url));
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A stream or a connection that is open. */
interface Opened {
  readonly sent: ClientRequest;
  readonly incoming: IncomingMessage;
}

async function startServer(kind: "ours" | "bare") {
  const name = `stratagraph_bench_${randomBytes(4).toString("hex")}`;
  const admin = await openDatabase({ url: options.database, maxConnections: 1 });
  await admin.pool.query(`create database ${name}`);
  const database = new URL(options.database);
  database.pathname = `/${name}`;
  const child = fork(program, [kind], {
    execArgv: ["--expose-gc", "--import", "tsx"],
    env: { ...process.env, DATABASE_URL: database.toString() },
  });
  const answers = new Map<number, (value: unknown) => void>();
  child.on("message", (message) => {
    const { id, value } = message as { readonly id: number; readonly value: unknown };
    answers.get(id)?.(value);
  });
  child.once("exit", (code) => {
    if (code !== 0 && code !== null) throw new Error(`The server ended with ${code}.`);
  });
  let asked = 0;
  const answer = (id: number) => new Promise<unknown>((resolve) => answers.set(id, resolve));
  const ask = (message: "measure" | "write") => {
    child.send({ id: (asked += 1), kind: message });
    return answer(asked);
  };
  const url = (await answer(0)) as string;
  return {
    url,
    measure: () => ask("measure") as Promise<Measured>,
    write: () => ask("write"),
    /** Transactions on the database so far. */
    async transactions(): Promise<number> {
      const { rows } = await admin.pool.query<{ count: string }>(
        "select xact_commit + xact_rollback as count from pg_stat_database where datname = $1",
        [name],
      );
      return Number(rows[0]?.count);
    },
    async stop() {
      child.kill("SIGTERM");
      await new Promise((resolve) => child.once("exit", resolve));
      await admin.pool.query(`drop database ${name} with (force)`);
      await admin.close();
    },
  };
}

/** Sends a request, and returns when the first of its answer came. */
function open(url: string, path: string, body?: object): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const sent = request(`${url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      agent: body === undefined ? agent : false,
      headers: text === undefined ? {} : { "content-type": "application/json" },
    });
    sent.on("error", reject);
    sent.on("response", (incoming) => {
      incoming.on("error", () => {});
      if (incoming.statusCode !== 200) reject(new Error(`${path}: ${incoming.statusCode}`));
      if (body !== undefined) return resolve({ sent, incoming });
      incoming.resume();
      incoming.on("end", () => resolve({ sent, incoming }));
      return undefined;
    });
    sent.end(text);
  });
}

const run = { assistant_id: "trivial", input: { input: { message: "Hello" } } };
const ways: Readonly<Record<string, (url: string) => Promise<Opened>>> = {
  run: (url) =>
    open(url, `/threads/${randomUUID()}/runs/stream`, { ...run, if_not_exists: "create" }),
  thread: async (url) => {
    const thread = `/threads/${randomUUID()}`;
    const opened = await open(url, `${thread}/stream/events`, { channels: ["values"] });
    const command = { id: 1, method: "run.start", params: run };
    (await open(url, `${thread}/commands`, command)).incoming.resume();
    return opened;
  },
  idle: (url) => open(url, "/ok"),
  bare: (url) => open(url, "/stream", {}),
  "bare-idle": (url) => open(url, "/ok"),
};

/** Opens many, 50 at the same time; connections that are kept alive all at once, since one of them would serve all. */
async function openMany(of: string, url: string, count: number): Promise<readonly Opened[]> {
  const opened: Opened[] = [];
  const atOnce = of.endsWith("idle") ? count : 50;
  for (let at = 0; at < count; at += atOnce) {
    const some = Array.from({ length: Math.min(atOnce, count - at) }, () => ways[of]!(url));
    opened.push(...(await Promise.all(some)));
  }
  return opened;
}

async function trial(of: string): Promise<readonly number[]> {
  const server = await startServer(of.startsWith("bare") ? "bare" : "ours");
  try {
    // What the first requests load and compile is no stream's.
    for (const { sent } of await openMany(of, server.url, 100)) sent.destroy();
    await wait(1_000);
    const before = await server.measure();
    const opened = await openMany(of, server.url, streams);
    let heard = 0;
    let arrived = (_ms: number) => {};
    const first = new Promise<number>((resolve) => (arrived = resolve));
    for (const { incoming } of opened)
      incoming.on("data", (chunk: Buffer) => {
        const at = /"at":(\d+\.\d+)/.exec(chunk.toString())?.[1];
        if (at === undefined) return;
        heard += 1;
        arrived(performance.timeOrigin + performance.now() - Number(at));
      });
    await wait(3_000);
    const during = await server.measure();
    // Collecting garbage took CPU time.
    const { cpuMs } = await server.measure();
    const transactions = await server.transactions();
    await wait(idleMs);
    const after = await server.measure();
    const perSecond = ((await server.transactions()) - transactions) / (idleMs / 1_000);
    let ms = Number.NaN;
    if (!of.endsWith("idle")) {
      await server.write();
      ms = await first;
      if (heard !== 1) throw new Error(`${heard} readers got the event.`);
    }
    for (const { sent } of opened) sent.destroy();
    await wait(2_000);
    const closed = await server.measure();
    return [
      (during.rss - before.rss) / 1_024 / streams,
      (during.heap - before.heap) / 1_024 / streams,
      (closed.heap - before.heap) / 1_024 / streams,
      (after.cpuMs - cpuMs) / (idleMs / 1_000),
      perSecond,
      ms,
    ];
  } finally {
    await server.stop();
  }
}

const rows: string[][] = [];
for (const of of options.only.split(",")) {
  const figures: (readonly number[])[] = [];
  for (let at = 0; at < Number(options.repeats); at += 1) figures.push(await trial(of));
  rows.push([of, ...figures[0]!.map((_, at) => median(figures.map((one) => one[at]!)).toFixed(1))]);
  console.error(rows.at(-1)!.join("  "));
}
printTable(
  ["of each", "RSS KB", "heap KB", "after close KB", "CPU ms/s", "transactions/s", "event ms"],
  rows,
);
agent.destroy();
