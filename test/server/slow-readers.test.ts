import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/index.ts";
import { runRoutes } from "../../src/server/runs/routes.ts";
import { useDatabase } from "../helpers/databases.ts";
import { type ReadEvent, type RunServer, useRunServers } from "../helpers/run-server.ts";

const pageBytes = 60_000;
const callsOfStep = 40;
const steps = 4;
/** More than the buffers of the sockets take: some 4 MB of Linux. */
const leastBytes = 8_000_000;

const readPage = defineTool({
  name: "read_page",
  description: "Reads a page.",
  input_schema: z.object({ page: z.int() }),
  output_schema: z.object({ text: z.string() }),
  handler: async ({ page }) => ({ text: `${page} `.padEnd(pageBytes, "x") }),
});

const reading = (step: number) => ({
  calls: Array.from({ length: callsOfStep }, (_, at) => ({
    name: "read_page",
    args: { page: step * callsOfStep + at },
  })),
});

const database = useDatabase("postgres");
const start = useRunServers(database);
const agent = {
  name: "reader",
  tools: ["read_page"],
  execution_config: { max_iterations: steps + 1 },
};
const message = { message: "Read." };

/** Starts a server whose model reads pages, and watches what is read of logs. */
async function startReading() {
  const script = Array.from({ length: steps }, (_, step) => reading(step));
  const api = await start([...script, "Read."], { tools: [readPage] });
  const runs = await api.agent(agent);
  const { events } = api.base.platform;
  const read = vi.spyOn(events, "read");
  const pages = async () => {
    const all = await Promise.all(read.mock.results.map(({ value }) => value));
    return all.map((page) => Buffer.byteLength(JSON.stringify(page)));
  };
  return { api, runs, pages };
}

const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);

/** Waits until a run has ended while nothing is read, and checks how much of its log the server has taken up. */
async function expectBounded(of: {
  readonly api: RunServer;
  readonly runId: string;
  readonly pages: () => Promise<readonly number[]>;
}) {
  const { tenantId, base } = of.api;
  const { runs, events } = base.platform;
  await expect
    .poll(async () => (await runs.progress(tenantId, of.runId)).state, { timeout: 60_000 })
    .toBe("complete");
  const taken = await of.pages();
  let whole = 0;
  for (let after = 0; ; after += 10) {
    const page = await events.read(tenantId, of.runId, { after, limit: 10 });
    if (page.length === 0) break;
    whole += Buffer.byteLength(JSON.stringify(page));
  }
  expect(whole).toBeGreaterThan(leastBytes);
  expect(sum(taken)).toBeLessThan(whole * 0.75);
  // An event has at most 1 MB; a page ends with the one that goes over its bound.
  expect(Math.max(...taken)).toBeLessThan(1_200_000);
}

