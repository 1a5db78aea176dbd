/**
 * Time of a turn of five tool steps on one thread as the thread grows, with everything that a runtime stores: checkpoints,
 * the tool journal and the thread lock. The model and the tool answer at once. Prints medians and minimums, and
 * the time on this process's processors, which other work on the machine disturbs least.
 *
 *   npx tsx bench/thread-turns.ts [--turns 300] [--steps 5] [--repeats 1] [--durability async] [--window 8] [--database postgres://…] [--pglite]
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { createRuntime, defineAgent, defineTool, executeAgent } from "../src/index.ts";
import { fromChatModel } from "../src/models/calls/from-chat-model.ts";
import { openDatabase } from "../src/storage/database.ts";
import { InstantModel } from "./helpers/instant-model.ts";
import { median } from "./helpers/median.ts";

const { values: options } = parseArgs({
  options: {
    turns: { type: "string", default: "300" },
    steps: { type: "string", default: "5" },
    repeats: { type: "string", default: "1" },
    window: { type: "string", default: "8" },
    durability: { type: "string", default: "async" },
    pglite: { type: "boolean", default: false },
    database: {
      type: "string",
      default: process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test",
    },
  },
});
const turns = Number(options.turns);
const steps = Number(options.steps);
const window = Number(options.window);
const durability = options.durability as "sync" | "async" | "exit";

/** An empty database of its own, since a runtime keeps its threads in the schema `public`. */
async function makeDatabase() {
  if (options.pglite) {
    const folder = await mkdtemp(join(tmpdir(), "thread-turns-"));
    return { storage: { folder }, drop: () => rm(folder, { recursive: true, force: true }) };
  }
  const name = `bench_${randomUUID().slice(0, 8)}`;
  const admin = await openDatabase({ url: options.database });
  await admin.pool.query(`create database ${name}`);
  const url = new URL(options.database);
  url.pathname = `/${name}`;
  return {
    storage: { databaseUrl: url.toString() },
    drop: async () => {
      await admin.pool.query(`drop database ${name} with (force)`);
      await admin.close();
    },
  };
}

/** Milliseconds of one turn: until it has ended, and of this process's processors. */
interface TurnTime {
  readonly elapsed: number;
  readonly cpu: number;
}

/** The times of all turns of one thread. */
async function measure(): Promise<TurnTime[]> {
  const { storage, drop } = await makeDatabase();
  const model = new InstantModel(steps, { repeats: true });
  const runtime = await createRuntime({
    ...storage,
    env: {},
    models: { resolve: async () => fromChatModel(model, { ref: "bench:instant" }) },
  });
  const definition = defineAgent({
    name: "bench",
    tools: [
      defineTool({
        name: "echo",
        description: "Echoes.",
        input_schema: z.object({ text: z.string() }),
        handler: ({ text }) => text,
      }),
    ],
    execution_config: { max_turns: 1_000_000 },
  });
  try {
    const times: TurnTime[] = [];
    const turn = async (threadId: string, text: string) => {
      const start = performance.now();
      const cpuBefore = process.cpuUsage();
      const { status } = await executeAgent(
        definition,
        { message: text },
        {
          runtime,
          threadId,
          durability,
        },
      );
      if (status !== "COMPLETED") throw new Error(`The turn ended ${status}.`);
      const { user, system } = process.cpuUsage(cpuBefore);
      return { elapsed: performance.now() - start, cpu: (user + system) / 1000 };
    };
    // What is compiled just in time should be compiled before it is measured.
    const warm = randomUUID();
    for (let count = 0; count < 40; count += 1) await turn(warm, `warm ${count}`);
    const thread = randomUUID();
    for (let count = 0; count < turns; count += 1) times.push(await turn(thread, `turn ${count}`));
    return times;
  } finally {
    await runtime.close();
    await drop();
  }
}

/** The turns around one, of which the median and the minimum are reported. */
function around(times: readonly TurnTime[], turn: number): readonly TurnTime[] {
  const last = Math.min(times.length, turn + Math.ceil(window / 2));
  return times.slice(Math.max(0, last - window), last);
}

const figures = {
  elapsed: (of: readonly TurnTime[]) => median(of.map(({ elapsed }) => elapsed)),
  least: (of: readonly TurnTime[]) => Math.min(...of.map(({ elapsed }) => elapsed)),
  cpu: (of: readonly TurnTime[]) => median(of.map(({ cpu }) => cpu)),
};

console.log(
  `Node ${process.version}, ${options.pglite ? "PGlite" : "Postgres"}, ${durability}, turns of ${steps} steps (ms, of ${window} turns)`,
);
const row = (head: string, cells: readonly string[]) =>
  console.log(`${head.padEnd(8)}${cells.map((cell) => cell.padStart(10)).join("")}`);
row("turn", ["median", "minimum", "processor"]);
for (let round = 0; round < Number(options.repeats); round += 1) {
  const times = await measure();
  const marks = [10, 30, 100, 300, 1000, 3000].filter((turn) => turn <= turns);
  const values = (mark: number) => Object.values(figures).map((of) => of(around(times, mark)));
  for (const mark of marks)
    row(
      String(mark),
      values(mark).map((ms) => ms.toFixed(1)),
    );
  const [first, last] = [values(marks[0]!), values(marks.at(-1)!)];
  row(
    "growth",
    last.map((ms, at) => `${(ms / first[at]!).toFixed(2)} x`),
  );
}
