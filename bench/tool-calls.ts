/**
 * What a tool call costs beside the tool itself: validation, permission, an argument rule, secrets and redactions looked
 * for, and the journal that makes it durable. The floor is what the journal does written by hand: an insert and an
 * update of one row by prepared statements, each committed; for calls that may be made twice without waiting for the
 * disk.
 *
 * npx tsx bench/tool-calls.ts [--url postgres://postgres@127.0.0.1:5432/test] [--calls 200] [--repeats 9]
 *
 * With `--arguments`, counts instead what becomes of arguments that models write slightly wrong.
 *
 * npx tsx bench/tool-calls.ts --arguments [--calls 200] [--seed 1]
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { systemClock } from "../src/clock.ts";
import { defineTool } from "../src/definition/tool/define-tool.ts";
import type { AgentTool, ToolContext } from "../src/definition/tool/tool.ts";
import { compileExpression } from "../src/expression/expression.ts";
import { argumentRuleScope } from "../src/definition/check/expressions.ts";
import { openDatabase, type Database } from "../src/storage/database.ts";
import { DatabaseToolJournal } from "../src/storage/tool-journal.ts";
import { runToolCalls } from "../src/tools/run-tool-calls.ts";
import { createSecrets } from "../src/tools/secrets.ts";
import { median } from "./helpers/median.ts";
import { printTable } from "./helpers/table.ts";
import {
  forms,
  type Reading,
  readWritten,
  type WrittenArguments,
  writtenArguments,
} from "./helpers/written-arguments.ts";

const { values: options } = parseArgs({
  options: {
    url: { type: "string", default: "postgres://postgres@127.0.0.1:5432/test" },
    calls: { type: "string", default: "200" },
    repeats: { type: "string", default: "9" },
    arguments: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
  },
});
const calls = Number(options.calls);
const repeats = Number(options.repeats);

const pay = (idempotent: boolean) =>
  defineTool({
    name: "pay",
    description: "Pays.",
    input_schema: z.object({ amount: z.number(), to: z.string(), lines: z.array(z.string()) }),
    output_schema: z.object({ paid: z.boolean(), at: z.string() }),
    permissions: ["bank:pay"],
    execution: { idempotent },
    handler: async ({ to }) => ({ paid: true, at: to }),
  });
const args = { amount: 12.5, to: "DE-bank", lines: ["a line of an invoice", "another line"] };

type Way = (at: number) => Promise<unknown>;

const rule = compileExpression("args.amount < 100.0", argumentRuleScope({}), "bool");
if (!rule.ok) throw new TypeError("the rule cannot be read");
const condition = rule.value;
const secrets = createSecrets({ get: () => "a-secret-value-of-some-length" });
await secrets.get("TOKEN");

/** The same check-free call for every round. */
const alone = pay(false);
const handlerAlone: Way = async () => {
  if (alone.kind === "stateless") await alone.run(args, {} as ToolContext);
};

/** Calls as the loop makes them, one a step. */
function made(tool: AgentTool, journal?: DatabaseToolJournal): Way {
  const threadId = randomUUID();
  const run = randomUUID();
  return (at) =>
    runToolCalls({
      calls: [{ id: `call-${at}`, name: "pay", args, reason: "" }],
      callsSoFar: 0,
      tools: new Map([["pay", tool]]),
      allowed: "all",
      grants: ["bank:*"],
      argumentRules: [{ tool: "pay", condition, message: undefined, action: "block" }],
      values: { input: {}, execution: {}, attempt: {} },
      state: { execution: {}, attempt: {} },
      env: { signal: new AbortController().signal, clock: systemClock, secrets },
      log: journal && { journal, threadId, run, stepOf: () => at },
    });
}

/** A row that is written when a call begins and again when it ends. */
async function byHand({ pool }: Database): Promise<{ way: Way; end: () => Promise<void> }> {
  const table = `bench_calls_${randomUUID().replaceAll("-", "")}`;
  await pool.query(`create table ${table} (id text primary key, input text, result text)`, []);
  const begin = { name: `${table}_begin`, text: `insert into ${table} values ($1, $2)` };
  const finish = { name: `${table}_end`, text: `update ${table} set result = $2 where id = $1` };
  return {
    way: async (at) => {
      const id = `${at}-${randomUUID()}`;
      await pool.query({ ...begin, values: [id, JSON.stringify(args)] });
      await pool.query({ ...finish, values: [id, '{"paid":true}'] });
    },
    end: async () => void (await pool.query(`drop table ${table}`, [])),
  };
}

