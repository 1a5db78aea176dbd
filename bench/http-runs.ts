/**
 * Runs over LangGraph's HTTP protocol, of a workflow of one node and of a turn whose model answers at once: on our
 * server with Postgres, on `langgraph dev`, and on a bare Hono server that only runs the compiled graph. Prints for each
 * server: milliseconds of a workflow alone (p50, p95), workflows per second with 32 and 256 clients, turns per second
 * with 32, refused runs, milliseconds from the model's first token to the client, from the last event to the end of the
 * stream, and from the end of the run, as its row has it, to the end of the stream.
 *
 *   npx tsx bench/http-runs.ts [--alone 100] [--seconds 8] [--repeats 3] [--only ours,bare,dev] [--database postgres://…]
 */
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startDevServer } from "../test/helpers/dev-server.ts";
import { openDatabase } from "../src/storage/database.ts";
import { median } from "./helpers/median.ts";
import { printTable } from "./helpers/table.ts";

const { values: options } = parseArgs({
  options: {
    alone: { type: "string", default: "100" },
    seconds: { type: "string", default: "8" },
    repeats: { type: "string", default: "3" },
    only: { type: "string", default: "bare,ours,dev" },
    database: {
      type: "string",
      default: process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test",
    },
  },
});
const repeats = Number(options.repeats);
const seconds = Number(options.seconds);
const program = fileURLToPath(new URL("helpers/trivial-server.ts", import.meta.url));

interface Subject {
  readonly url: string;
  stop(): Promise<void>;
}

async function startChild(kind: string, env: Record<string, string> = {}): Promise<Subject> {
  const child: ChildProcess = fork(program, [kind], {
    execArgv: ["--import", "tsx"],
    env: { ...process.env, ...env },
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once("message", (message) => resolve(message as string));
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  return {
    url,
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

async function startOurs(): Promise<Subject> {
  const name = `stratagraph_bench_${randomBytes(4).toString("hex")}`;
  const admin = await openDatabase({ url: options.database });
  await admin.pool.query(`create database ${name}`);
  const url = new URL(options.database);
  url.pathname = `/${name}`;
  const server = await startChild("ours", { DATABASE_URL: url.toString() });
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      await admin.pool.query(`drop database ${name} with (force)`);
      await admin.close();
    },
  };
}

async function startDev(): Promise<Subject> {
  const folder = fileURLToPath(new URL(`../.bench-${process.pid}/`, import.meta.url));
  await mkdir(folder, { recursive: true });
  await writeFile(
    `${folder}graph.ts`,
    `export { trivial, turn } from ${JSON.stringify(fileURLToPath(new URL("helpers/trivial-graph.ts", import.meta.url)))};\n`,
  );
  const config = {
    node_version: "20",
    dependencies: ["."],
    graphs: { trivial: "./graph.ts:trivial", turn: "./graph.ts:turn" },
  };
  await writeFile(`${folder}langgraph.json`, JSON.stringify(config));
  const project = fileURLToPath(new URL("..", import.meta.url));
  const server = await startDevServer({}, relative(project, `${folder}langgraph.json`));
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const agent = new Agent({ keepAlive: true, maxSockets: 2_000 });

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Sends a run. `onText` hears what came so far. */
function send(
  url: string,
  path: string,
  agentName: string,
  onText?: (text: string) => void,
): Promise<Answer> {
  const body = JSON.stringify({
    assistant_id: agentName,
    input: { messages: [{ role: "user", content: "Hello" }] },
    ...(path.endsWith("stream") && { stream_mode: ["messages-tuple"] }),
  });
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, {
      method: "POST",
      agent,
      headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
        onText?.(text);
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      response.on("error", reject);
    });
    sent.end(body);
  });
}

async function alone(url: string, agentName: string): Promise<readonly number[]> {
  const times: number[] = [];
  for (let at = 0; at < Number(options.alone); at += 1) {
    const begun = performance.now();
    const { status, text } = await send(url, "/runs/wait", agentName);
    if (status !== 200) throw new Error(`${status}: ${text.slice(0, 300)}`);
    times.push(performance.now() - begun);
  }
  return times;
}

