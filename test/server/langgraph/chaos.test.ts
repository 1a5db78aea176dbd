import { describe, expect, it } from "vitest";
import { useDatabase } from "../../helpers/databases.ts";
import { seededRandom } from "../../helpers/random.ts";
import { type ServerProcess, useServerProcesses } from "../../helpers/server-processes.ts";

/** How often a server is killed; `npm run chaos` sets it to 200. */
const kills = Number(process.env["KILLS"] ?? 2);
/** Runs that begin before each kill, and after the last one. */
const share = 3;
const steps = 5;
/** Lines of tools between two kills: each run writes ten. */
const lines = { from: 4, to: 18 };

const database = useDatabase("postgres");
const servers = useServerProcesses(database);
const random = seededRandom("graph-chaos");

/** An agent that writes notes, one after the other. */
const writer = {
  name: "writer",
  tools: ["note"],
  workflow_graph: {
    entry_point: "write_0",
    nodes: Array.from({ length: steps }, (_, at) => ({
      name: `write_${at}`,
      type: "tool",
      config: { tool: "note", args: { to: "${input.message}-" + String(at) } },
    })),
    edges: Array.from({ length: steps }, (_, at) => ({
      from: `write_${at}`,
      to: at + 1 === steps ? "END" : `write_${at + 1}`,
    })),
  },
};

interface Started {
  readonly thread: string;
  readonly run: string;
}

async function begin(server: ServerProcess, at: number): Promise<Started> {
  const { client } = server;
  const { thread_id: thread } = await client.threads.create();
  const input = { input: { message: `run${at}` } };
  const streamMode = ["values", "updates", "custom", "tasks"] as const;
  const { run_id: run } =
    at % 3 === 0
      ? await startByCommand(server, thread, input)
      : await client.runs.create(thread, "writer", { input, streamMode: [...streamMode] });
  return { thread, run };
}

async function startByCommand(server: ServerProcess, thread: string, input: object) {
  const params = { assistant_id: "writer", input };
  const command = { id: 1, method: "run.start", params };
  const { result } = await server.post(`/threads/${thread}/commands`, command);
  return result as { readonly run_id: string };
}

/** Checks the log and the row of a run that has ended. */
async function expectWhole({ run }: Started): Promise<void> {
  const { rows } = await database.shared.pool.query<{ seq: number; event: string; data: object }>(
    `select seq, event, data from stratagraph.run_event where run_id = '${run}' order by seq`,
  );
  expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, at) => at + 1));
  const ends = rows.filter(({ event }) => event === "done");
  expect(ends).toMatchObject([{ seq: rows.length, data: { status: "complete" } }]);
  // The start of a task is logged once, however often it is executed.
  const starts = rows.flatMap(({ event, data }) =>
    event === "tasks" && "input" in data ? [(data as { id?: string }).id] : [],
  );
  expect(new Set(starts).size).toBe(starts.length);
  const last = rows.findLast(({ event }) => event === "values");
  expect(last?.data).toMatchObject({ status: "COMPLETED" });
}

describe.skipIf(!database.available)("runs of graphs whose servers are killed at random", () => {
  it(
    "all end once, with whole logs, and repeat no finished call",
    { timeout: 120_000 * (1 + kills / 4) },
    async () => {
      const settings = { concurrency: 4 };
      const alive = await Promise.all([servers.start(settings), servers.start(settings)]);
      await alive[0].post("/v1/agents", writer);
      const begun: Started[] = [];
      const target = { lines: 0 };
      for (let killed = 0; killed <= kills; killed += 1) {
        const from = begun.length;
        for (let at = from; at < from + share; at += 1) begun.push(await begin(alive[0], at));
        if (killed === kills) break;
        target.lines = servers.letters().length + random.int(lines.from, lines.to);
        // The runs may have less left to write.
        const hasWritten = () => {
          const all = servers.letters();
          const ended = new Set(all.flatMap((line) => /^ended \S+ (\S+)/.exec(line)?.[1] ?? []));
          return all.length >= target.lines || ended.size === begun.length * steps;
        };
        await expect.poll(hasWritten, { interval: 2 }).toBe(true);
        const victim = random.int(0, 2);
        const [next] = await Promise.all([servers.start(settings), alive[victim]!.kill()]);
        alive[victim] = next;
      }
      const ends = begun.map(({ thread, run }) => alive[0].client.runs.join(thread, run));
      for (const values of await Promise.all(ends))
        expect(values).toMatchObject({ status: "COMPLETED" });
      for (const one of begun) await expectWhole(one);

      const written = servers.letters().map((line) => line.split(" "));
      for (const [at] of begun.entries()) {
        const own = written.filter(
          ([what, , to]) => what === "began" && to?.startsWith(`run${at}-`),
        );
        const order = own.map(([, , to]) => Number(to?.split("-")[1]));
        // A note that was under way is written again, and none once the next one has begun.
        expect(order).toEqual(order.toSorted((a, b) => a - b));
        expect(new Set(order).size).toBe(steps);
        expect(order.length).toBeLessThanOrEqual(steps + kills);
      }
      const { rows } = await database.shared.pool.query(
        `select state, count(*)::integer as runs from stratagraph.run group by state`,
      );
      expect(rows).toEqual([{ state: "complete", runs: begun.length }]);
    },
  );
});