const rows = {
  fastByHand: "by hand, no wait for the disk",
  idempotent: "journalled, idempotent",
  byHand: "by hand: insert, update",
  onceOnly: "journalled, once only",
} as const;

function unhurriedUrl(): string {
  const url = new URL(options.url);
  url.searchParams.set("options", "-c synchronous_commit=off");
  return url.href;
}

async function measure(ways: Readonly<Record<string, () => Way>>): Promise<Map<string, number>> {
  const times = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
  for (let round = 0; round <= repeats; round += 1) {
    for (const [name, make] of Object.entries(ways)) {
      const way = make();
      const startedAt = performance.now();
      for (let at = 0; at < calls; at += 1) await way(at);
      // The first round warms up.
      if (round > 0) times.get(name)?.push((performance.now() - startedAt) / calls);
    }
  }
  return new Map([...times].map(([name, list]) => [name, median(list)]));
}

/** `unhurried` is the same database where commits do not wait for the disk; absent where that makes no difference. */
async function printFor(name: string, database: Database, unhurried?: Database): Promise<void> {
  const journal = new DatabaseToolJournal(database.pool, { schema: `bench_${process.pid}` });
  await journal.setup();
  const floor = await byHand(database);
  const fastFloor = await byHand(unhurried ?? database);
  const once = pay(false);
  const often = pay(true);
  const figures = await measure({
    "the handler alone": () => handlerAlone,
    "checked, not journalled": () => made(once),
    [rows.fastByHand]: () => fastFloor.way,
    [rows.idempotent]: () => made(often, journal),
    [rows.byHand]: () => floor.way,
    [rows.onceOnly]: () => made(once, journal),
  });
  await Promise.all([floor.end(), fastFloor.end()]);
  await database.pool.query(`drop schema bench_${process.pid} cascade`, []);
  const floorOf = new Map<string, string>([
    [rows.idempotent, rows.fastByHand],
    [rows.onceOnly, rows.byHand],
  ]);
  const ratio = (way: string, ms: number) => {
    const hand = figures.get(floorOf.get(way) ?? "");
    return hand === undefined ? "" : `${(ms / hand).toFixed(2)} x`;
  };
  console.log(`\n${name}: ${calls} calls one after the other, median of ${repeats}`);
  printTable(
    ["a call", "ms", "of by hand"],
    [...figures].map(([way, ms]) => [way, ms.toFixed(3), ratio(way, ms)]),
  );
}

async function measureCalls(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "stratagraph-bench-"));
  for (const [name, open] of [
    ["Postgres", () => openDatabase({ url: options.url })],
    ["PGlite", () => openDatabase({ folder })],
  ] as const) {
    const database = await open().catch((thrown: unknown) => {
      console.log(`${name} was not measured: ${thrown instanceof Error ? thrown.message : ""}`);
      return null;
    });
    if (database === null) continue;
    const unhurried = name === "Postgres" ? await openDatabase({ url: unhurriedUrl() }) : undefined;
    try {
      await printFor(name, database, unhurried);
    } finally {
      await unhurried?.close();
      await database.close();
    }
  }
  await rm(folder, { recursive: true, force: true });
}

/** Prints counts of `right / problem / wrong` for each fault and form. */
function countArguments(): void {
  const written = writtenArguments(calls, Number(options.seed));
  const names = Object.keys(forms) as (keyof typeof forms)[];
  const counted = (of: readonly WrittenArguments[]) =>
    names.map((form) => {
      const readings = of.map((one) => readWritten(one, form));
      const count = (reading: Reading) => readings.filter((one) => one === reading).length;
      return `${count("right")} / ${count("problem")} / ${count("wrong")}`;
    });
  const faults = [...new Set(written.map(({ fault }) => fault))];
  printTable(
    ["fault", ...names],
    [
      ...faults.map((name) => [name, ...counted(written.filter(({ fault }) => fault === name))]),
      ["all", ...counted(written)],
    ],
  );
}

if (options.arguments) countArguments();
else await measureCalls();
