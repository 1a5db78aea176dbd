import { AIMessage } from "@langchain/core/messages";
import pg from "pg";
import { describe, expect, it, vi } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { useDatabase } from "../helpers/databases.ts";
import { gate, type RunServer, useRunServers } from "../helpers/run-server.ts";

const database = useDatabase("postgres");
const start = useRunServers(database);
/** Never looks: what arrives was told. */
const clock = {
  ...systemClock,
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic(),
  after: (...[ms, run, options]: Parameters<typeof systemClock.after>) =>
    ms >= 250 && ms <= 4_000 ? () => {} : systemClock.after(ms, run, options),
};

const isCarried = ({ base }: RunServer) => base.signals.isCarried;

async function startPair(script: Parameters<typeof start>[0]) {
  const worker = await start(script, { clock });
  const front = await start([], { clock, concurrency: 0 });
  await expect.poll(() => [worker, front].every(isCarried)).toBe(true);
  return { front, worker, runs: await front.agent({ name: "plain" }) };
}

describe.skipIf(!database.available)("servers of one Postgres, without polling", () => {
  it("take a run that another has queued, and tell its caller of the end", async () => {
    const { front } = await startPair(["Hello."]);
    const { status, json } = await front.post("/runs/wait", {
      assistant_id: "plain",
      input: { messages: [{ role: "user", content: "Hi" }] },
    });
    expect(status).toBe(200);
    expect(JSON.stringify(json)).toContain("Hello.");
  });

  it("give a message to a turn that another executes", async () => {
    const busy = gate();
    const tool_calls = [{ id: "c1", name: "calculator", args: { expression: "6 * 7" } }];
    const calls = async () => {
      await busy.wait();
      return new AIMessage({ content: "", tool_calls });
    };
    const { front, worker } = await startPair([calls, "It is 42, sir."]);
    const told = vi.spyOn(worker.base.executor, "notice");
    const runs = await front.agent({ name: "counting", tools: ["calculator"] });
    const { json } = await front.post(runs, { input: { message: "What is 6 * 7?" } });
    const id = String(json["run_id"]);
    await busy.arrived;
    const body = { as: "message", payload: { content: "Call me sir." } };
    const sent = await front.post(`${runs}/${id}/events`, body);
    expect(sent.json).toEqual({ status: "kept", run_id: id });
    await expect.poll(() => told.mock.calls.flat()).toContain(id);
    busy.open();
    await front.until(`${runs}/${id}`, "complete");
    expect(worker.model.read(1).at(-1)).toBe("human: Call me sir.");
  });

  it("take a run for which another has no room", async () => {
    const busy = gate();
    const answers = async () => {
      await busy.wait();
      return new AIMessage("Late.");
    };
    const full = await start([answers], { clock, concurrency: 1 });
    const idle = await start(["Hello.", "Hello."], { clock });
    await expect.poll(() => [full, idle].every(isCarried)).toBe(true);
    const runs = await full.agent({ name: "plain" });
    const body = { input: { message: "Hi" } };
    await full.post(runs, body);
    await busy.arrived;
    const { json } = await full.post(runs, body);
    const path = `${runs}/${String(json["run_id"])}`;
    const events = await (await full.stream(`${path}/events`)).rest();
    expect(events.at(-1)).toMatchObject({ event: "done", data: { status: "complete" } });
    expect(idle.model.requests).toHaveLength(1);
    // A next turn is queued without `add`.
    const turn = full.post(`${path}/turns`, body);
    await expect.poll(() => idle.model.requests.length).toBe(2);
    busy.open();
    await turn;
  });

  it("continue a run that another hands over as it stops", async () => {
    const busy = gate();
    const answers = async () => {
      await busy.wait();
      return new AIMessage("Hello.");
    };
    const first = await start([answers], { clock });
    const runs = await first.agent({ name: "plain" });
    const { json } = await first.post(runs, { input: { message: "Hi" } });
    await busy.arrived;
    const second = await start([], { clock });
    await expect.poll(() => [first, second].every(isCarried)).toBe(true);
    const stopped = first.server.close(60_000);
    busy.open();
    await stopped;
    const { platform } = second.server;
    const stateOf = async () =>
      (await platform.runs.get(first.tenantId, String(json["run_id"]))).state;
    await expect.poll(stateOf).toBe("complete");
  });

  it("take a run whose labels another does not have", async () => {
    const plain = await start([], { clock });
    const gpu = await start(["Hello."], { clock, labels: ["gpu"] });
    await expect.poll(() => [plain, gpu].every(isCarried)).toBe(true);
    const execution_config = { worker_labels: ["gpu"] };
    const runs = await plain.agent({ name: "plain", execution_config });
    const { json } = await plain.post(runs, { input: { message: "Hi" } });
    const stream = await plain.stream(`${runs}/${String(json["run_id"])}/events`);
    expect((await stream.rest()).at(-1)).toMatchObject({ data: { status: "complete" } });
  });

  it("stream a run of another to its end", async () => {
    const { front, runs } = await startPair(["Hello."]);
    const { json } = await front.post(runs, { input: { message: "Hi" } });
    const stream = await front.stream(`${runs}/${String(json["run_id"])}/events`);
    const events = await stream.rest();
    expect(events.map(({ id }) => id)).toEqual(events.map((_, at) => at + 1));
    expect(events.at(-1)).toMatchObject({ event: "done" });
  });

  it("stream the runs that commands to another start on a thread", async () => {
    const { front, worker } = await startPair(["Hello."]);
    const thread = "/threads/a thread/";
    const stream = await front.stream(`${encodeURI(thread)}stream/events`, {
      method: "POST",
      body: { channels: ["lifecycle"] },
    });
    expect(await stream.block()).toBe(": open");
    const params = { assistant_id: "plain", input: { input: { message: "Hi" } } };
    const command = { id: 1, method: "run.start", params };
    const answer = await worker.send("POST", `${encodeURI(thread)}commands`, {
      body: command,
      key: front.key,
    });
    expect(answer.json).toMatchObject({ type: "success" });
    const seen: unknown[] = [];
    while (!seen.includes("completed")) {
      const block = (await stream.block()) ?? "";
      const data = /^data: (.*)$/m.exec(block)?.[1] ?? "null";
      const event = JSON.parse(data) as { params: { namespace: []; data: { event: string } } };
      if (event.params.namespace.length === 0) seen.push(event.params.data.event);
    }
    expect(seen).toEqual(["running", "completed"]);
    stream.close();
  });

  it("travel by themselves, never in a transaction and never with other writes", async () => {
    const asked = new Map<unknown, string[]>();
    const query = vi.spyOn(pg.Client.prototype, "query");
    try {
      const { front, runs } = await startPair(["Hello."]);
      const stream = await front.stream(runs, {
        method: "POST",
        body: { input: { message: "Hi" }, config: { stream: true } },
      });
      expect((await stream.rest()).at(-1)).toMatchObject({ event: "done" });
      for (const [at, client] of query.mock.contexts.entries()) {
        const [given] = query.mock.calls[at] as unknown as [string | { readonly text: string }];
        const text = typeof given === "string" ? given : given.text;
        asked.set(client, [...(asked.get(client) ?? []), text]);
      }
    } finally {
      query.mockRestore();
    }
    const notices = [...asked.values()].filter((texts) =>
      texts.some((text) => text.startsWith("listen ")),
    );
    expect(notices).toHaveLength(2);
    const lock = "select pg_advisory_lock($1::bigint)";
    for (const [listen, ...rest] of notices) {
      expect(listen).toMatch(/^listen "/);
      // The lock by which others see that a worker lives is taken once.
      const sent = rest[0] === lock ? rest.slice(1) : rest;
      expect(new Set(sent)).toEqual(new Set(["select pg_notify($1, $2)"]));
    }
    expect(notices.flat().filter((text) => text === lock)).toHaveLength(1);
    const others = [...asked.values()].filter((texts) => !notices.includes(texts));
    const notifying = others.flat().filter((text) => /pg_notify|^\s*notify/i.test(text));
    // The check of each process that a notice of another session arrives.
    expect(notifying).toEqual(Array.from({ length: 2 }, () => "select pg_notify($1, $2)"));
    expect(others.flat().some((text) => /insert into .*checkpoint/.test(text))).toBe(true);
  });

  it("cancel a run of another", async () => {
    let arrived = () => {};
    const begun = new Promise<void>((resolve) => (arrived = resolve));
    const hangs = async (_request: unknown, { signal }: { signal?: AbortSignal }) => {
      arrived();
      await new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason as Error));
      });
      return new AIMessage("Late.");
    };
    const { front, runs } = await startPair([hangs]);
    const { json } = await front.post(runs, { input: { message: "Hi" } });
    const path = `${runs}/${String(json["run_id"])}`;
    await begun;
    const ended = front.stream(`${path}/events`).then((stream) => stream.rest());
    await front.post(`${path}/cancel`, {});
    expect((await ended).at(-1)).toMatchObject({ event: "done", data: { status: "cancelled" } });
  });
});
