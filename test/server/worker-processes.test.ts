import { describe, expect, it } from "vitest";
import { useDatabase } from "../helpers/databases.ts";
import { useServerProcesses } from "../helpers/server-processes.ts";

const database = useDatabase("postgres");
const servers = useServerProcesses(database);

const chain = (name: string, tools: readonly string[], more: object = {}) => ({
  name,
  tools: [...new Set(tools)],
  ...more,
  workflow_graph: {
    entry_point: "step_0",
    nodes: tools.map((tool, at) => ({
      name: `step_${at}`,
      type: "tool",
      config: { tool, args: { to: `${name}:${tool}-${at}` } },
    })),
    edges: tools.map((_, at) => ({
      from: `step_${at}`,
      to: at + 1 === tools.length ? "END" : `step_${at + 1}`,
    })),
  },
});

interface RunFacts {
  readonly state: string;
  readonly epoch: number;
  readonly attempts: number;
  readonly worker: string | null;
}

async function query<Row>(text: string): Promise<readonly Row[]> {
  return (await database.shared.pool.query<Row>(text)).rows;
}

async function factsOf(run: string): Promise<RunFacts> {
  const [row] = await query<RunFacts>(
    `select state, epoch, attempts, worker from stratagraph.run where id = '${run}'`,
  );
  return row!;
}

const eventsOf = (run: string) =>
  query<{ seq: number; event: string; data: object }>(
    `select seq, event, data from stratagraph.run_event where run_id = '${run}' order by seq`,
  );

/** Starts a server that takes no runs, and returns how to start a run of an agent. */
async function startFront() {
  const front = await servers.start({ concurrency: 0 });
  return {
    front,
    agent: async (definition: object) => {
      const { id } = await front.post("/v1/agents", definition);
      return async () => {
        const body = { input: { message: "Go." } };
        const { run_id: run } = await front.post(`/v1/agents/${String(id)}/runs`, body);
        return String(run);
      };
    },
  };
}

/** The calls of an agent that have begun, or ended, in order. */
const callsOf = (what: "began" | "ended", agent: string) =>
  servers.letters().flatMap((line) => {
    const [said, , to = ""] = line.split(" ");
    const [of, call] = to.split(":");
    return said === what && of === agent ? [call] : [];
  });
const isUp = async (name: string) =>
  (await query(`select from stratagraph.worker where name = '${name}' and lock_key is not null`))
    .length === 1;

/** Checks that a run has ended once, with a log without gaps in which no call stands twice. */
async function expectWhole(run: string): Promise<void> {
  const log = await eventsOf(run);
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, at) => at + 1));
  expect(log.filter(({ event }) => event === "done")).toMatchObject([{ seq: log.length }]);
  const calls = log.filter(({ event }) => event === "tool_call" || event === "tool_result");
  const told = calls.map(({ event, data }) => `${event} ${(data as { id: string }).id}`);
  expect(new Set(told).size).toBe(told.length);
}

describe.skipIf(!database.available)("processes that only take runs", () => {
  it("take over the run of one that was killed, long before its lease has ended", async () => {
    const { agent } = await startFront();
    const first = await servers.startWorker();
    const begin = await agent(chain("taken", ["note", "hold", "note"]));
    await expect.poll(() => isUp(first.name)).toBe(true);
    const run = await begin();
    await expect.poll(() => callsOf("began", "taken")).toEqual(["note-0", "hold-1"]);
    const second = await servers.startWorker();
    await expect.poll(() => isUp(second.name)).toBe(true);
    expect(await factsOf(run)).toMatchObject({ state: "running", worker: first.name, epoch: 1 });

    await first.kill();
    await expect.poll(async () => (await factsOf(run)).worker, { interval: 20 }).toBe(second.name);
    expect(await factsOf(run)).toMatchObject({ epoch: 2, attempts: 2 });
    servers.release("taken:hold-1");
    expect(await second.nextEnd()).toBe("complete");

    // The finished note is not repeated; the call under way is, as it may be.
    expect(callsOf("began", "taken")).toEqual(["note-0", "hold-1", "hold-1", "note-2"]);
    expect(callsOf("ended", "taken")).toEqual(["note-0", "hold-1", "note-2"]);
    await expectWhole(run);
    expect(
      await query(`select name, total::integer as total from stratagraph.queue_count`),
    ).toEqual([{ name: "takeovers", total: 1 }]);
    expect(await query(`select name from stratagraph.worker`)).toEqual([{ name: second.name }]);
  });

  it("refuse the writes of one that was frozen beyond its lease", async () => {
    const { agent } = await startFront();
    const frozen = await servers.startWorker();
    const begin = await agent(chain("frozen", ["note", "hold", "note"]));
    const run = await begin();
    await expect.poll(() => callsOf("began", "frozen")).toEqual(["note-0", "hold-1"]);
    frozen.freeze();
    const other = await servers.startWorker();
    // As after 15 seconds.
    await query(`update stratagraph.run set lease_until = now() where id = '${run}'`);
    await expect.poll(async () => (await factsOf(run)).worker, { interval: 20 }).toBe(other.name);
    // Its session, and with it its lock, is still there.
    expect(await isUp(frozen.name)).toBe(true);
    servers.release("frozen:hold-1");
    expect(await other.nextEnd()).toBe("complete");
    const log = await eventsOf(run);

    frozen.thaw();
    expect(await frozen.nextEnd()).toBe("handed_over");
    expect(await eventsOf(run)).toEqual(log);
    await expectWhole(run);
    expect(await factsOf(run)).toMatchObject({ state: "complete", epoch: 2, worker: null });
    // The call that was under way in the frozen process has ended there as well. No other has begun.
    expect(callsOf("began", "frozen")).toEqual(["note-0", "hold-1", "hold-1", "note-2"]);
    expect(callsOf("ended", "frozen")).toEqual(["note-0", "hold-1", "note-2", "hold-1"]);
  });

  it("hand their runs over at the next step when they are asked to end", async () => {
    const { agent } = await startFront();
    const first = await servers.startWorker();
    const begin = await agent(chain("drained", ["hold", "note"]));
    const run = await begin();
    await expect.poll(() => callsOf("began", "drained")).toEqual(["hold-0"]);
    const stopped = first.stop();
    servers.release("drained:hold-0");
    await stopped;
    expect(await factsOf(run)).toMatchObject({ state: "queued", attempts: 0, worker: null });
    expect(await query(`select from stratagraph.worker where name = '${first.name}'`)).toEqual([]);
    const second = await servers.startWorker();
    expect(await second.nextEnd()).toBe("complete");
    expect(await factsOf(run)).toMatchObject({ state: "complete", attempts: 1, epoch: 2 });
    await expectWhole(run);
  });

  it("take runs of agents whose labels they have", async () => {
    const { agent } = await startFront();
    const plain = await servers.startWorker();
    const config = { execution_config: { worker_labels: ["gpu"] } };
    const run = await (await agent(chain("labelled", ["note"], config)))();
    const other = await (await agent(chain("unlabelled", ["note"])))();
    expect(await plain.nextEnd()).toBe("complete");
    expect(await factsOf(other)).toMatchObject({ state: "complete" });
    expect(await factsOf(run)).toMatchObject({ state: "queued", epoch: 0 });
    const gpu = await servers.startWorker({ labels: ["big", "gpu"] });
    expect(await gpu.nextEnd()).toBe("complete");
    expect(await factsOf(run)).toMatchObject({ state: "complete", epoch: 1 });
  });
});