async function together(url: string, agentName: string, clients: number) {
  const until = performance.now() + seconds * 1_000;
  const [begun, ended] = [performance.now(), { runs: 0, refused: 0 }];
  const client = async () => {
    while (performance.now() < until) {
      const isDone = await send(url, "/runs/wait", agentName).then(
        ({ status }) => status === 200,
        () => false,
      );
      if (isDone) ended.runs += 1;
      else ended.refused += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { perSecond: (ended.runs * 1_000) / (performance.now() - begun), refused: ended.refused };
}

/** Milliseconds from the model to the client. The first token is the time at which the model wrote it. */
async function firstToken(url: string): Promise<{ readonly first: number; readonly end: number }> {
  let [first, lastAt] = [Number.NaN, 0];
  await send(url, "/runs/stream", "turn", (text) => {
    lastAt = performance.now();
    const sentAt = /"content":"at (\d+\.\d+)/.exec(text)?.[1];
    if (Number.isNaN(first) && sentAt !== undefined)
      first = performance.timeOrigin + lastAt - Number(sentAt);
  });
  return { first, end: performance.now() - lastAt };
}

/** Milliseconds from the end of a run on a thread to the end of its stream. NaN for the bare server, which has no rows. */
async function streamEnd(url: string, name: string): Promise<number> {
  if (name === "bare") return Number.NaN;
  const post = async (path: string, body: object) =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const { thread_id: id } = (await (await post("/threads", {})).json()) as { thread_id: string };
  const input = { messages: [{ role: "user", content: "Hello" }] };
  const body = { assistant_id: "turn", input, stream_mode: ["messages-tuple"] };
  const answer = await post(`/threads/${id}/runs/stream`, body);
  await answer.text();
  const endedAt = performance.timeOrigin + performance.now();
  const runs = (await (await fetch(`${url}/threads/${id}/runs`)).json()) as readonly {
    readonly updated_at: string;
  }[];
  return endedAt - Date.parse(runs[0]?.updated_at ?? "");
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}

const starts: Readonly<Record<string, () => Promise<Subject>>> = {
  bare: () => startChild("bare"),
  ours: startOurs,
  dev: startDev,
};
const rows: string[][] = [];
for (const name of options.only.split(",")) {
  const server = await starts[name]!();
  try {
    for (let of = 0; of < 5; of += 1) await firstToken(server.url);
    await together(server.url, "trivial", 8);
    const figures: number[][] = [];
    for (let at = 0; at < repeats; at += 1) {
      const times = await alone(server.url, "trivial");
      const few = await together(server.url, "trivial", 32);
      const many = await together(server.url, "trivial", 256);
      const turns = await together(server.url, "turn", 32);
      const tokens = [];
      for (let of = 0; of < 30; of += 1) tokens.push(await firstToken(server.url));
      const ends: number[] = [];
      for (let of = 0; of < 30; of += 1) ends.push(await streamEnd(server.url, name));
      figures.push([
        median(times),
        percentile(times, 0.95),
        few.perSecond,
        many.perSecond,
        turns.perSecond,
        few.refused + many.refused + turns.refused,
        median(tokens.map(({ first }) => first)),
        median(tokens.map(({ end }) => end)),
        median(ends),
      ]);
    }
    rows.push([
      name,
      ...figures[0]!.map((_, at) => median(figures.map((of) => of[at]!)).toFixed(1)),
    ]);
    console.error(rows.at(-1)!.join("  "));
  } finally {
    await server.stop();
  }
}
printTable(
  [
    "server",
    "alone p50 ms",
    "p95 ms",
    "32 clients /s",
    "256 clients /s",
    "32, turns /s",
    "refused",
    "first token ms",
    "last event to end ms",
    "run to end ms",
  ],
  rows,
);
agent.destroy();