describe.skipIf(!database.available)("a client that does not read", () => {
  it("holds no run of /v1, and gets all of its events once it reads", async () => {
    const { api, runs, pages } = await startReading();
    const body = { input: message, config: { stream: true } };
    const stream = await api.stream(runs, { method: "POST", body });
    const runId = /runs\/([^/]+)/.exec(String(stream.headers["location"]))?.[1] ?? "";
    await expectBounded({ api, runId, pages });
    const all = await stream.rest();
    expect(all.map(({ id }) => id)).toEqual(all.map((_, at) => at + 1));
    expect(pagesIn(all)).toEqual(Array.from({ length: steps * callsOfStep }, (_, at) => at));
    expect(all.at(-1)).toMatchObject({ event: "done", data: { status: "complete" } });
  }, 120_000);

  it("holds no run of LangGraph's protocol, and gets all of its events once it reads", async () => {
    const { api, pages } = await startReading();
    const body = {
      assistant_id: "reader",
      input: { input: message },
      stream_mode: ["values", "updates", "tasks", "debug", "checkpoints"],
      if_not_exists: "create",
    };
    const thread = "/threads/0198c0de-0000-7000-8000-000000000001";
    const stream = await api.stream(`${thread}/runs/stream`, { method: "POST", body });
    const runId = /runs\/([^/]+)/.exec(String(stream.headers["content-location"]))?.[1] ?? "";
    await expectBounded({ api, runId, pages });
    const all = await stream.rest();
    // The last event of the log is the end of the turn, which is not shown.
    expect(all.map(({ id }) => id)).toEqual(all.map((_, at) => at + 1));
    const again = await api.stream(`${thread}/runs/${runId}/stream`);
    expect((await again.rest()).map(({ event }) => event)).toEqual(all.map(({ event }) => event));
    expect(all.filter(({ event }) => event === "values").length).toBeGreaterThan(steps);
  }, 120_000);

  it("holds no run of an event stream, and gets all of its events once it reads", async () => {
    const { api, pages } = await startReading();
    const thread = "/threads/0198c0de-0000-7000-8000-000000000002";
    const stream = await api.stream(`${thread}/stream/events`, {
      method: "POST",
      body: { channels: ["lifecycle", "values", "updates", "tasks", "tools", "checkpoints"] },
    });
    const params = { assistant_id: "reader", input: { input: message } };
    const command = { id: 1, method: "run.start", params };
    const { json } = await api.post(`${thread}/commands`, command);
    const { run_id: runId } = json["result"] as { run_id: string };
    await expectBounded({ api, runId, pages });
    const seqs: number[] = [];
    for (let event = null; event !== "completed";) {
      const { data } = (await stream.next())!;
      const { params: shown, seq } = data as { params: { data: { event?: string } }; seq: number };
      seqs.push(seq);
      event = shown.data.event ?? null;
    }
    expect(seqs.length).toBeGreaterThan(2 * steps);
    expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
    stream.close();
  }, 120_000);
});

describe.skipIf(!database.available)("a stream whose client takes nothing", () => {
  it("ends in time and is not counted any more, and one without events lasts", async () => {
    const api = await start([], {
      concurrency: 0,
      limits: { readTimeoutMs: 200 },
      routes: (base) =>
        runRoutes(base, { maxStreams: 2 })
          .filter(({ operationId }) => operationId === "followRun")
          .map((route) => ({ ...route, path: `/limited${route.path}`, operationId: "limited" })),
    });
    const runs = await api.agent({ name: "plain" });
    const paths: string[] = [];
    for (let at = 0; at < 2; at += 1) {
      const { json } = await api.post(runs, { input: message });
      paths.push(`${runs}/${String(json["run_id"])}`);
    }
    const { claims, events } = api.server.platform;
    const [full, idle] = [await claimOf(api), await claimOf(api)];
    const batch = Array.from({ length: 50 }, (_, at) => {
      return { event: "thought", data: { content: `${at} `.padEnd(pageBytes, "x") } };
    });
    for (let at = 0; at < 5; at += 1) await events.append(full, batch);
    const pathOf = ({ id }: { id: string }) => paths.find((path) => path.endsWith(id)) ?? "";
    const quiet = await api.stream(`/limited${pathOf(idle)}/events`);
    await quiet.block();
    const stuck = await api.stream(`/limited${pathOf(full)}/events`);
    const statusOf = async () => {
      const other = await api.stream(`/limited${pathOf(full)}/events?follow=false`);
      other.close();
      return other.status;
    };
    expect(await statusOf()).toBe(429);
    await expect.poll(statusOf, { timeout: 30_000 }).toBe(200);
    await expect(stuck.rest()).rejects.toThrow("aborted");
    await events.append(idle, [{ event: "thought", data: { content: "Still here." } }]);
    expect(await quiet.next()).toMatchObject({ data: { content: "Still here." } });
    quiet.close();
    for (const claim of [full, idle])
      await claims.finish(claim, { state: "complete", result: null });
  }, 60_000);
});

async function claimOf({ server }: RunServer) {
  const claim = await server.platform.claims.claim({ worker: "test", leaseMs: 60_000 });
  if (claim === null) throw new Error("No run was queued.");
  return claim;
}

/** The pages in the results of tools, sorted within each step. */
function pagesIn(events: readonly ReadEvent[]): number[] {
  return events
    .filter(({ event }) => event === "tool_result")
    .map(({ data }) => Number.parseInt((data["output"] as { text: string }).text, 10))
    .toSorted((a, b) => Math.floor(a / callsOfStep) - Math.floor(b / callsOfStep) || a - b);
}
