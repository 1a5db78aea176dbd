/**
 * What a run costs Postgres: transactions, bytes of its write-ahead log and of the tables, for a workflow of one tool node
 * and a turn with one call of a model, each over LangGraph's HTTP protocol and on a thread of its own.
 *
 *   npx tsx bench/run-cost.ts [--runs 300] [--database postgres://…]
 */
import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openDatabase } from "../src/storage/database.ts";
import { printTable } from "./helpers/table.ts";

const { values: options } = parseArgs({
  options: {
    runs: { type: "string", default: "300" },
    database: {
      type: "string",
      default: process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test",
    },
  },
});
const runs = Number(options.runs);

const admin = await openDatabase({ url: options.database });
const name = `stratagraph_bench_${randomBytes(4).toString("hex")}`;
await admin.pool.query(`create database ${name}`);
const url = new URL(options.database);
url.pathname = `/${name}`;
const database = await openDatabase({ url: url.toString() });
const program = fileURLToPath(new URL("helpers/trivial-server.ts", import.meta.url));
const server = fork(program, ["ours"], {
  execArgv: ["--import", "tsx"],
  env: { ...process.env, DATABASE_URL: url.toString() },
});
const ended = new Promise((resolve) => server.once("exit", resolve));
const address = await new Promise<string>((resolve) =>
  server.once("message", (text) => resolve(text as string)),
);

async function send(agent: string): Promise<void> {
  const answer = await fetch(`${address}/runs/wait`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      assistant_id: agent,
      input: { messages: [{ role: "user", content: "Hello" }] },
      on_completion: "keep",
    }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  await answer.text();
}

interface Totals {
  readonly transactions: number;
  readonly log: number;
  /** Bytes by table, with its indexes. */
  readonly tables: ReadonlyMap<string, number>;
}

async function totals(): Promise<Totals> {
  // Sessions report what they did with a delay.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const { rows } = await database.pool.query<{ transactions: string; log: string }>(
    `select xact_commit::text as transactions, (pg_current_wal_insert_lsn() - '0/0')::text as log
    from pg_stat_database where datname = current_database()`,
  );
  const sizes = await database.pool.query<{ name: string; bytes: string }>(
    `select coalesce(p.relname, c.relname) as name, sum(pg_total_relation_size(c.oid))::text as bytes
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
    where n.nspname = 'stratagraph' and c.relkind = 'r' group by 1`,
  );
  return {
    transactions: Number(rows[0]!.transactions),
    log: Number(rows[0]!.log),
    tables: new Map(sizes.rows.map(({ name: table, bytes }) => [table, Number(bytes)])),
  };
}

const lines: string[][] = [];
for (const agent of ["trivial", "turn"]) {
  for (let n = 0; n < 20; n += 1) await send(agent);
  const before = await totals();
  for (let n = 0; n < runs; n += 1) await send(agent);
  const after = await totals();
  const grown = [...after.tables]
    .map(([table, bytes]) => [table, (bytes - (before.tables.get(table) ?? 0)) / runs] as const)
    .filter(([, bytes]) => bytes > 0)
    .toSorted(([, one], [, other]) => other - one);
  const kibibytes = (bytes: number) => (bytes / 1_024).toFixed(1);
  lines.push([
    agent,
    ((after.transactions - before.transactions) / runs).toFixed(1),
    kibibytes((after.log - before.log) / runs),
    kibibytes(grown.reduce((sum, [, bytes]) => sum + bytes, 0)),
  ]);
  console.error(agent, grown.map(([table, bytes]) => `${table} ${kibibytes(bytes)}`).join(", "));
}
printTable(["run", "transactions", "log KiB", "tables KiB"], lines);
server.kill("SIGTERM");
await ended;
await database.close();
await admin.pool.query(`drop database ${name} with (force)`);
await admin.close();
