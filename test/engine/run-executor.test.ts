import { AIMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import {
  createServer,
  type PlatformServer,
  type ServerBase,
  type ServerOptions,
} from "../../src/create-server.ts";
import { DatabaseUnavailableError } from "../../src/storage/errors.ts";
import type { Run } from "../../src/storage/platform/runs/runs.ts";
import { withAllTenants } from "../../src/storage/tenant.ts";
import { defineTool } from "../../src/index.ts";
import { useDatabase } from "../helpers/databases.ts";
import { useEmptyQueue } from "../helpers/empty-queue.ts";
import { gate } from "../helpers/run-server.ts";
import { ScriptedModel, type ScriptedReply } from "../helpers/scripted-model.ts";

const agent = { name: "helper", tools: ["calculator"] };

describe.each(["pglite", "postgres"] as const)("runs on %s", (kind) => {
  const database = useDatabase(kind);
  const servers: PlatformServer[] = [];
  useEmptyQueue(database);
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close(0)));
  });
  let tenants = 0;

  async function start(script: readonly ScriptedReply[], options: Partial<ServerOptions> = {}) {
    let base: ServerBase | undefined;
    const model = new ScriptedModel(script);
    const server = await createServer({
      database: database.shared,
      development: true,
      developmentTenant: `runs ${kind} ${(tenants += 1)}`,
      runtime: { models: model },
      routes: (parts) => {
        base = parts;
        return [];
      },
      ...options,
    });
    servers.push(server);
    const tenantId = server.developmentTenantId ?? "";
    return { server, base: base!, model, tenantId };
  }
  type Started = Awaited<ReturnType<typeof start>>;

  async function queueRun(
    { server, base, tenantId }: Started,
    definition: object = agent,
    { wakes = true }: { wakes?: boolean } = {},
  ) {
    const { agents, instances, runs } = server.platform;
    const { name } = definition as { name: string };
    const stored = await agents.create(tenantId, { name, definition });
    const threadId = base.ids();
    const instance = await instances.create(tenantId, {
      threadId,
      agent: name,
      definitionId: stored.id,
    });
    const request = {
      definition_id: stored.id,
      turn_id: base.ids(),
      input: { message: "What is 6 * 7?" },
    };
    const run = await runs.create(tenantId, { instanceId: instance.id, request });
    if (wakes) base.queue.wake();
    return run;
  }

  /** Waits until a run has ended or waits, with events after those of `run`. */
  async function until({ base, tenantId }: Started, run: Run, state: string): Promise<Run> {
    let now: Run;
    for (;;) {
      const signalled = base.signals.next(run.id, { ms: 100 });
      now = await base.platform.runs.get(tenantId, run.id);
      if (!["queued", "running"].includes(now.state) && now.lastEvent > run.lastEvent) break;
      await signalled;
    }
    expect([now.state, now.result?.["cause"]]).toMatchObject([state, now.result?.["cause"]]);
    return now;
  }

  it.skipIf(!database.available)(
    "executes a queued run, with its events, usage and rows",
    async () => {
      const started = await start([
        { calls: [{ name: "calculator", args: { expression: "6 * 7" } }] },
        "It is 42.",
      ]);
      const run = await until(started, await queueRun(started), "complete");
      expect(run.result).toMatchObject({ status: "complete", message: "It is 42.", cause: null });
      const { events, usage, tables } = started.base.platform;
      const log = await events.read(started.tenantId, run.id);
      expect(log.map(({ event }) => event)).toEqual(
        expect.arrayContaining(["status", "tool_call", "tool_result", "message", "done"]),
      );
      expect(log.at(-1)).toMatchObject({ event: "done", data: { status: "complete" } });
      expect(log.map(({ seq }) => seq)).toEqual(log.map((_, at) => at + 1));
      const day = new Date().toISOString().slice(0, 10);
      expect(await usage.range(started.tenantId, { from: day, to: day })).toMatchObject([
        { turns: 1, llm_calls: 2, tool_calls: 1, tokens_in: 20 },
      ]);
      const { rows } = await tables.tenants.pool.query(
        `select run_id from ${tables.schema}.turn where run_id = '${run.id}'`,
      );
      expect(rows).toHaveLength(1);
    },
  );

  /** A reply that never comes, until the call is aborted. `asked` resolves when it is asked for. */
  function hangingReply() {
    let tell = () => {};
    const asked = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const reply: ScriptedReply = (_request, config) =>
      new Promise((_resolve, reject) => {
        tell();
        const { signal } = config;
        signal?.addEventListener("abort", () => reject(signal.reason as Error));
      });
    return { reply, asked };
  }
  const calculation = { calls: [{ name: "calculator", args: { expression: "6 * 7" } }] };
  const names = async ({ base, tenantId }: Started, run: Run) =>
    (await base.platform.events.read(tenantId, run.id)).map(({ event }) => event);

  it.skipIf(!database.available)(
    "hands a run over when the server closes, and another one continues it",
    async () => {
      const { reply, asked } = hangingReply();
      const first = await start([calculation, reply]);
      const queued = await queueRun(first);
      await asked;
      await first.server.close(0);
      const { state, attempts } = await first.base.platform.runs.get(first.tenantId, queued.id);
      expect([state, attempts]).toEqual(["queued", 0]);

      const second = await start(["It is 42."]);
      const run = await until({ ...second, tenantId: first.tenantId }, queued, "complete");
      expect(run.result).toMatchObject({ message: "It is 42." });
      const log = await names({ ...second, tenantId: first.tenantId }, run);
      expect(log.filter((name) => name === "tool_result")).toHaveLength(1);
      expect(log.filter((name) => name === "done")).toHaveLength(1);
    },
  );

  it.skipIf(!database.available)(
    "hands a run over before its next step when the server closes",
    async () => {
      const { arrived, open, wait } = gate();
      const calls = { name: "calculator", args: { expression: "6 * 7" }, id: "call_1" };
      const first = await start([
        async () => (await wait(), new AIMessage({ content: "", tool_calls: [calls] })),
        "never asked",
      ]);
      const queued = await queueRun(first);
      await arrived;
      const closed = first.server.close(60_000);
      open();
      await closed;
      const { state, attempts } = await first.base.platform.runs.get(first.tenantId, queued.id);
      expect([state, attempts, first.model.requests.length]).toEqual(["queued", 0, 1]);

      const second = await start(["It is 42."]);
      const run = await until({ ...second, tenantId: first.tenantId }, queued, "complete");
      expect(run.result).toMatchObject({ message: "It is 42." });
      expect(second.model.requests).toHaveLength(1);
    },
  );

  it.skipIf(!database.available)(
    "writes no event twice when a worker dies in the middle of a step",
    async () => {
      const { arrived, wait } = gate();
      let deaths = 0;
      const waits = defineTool({
        name: "waits",
        description: "Waits.",
        input_schema: { type: "object" },
        execution: { idempotent: true },
        handler: async (_input, { signal }) => {
          if ((deaths += 1) > 1) return "done";
          void wait();
          await new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason as Error));
          });
          return "never";
        },
      });
      const definition = { name: "waiter", tools: ["calculator", "waits"] };
      const both = { calls: [...calculation.calls, { name: "waits", args: {} }] };
      const first = await start([both], { tools: [waits] });
      const queued = await queueRun(first, definition);
      await arrived;
      while (!(await names(first, queued)).includes("tool_result"))
        await first.base.signals.next(queued.id, { ms: 100 });
      // As after the end of a lease: the dead worker writes nothing more.
      const { tables } = first.base.platform;
      await withAllTenants(tables.tenants.pool, (client) =>
        client.query(
          `update ${tables.schema}.run set state = 'queued', epoch = epoch + 1, run_at = now() + interval '1 hour'
          where id = '${queued.id}'`,
        ),
      );
      const before = await first.base.platform.events.read(first.tenantId, queued.id);
      first.base.executor.notice(queued.id);
      await first.server.close(0);
      const second = await start(["It is 42."], { tools: [waits] });
      await withAllTenants(tables.tenants.pool, (client) =>
        client.query(`update ${tables.schema}.run set run_at = now() where id = '${queued.id}'`),
      );
      second.base.queue.wake();
      await until({ ...second, tenantId: first.tenantId }, queued, "complete");
      const log = await second.base.platform.events.read(first.tenantId, queued.id);
      expect(log.slice(0, before.length)).toEqual(before);
      expect(log.map(({ seq }) => seq)).toEqual(log.map((_, at) => at + 1));
      const calls = log.filter(({ event }) => event.startsWith("tool_"));
      expect(calls.map(({ event, data }) => `${event} ${String(data["tool"])}`)).toEqual([
        "tool_call calculator",
        "tool_call waits",
        "tool_result calculator",
        "tool_result waits",
      ]);
      const taken = log.slice(before.length).map(({ event }) => event);
      expect(taken[0]).toBe("tool_result");
    },
  );

  it.skipIf(!database.available)(
    "leaves a run whose events could not be written to the next claim, neither failed nor cancelled",
    async () => {
      const outage = new DatabaseUnavailableError("its sessions were cut", "57P01", undefined);
      const errors: unknown[] = [];
      const error = ({ err }: { readonly err?: unknown }) => void errors.push(err);
      const logger = { info: () => {}, warn: () => {}, error };
      const started = await start([calculation, "It is 42."], { logger });
      const { events } = started.server.platform;
      const append = events.append.bind(events);
      let appends = 0;
      events.append = async (...given) => {
        if ((appends += 1) === 2) throw outage;
        return append(...given);
      };
      const run = await until(started, await queueRun(started), "complete");
      expect([run.attempts, run.epoch, errors]).toEqual([2, 2, [outage]]);
      expect(run.result).toMatchObject({ message: "It is 42.", cause: null });
      const log = await events.read(started.tenantId, run.id);
      expect(log.map(({ seq }) => seq)).toEqual(log.map((_, at) => at + 1));
      expect(log.filter(({ event }) => event === "done")).toHaveLength(1);
    },
  );

  it.skipIf(!database.available)("writes nothing after its run was claimed again", async () => {
    const { reply, asked } = hangingReply();
    const started = await start([reply]);
    const run = await queueRun(started);
    await asked;
    const { tables, runs } = started.base.platform;
    await withAllTenants(tables.tenants.pool, (client) =>
      client.query(`update ${tables.schema}.run set epoch = epoch + 1 where id = '${run.id}'`),
    );
    const before = await names(started, run);
    started.base.executor.notice(run.id);
    await started.server.close(0);
    expect(await names(started, run)).toEqual(before);
    expect((await runs.get(started.tenantId, run.id)).state).toBe("running");
  });

  it.skipIf(!database.available)(
    "cancels a run that executes, and the thread goes on",
    async () => {
      const { reply, asked } = hangingReply();
      const started = await start([reply, "Hello."]);
      const run = await queueRun(started);
      await asked;
      const { runs } = started.base.platform;
      await runs.requestCancel(started.tenantId, run.id);
      started.base.executor.notice(run.id);
      const cancelled = await until(started, run, "cancelled");
      expect(cancelled.result).toMatchObject({
        status: "cancelled",
        cause: { code: "turn_cancelled" },
      });
      const request = { ...run.request, turn_id: started.base.ids() };
      await runs.requeue(started.tenantId, { runId: run.id, kind: "turn", request });
      started.base.queue.wake();
      expect((await until(started, run, "complete")).result).toMatchObject({ message: "Hello." });
    },
  );

  const asking = {
    name: "asking",
    workflow_graph: {
      entry_point: "ask",
      nodes: [
        { name: "ask", type: "human", config: { kind: "approval", prompt: "Send it?" } },
        { name: "answer", type: "llm", config: { prompt: "Say something." } },
      ],
      edges: [
        { from: "ask", to: "answer" },
        { from: "answer", to: "END" },
      ],
    },
  };

  async function answer({ base, tenantId }: Started, run: Run, given: unknown) {
    const [request] = (run.result as { requests?: { id: string }[] } | null)?.requests ?? [];
    const answers = { [request?.id ?? ""]: given };
    await base.platform.runs.requeue(tenantId, {
      runId: run.id,
      kind: "resume",
      request: { ...run.request, answers },
    });
    base.queue.wake();
  }

  it.skipIf(!database.available)(
    "keeps the requests of a run whose answer is refused, and resumes it with one that fits",
    async () => {
      const started = await start(["Sent."]);
      const waiting = await until(started, await queueRun(started, asking), "awaiting_human");
      expect(waiting.result).toMatchObject({
        status: "awaiting_human",
        requests: [{ prompt: "Send it?" }],
      });
      await answer(started, waiting, 17);
      const still = await until(started, waiting, "awaiting_human");
      const { requests } = waiting.result as { requests: unknown };
      expect(still.result).toMatchObject({ requests, cause: { code: "invalid_answer" } });
      await answer(started, still, true);
      const run = await until(started, still, "complete");
      expect(run.result).toMatchObject({ status: "complete", cause: null });
      expect((await names(started, run)).filter((name) => name === "request")).toHaveLength(2);
    },
  );

  it.skipIf(!database.available)(
    "does not answer twice when the run was handed over after its answer was taken",
    async () => {
      const { reply, asked } = hangingReply();
      const first = await start([reply]);
      const waiting = await until(first, await queueRun(first, asking), "awaiting_human");
      await answer(first, waiting, true);
      await asked;
      await first.server.close(0);
      const second = await start(["Sent."]);
      const run = await until({ ...second, tenantId: first.tenantId }, waiting, "complete");
      expect(run.result).toMatchObject({ status: "complete" });
    },
  );

  /** Changes the row of a run, as workers leave it that are lost. */
  const change = ({ base }: Started, run: Run, set: string) =>
    withAllTenants(base.platform.tables.tenants.pool, (client) =>
      client.query(`update ${base.platform.tables.schema}.run set ${set} where id = '${run.id}'`),
    );
  const heard = async ({ base }: Started, run: Run) => {
    const { tables } = base.platform;
    const { rows } = await withAllTenants(tables.tenants.pool, (client) =>
      client.query<{ event: string; body: unknown }>(
        `select event, body from ${tables.schema}.webhook_delivery where tenant_id = '${run.tenantId}'`,
      ),
    );
    return rows;
  };
  const listen = ({ base, tenantId }: Started) =>
    base.platform.webhooks.create(tenantId, { url: "https://example.com/hook", events: ["*"] });

  it.skipIf(!database.available)("ends a run with which five workers were lost", async () => {
    const stopped = await start([], { concurrency: 0 });
    await listen(stopped);
    const queued = await queueRun(stopped);
    await change(stopped, queued, "attempts = 5");
    const { model, ...started } = await start(["Hello."]);
    const run = await until({ ...started, model, tenantId: stopped.tenantId }, queued, "dead");
    expect(run.result).toMatchObject({ status: "failed", cause: { code: "run_dead" } });
    expect(await names(stopped, run)).toEqual(["error", "done"]);
    expect(await heard(stopped, run)).toMatchObject([
      { event: "run.failed", body: { run_id: run.id, cause: { code: "run_dead" } } },
    ]);
    expect(model.requests).toEqual([]);
  });

  it.skipIf(!database.available)("executes a run with which four workers were lost", async () => {
    const stopped = await start([], { concurrency: 0 });
    const queued = await queueRun(stopped);
    await change(stopped, queued, "attempts = 4");
    const started = await start(["Hello."]);
    const run = await until({ ...started, tenantId: stopped.tenantId }, queued, "complete");
    expect(run.attempts).toBe(5);
  });

  it.skipIf(!database.available)(
    "cancels a run whose worker was lost before it had done so",
    async () => {
      const stopped = await start([], { concurrency: 0 });
      await listen(stopped);
      const queued = await queueRun(stopped);
      await change(stopped, queued, "attempts = 1, cancel_requested_at = now()");
      const { model, ...started } = await start(["Hello."]);
      const of = { ...started, model, tenantId: stopped.tenantId };
      const run = await until(of, queued, "cancelled");
      expect(run.result).toMatchObject({ cause: { code: "turn_cancelled" } });
      expect((await names(stopped, run)).at(-1)).toBe("done");
      expect(await heard(stopped, run)).toMatchObject([{ event: "run.cancelled" }]);
      expect(model.requests).toEqual([]);
    },
  );

  it.skipIf(!database.available)(
    "executes a run that was queued behind one that waits once that one has ended",
    async () => {
      const started = await start(["Sent.", "Hello."]);
      const { runs } = started.base.platform;
      const asks = await queueRun(started, asking, { wakes: false });
      const request = { ...asks.request, turn_id: started.base.ids() };
      const behind = await runs.create(started.tenantId, { instanceId: asks.instanceId, request });
      const waiting = await until(started, asks, "awaiting_human");
      expect((await runs.get(started.tenantId, behind.id)).state).toBe("queued");
      await answer(started, waiting, true);
      await until(started, waiting, "complete");
      await until(started, behind, "awaiting_human");
    },
  );

  it.skipIf(!database.available)("ends a run that cannot be executed as failed", async () => {
    const started = await start([]);
    const unknown = { name: "unknown", tools: ["no_such_tool"] };
    const run = await until(started, await queueRun(started, unknown), "failed");
    expect(run.result).toMatchObject({ status: "failed", cause: { code: "unknown_tool" } });
    expect((await names(started, run)).slice(-2)).toEqual(["error", "done"]);
  });
});
