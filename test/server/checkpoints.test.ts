import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createServer, type ServerBase } from "../../src/create-server.ts";
import { defineTool } from "../../src/index.ts";
import type { Threads } from "../../src/runtime/threads/threads.ts";
import { StateViewer } from "../../src/server/checkpoints/shown-state.ts";
import { createSecrets } from "../../src/tools/secrets.ts";
import type { Run } from "../../src/storage/platform/runs/runs.ts";
import { listenForTest, type SendOptions, tenantA } from "../helpers/api-server.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { useEmptyQueue } from "../helpers/empty-queue.ts";
import { ScriptedModel, type ScriptedReply } from "../helpers/scripted-model.ts";

const location = defineTool({
  name: "user_location",
  description: "Says where the user is.",
  input_schema: z.object({}),
  transport: { type: "client" },
});
const unknownId = "00000000-0000-7000-8000-000000000000";
const calculate: ScriptedReply = {
  calls: [{ name: "calculator", args: { expression: "6 * 7" } }],
};

describe("a state", () => {
  const viewerOf = (values: Readonly<Record<string, unknown>>, scopes: readonly string[]) => {
    const threads = { stateAt: async () => ({ values }) } as unknown as Threads;
    return new StateViewer({ threads }, "t", { tenantId: tenantA, keyId: "k", scopes });
  };

  it("of 5 MB is shown redacted, and one over the limit is refused with the size of each channel", async () => {
    const text = "ada@example.org ".repeat(312_500);
    const redactions = { "<EMAIL_1>": { label: "EMAIL", value: "ada@example.org" } };
    const values = { output: text, redactions };
    const { output } = await viewerOf(values, []).shown(values, { values });
    expect(output).toBe("<EMAIL_1> ".repeat(312_500));
    // Of two bytes each; the rest are quotes, keys and braces.
    const full = { output: "é".repeat(8_388_591), status: "COMPLETED" };
    expect(Buffer.byteLength(JSON.stringify(full))).toBe(16_777_216);
    expect(await viewerOf(full, ["*"]).shown(full, { values: full })).toEqual(full);
    const large = { ...full, output: `${full.output}.` };
    const shown = viewerOf(large, ["*"]).shown(large, { values: large });
    await expect(shown).rejects.toMatchObject({
      type: "invalid_input",
      facts: {
        detail:
          "The state has more than 16,777,216 bytes of JSON. Ask for one channel: channel=NAME under /v1, select=values.NAME in LangGraph's protocol.",
        extensions: {
          code: "state_too_large",
          channel_bytes: { output: 16_777_185, status: 11 },
        },
      },
    });
  });
});

it("a state has references in place of the values of secrets, whatever the scope", async () => {
  const secrets = createSecrets({ get: () => "open sesame" });
  await secrets.resolve("{{secret:TOKEN}}");
  const principal = { tenantId: tenantA, keyId: "k", scopes: ["*"] };
  const viewer = new StateViewer({ threads: {} as Threads, secrets }, "t", principal);
  const values = { output: "It says open sesame." };
  const shown = await viewer.shown(values, { values });
  expect(shown).toEqual({ output: "It says {{secret:TOKEN}}." });
});

describe.each(drawDatabases(import.meta.url))("on %s", (kind) => {
  const database = useDatabase(kind);
  useEmptyQueue(database);
  let tenants = 0;

  /** A server whose tenants have an agent each; all models say the script. */
  async function start(script: readonly ScriptedReply[], definition: object = {}) {
    let base: ServerBase | undefined;
    const server = await createServer({
      database: database.shared,
      runtime: { models: new ScriptedModel(script) },
      tools: [location],
      routes: (parts) => {
        base = parts;
        return [];
      },
    });
    const { send } = await listenForTest(server);
    const { platform } = server;
    const tenant = async () => {
      const { id } = await platform.tenants.create({
        name: `checkpoints ${kind} ${(tenants += 1)}`,
      });
      const keyOf = async (...scopes: string[]) =>
        (await platform.apiKeys.create({ tenantId: id, name: "k", scopes })).secret;
      const key = await keyOf("*");
      const spec = { name: "helper", tools: ["calculator"], ...definition };
      const agent = await platform.agents.create(id, { name: "helper", definition: spec });
      return {
        id,
        agent,
        keyOf,
        path: `/v1/agents/${agent.agentId}/runs`,
        send: (method: string, path: string, of: SendOptions = {}) =>
          send(method, path, { key, ...of }),
      };
    };
    return { server, base: base!, tenant };
  }
  type Started = Awaited<ReturnType<typeof start>>;
  type Tenant = Awaited<ReturnType<Started["tenant"]>>;

  async function queue({ base }: Started, { id, agent }: Tenant, message: string, thread?: string) {
    const threadId = thread ?? base.ids();
    const { instances, runs } = base.platform;
    const instance = await instances.create(id, {
      threadId,
      agent: "helper",
      definitionId: agent.id,
    });
    const input = { message };
    const request = { definition_id: agent.id, turn_id: base.ids(), input };
    const run = await runs.create(id, { instanceId: instance.id, request });
    base.queue.wake();
    return run;
  }

  /** Waits until a run has ended or waits. */
  async function ended({ base }: Started, { id }: Tenant, runId: string): Promise<Run> {
    for (;;) {
      const signalled = base.signals.next(runId, { ms: 100 });
      const now = await base.platform.runs.get(id, runId);
      if (now.state !== "queued" && now.state !== "running") return now;
      await signalled;
    }
  }

  async function runNow(started: Started, tenant: Tenant, message: string, thread?: string) {
    const { id } = await queue(started, tenant, message, thread);
    return succeeded(await ended(started, tenant, id));
  }

  /** Throws the whole result of a run that failed. */
  function succeeded(run: Run): Run {
    if (run.state === "failed")
      throw new Error(`The run failed in claim ${run.epoch}: ${JSON.stringify(run.result)}`);
    return run;
  }

  const listed = (json: Record<string, unknown>) =>
    json["checkpoints"] as { id: string; nodes: string[]; [name: string]: unknown }[];

  describe.skipIf(!database.available)("checkpoints", () => {
    it("are listed newest first, in pages, each with its node, trigger and outcome", async () => {
      const started = await start([calculate, "42."]);
      const tenant = await started.tenant();
      const { id, threadId, result } = await runNow(started, tenant, "What is 6 * 7?");
      const path = `${tenant.path}/${id}/checkpoints`;
      const all = listed((await tenant.send("GET", path)).json);
      expect(all[0]).toMatchObject({
        id: result?.["checkpoint_id"],
        thread_id: threadId,
        trigger: "turn_complete",
        status: "COMPLETED",
        node: "finalize",
        node_outcomes: { finalize: "success" },
        parent_id: all[1]?.id,
      });
      expect(all.at(-1)).toMatchObject({ trigger: "input", parent_id: null, sequence_num: 0 });
      expect(all.map(({ trigger }) => trigger)).toContain("tool_result");
      const ids = all.map((one) => one.id);
      const pages: string[] = [];
      let next: string | null = `${path}?limit=3`;
      while (next !== null) {
        const { json, headers } = await tenant.send("GET", next);
        pages.push(...listed(json).map((one) => one.id));
        next = /<([^>]+)>/.exec(headers.get("link") ?? "")?.[1] ?? null;
      }
      expect(pages).toEqual(ids);
      const older = await tenant.send("GET", `${path}?before=${ids[1]}&limit=2`);
      expect(listed(older.json).map((one) => one.id)).toEqual(ids.slice(2, 4));
      const link = /<([^>]+)>/.exec(older.headers.get("link") ?? "")?.[1] ?? "";
      const { json } = await tenant.send("GET", link);
      expect(listed(json).map((one) => one.id)).toEqual(ids.slice(4, 6));
      const ofThread = `/v1/threads/${threadId}/checkpoints`;
      for (const at of [
        "?limit=3",
        `/${ids[1]}?channel=status`,
        `/${ids[1]}/diff?from=${ids[3]}`,
      ]) {
        const [byRun, byThread] = [
          await tenant.send("GET", path + at),
          await tenant.send("GET", ofThread + at),
        ];
        expect([byRun.status, byThread.json]).toEqual([200, byRun.json]);
      }
      for (const cursor of ["x", `${ids[1]}0`, `0${ids[1]}`, ids[1]?.toUpperCase()]) {
        const { json: bad } = await tenant.send("GET", `${path}?cursor=${cursor}`);
        expect([cursor, bad["type"]]).toEqual([cursor, "/problems/invalid_cursor"]);
      }
    });

    it("are empty before a run begins, and unknown to other agents, tenants and keys", async () => {
      const started = await start([]);
      const [tenant, other] = [await started.tenant(), await started.tenant()];
      const { agents, instances, runs } = started.base.platform;
      const { id: instanceId } = await instances.create(tenant.id, {
        threadId: "later",
        agent: "helper",
        definitionId: tenant.agent.id,
      });
      const request = { definition_id: tenant.agent.id, turn_id: unknownId };
      const later = "2999-01-01T00:00:00Z";
      const { id } = await runs.create(tenant.id, { instanceId, request, runAt: later });
      const path = `/${id}/checkpoints`;
      const { status, json } = await tenant.send("GET", tenant.path + path);
      expect([status, json]).toEqual([200, { checkpoints: [], next_cursor: null }]);
      const ofThread = await tenant.send("GET", "/v1/threads/later/checkpoints");
      expect([ofThread.status, ofThread.json]).toEqual([200, json]);
      const definition = { name: "second" };
      const { agentId } = await agents.create(tenant.id, { name: "second", definition });
      for (const [caller, at] of [
        [tenant, `/v1/agents/${agentId}/runs${path}`],
        [tenant, `${tenant.path}/${unknownId}/checkpoints`],
        [tenant, `${tenant.path}/x/checkpoints`],
        [tenant, `${tenant.path}${path}/${unknownId}`],
        [other, tenant.path + path],
        [other, `${tenant.path}${path}/${unknownId}/diff`],
        [tenant, "/v1/threads/unknown/checkpoints"],
        [tenant, `/v1/threads/later/checkpoints/${unknownId}`],
        [other, "/v1/threads/later/checkpoints"],
        [other, `/v1/threads/later/checkpoints/${unknownId}`],
        [other, `/v1/threads/later/checkpoints/${unknownId}/diff`],
      ] as const) {
        expect([at, (await caller.send("GET", at)).status]).toEqual([at, 404]);
      }
      const key = await tenant.keyOf("runs:read", "runs:write");
      expect((await tenant.send("GET", tenant.path + path, { key })).status).toBe(403);
    });

    it("have the whole state, with placeholders for what rails redacted unless a scope allows it", async () => {
      const guardrail_config = { input_rails: [{ type: "pii" }] };
      const started = await start(["Hello <EMAIL_1>."], { guardrail_config, tools: [] });
      const tenant = await started.tenant();
      const { id } = await runNow(started, tenant, "I am ada@example.org, with numbers 123456.");
      const path = `${tenant.path}/${id}/checkpoints`;
      const checkpoints = listed((await tenant.send("GET", path)).json);
      const key = await tenant.keyOf("checkpoints:read");
      // The first one is older than the rail's finding.
      for (const { id: checkpoint, trigger } of checkpoints) {
        const { status, json, text } = await tenant.send("GET", `${path}/${checkpoint}`, { key });
        expect([status, json["redacted"]]).toEqual([200, true]);
        expect(text).not.toContain("ada@example.org");
        const open = await tenant.send("GET", `${path}/${checkpoint}`);
        expect(open.json["redacted"]).toBe(false);
        // The first one has no values yet.
        expect(open.text.includes("ada@example.org")).toBe(trigger !== "input");
        const diff = await tenant.send("GET", `${path}/${checkpoint}/diff`, { key });
        expect(diff.text).not.toContain("ada@example");
      }
      const last = await tenant.send("GET", `${path}/${checkpoints[0]?.id}`, { key });
      expect(last.json).toMatchObject({
        parent_id: checkpoints[1]?.id,
        next: [],
        requests: [],
        integrity_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        state: {
          status: "COMPLETED",
          input: { message: "I am <EMAIL_1>, with numbers 123456." },
          redactions: { "<EMAIL_1>": { label: "EMAIL" } },
        },
      });
      const one = await tenant.send("GET", `${path}/${checkpoints[0]?.id}?channel=status`, { key });
      expect(one.json["state"]).toEqual({ status: "COMPLETED" });
      const { redactions } = last.json["state"] as { redactions: unknown };
      expect(redactions).toEqual({ "<EMAIL_1>": { label: "EMAIL" } });
      for (const channel of ["nothing", "constructor"]) {
        const none = await tenant.send("GET", `${path}/${checkpoints[0]?.id}?channel=${channel}`);
        expect(none.json).toMatchObject({ status: 400, errors: [{ pointer: "/channel" }] });
      }
    });

    it("are compared with their parent, or with one that is named", async () => {
      const started = await start([calculate, "42."]);
      const tenant = await started.tenant();
      const { id } = await runNow(started, tenant, "What is 6 * 7?");
      const path = `${tenant.path}/${id}/checkpoints`;
      const [last, before, ...older] = listed((await tenant.send("GET", path)).json);
      const first = older.at(-1);
      const diff = (of: string | undefined, query = "") =>
        tenant.send("GET", `${path}/${of}/diff${query}`);
      const { json } = await diff(last?.id);
      expect(json).toMatchObject({ from: before?.id, to: last?.id });
      expect(json["channels"]).toContainEqual(
        expect.objectContaining({ channel: "messages", kind: "changed" }),
      );
      expect((await diff(last?.id, `?from=${before?.id}`)).json).toEqual(json);
      expect((await diff(before?.id, `?to=${last?.id}`)).json).toEqual(json);
      expect((await diff(last?.id, `?from=${last?.id}`)).json["channels"]).toEqual([]);
      expect((await diff(first?.id)).json).toMatchObject({ from: null, to: first?.id });
      expect((await diff(last?.id, `?from=${unknownId}`)).status).toBe(404);
      const both = await diff(last?.id, `?from=${before?.id}&to=${before?.id}`);
      expect(both.json).toMatchObject({ status: 400, errors: [{ pointer: "/to", in: "query" }] });
    });

    it("that are damaged are a conflict, and the others are shown", async () => {
      const started = await start(["Hello."], { tools: [] });
      const tenant = await started.tenant();
      const { id } = await runNow(started, tenant, "Hi.");
      const path = `${tenant.path}/${id}/checkpoints`;
      const [last, before] = listed((await tenant.send("GET", path)).json);
      await database.shared.pool.query(
        "update stratagraph.checkpoints set hash = decode(repeat('00', 32), 'hex') where checkpoint_id = $1",
        [before?.id],
      );
      const { json } = await tenant.send("GET", `${path}/${before?.id}`);
      expect(json).toMatchObject({ status: 409, code: "corrupt_checkpoint" });
      expect((await tenant.send("GET", `${path}/${last?.id}/diff`)).status).toBe(409);
      expect((await tenant.send("GET", `${path}/${last?.id}`)).status).toBe(200);
    });
  });

  describe.skipIf(!database.available)("a replay", () => {
    const replayed = async (started: Started, tenant: Tenant, of: Run, body: object) => {
      const answer = await tenant.send("POST", `${tenant.path}/${of.id}/replay`, { body });
      expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
      const { new_run_id, thread_id, status } = answer.json;
      expect(status).toBe("queued");
      expect(answer.headers.get("location")).toBe(`${tenant.path}/${String(new_run_id)}`);
      expect(thread_id).not.toBe(of.threadId);
      return succeeded(await ended(started, tenant, String(new_run_id)));
    };

    it("runs in a new thread with the modified state, with rows of its own", async () => {
      const started = await start([calculate, "42.", "43."]);
      const tenant = await started.tenant();
      const first = await runNow(started, tenant, "What is 6 * 7?");
      const path = `${tenant.path}/${first.id}/checkpoints`;
      const before = listed((await tenant.send("GET", path)).json);
      const from = before.find(({ nodes }) => nodes.includes("tools"))?.id;
      const second = await replayed(started, tenant, first, {
        checkpoint_id: from,
        modified_state: { execution: { note: "changed" } },
      });
      expect(second).toMatchObject({
        kind: "replay",
        state: "complete",
        result: { message: "43.", cause: null, turn_id: second.request["turn_id"] },
        metadata: { replayed_from: { run_id: first.id, checkpoint_id: from } },
      });
      expect(listed((await tenant.send("GET", path)).json)).toEqual(before);
      const own = `${tenant.path}/${second.id}/checkpoints`;
      const { checkpoint_id } = second.result ?? {};
      const { json } = await tenant.send("GET", `${own}/${String(checkpoint_id)}`);
      expect(json["state"]).toMatchObject({
        execution: { note: "changed" },
        turn: { run: second.request["turn_id"] },
      });
      const { events, tables, usage } = started.base.platform;
      const log = await events.read(tenant.id, second.id);
      expect(log.at(-1)).toMatchObject({ event: "done", data: { status: "complete" } });
      const { rows } = await tables.tenants.pool.query(
        `select t.status, (select count(*)::int from ${tables.schema}.llm_call c where c.turn_id = t.id) as calls
        from ${tables.schema}.turn t where run_id = '${second.id}'`,
      );
      expect(rows).toEqual([{ status: "COMPLETED", calls: 1 }]);
      const day = new Date().toISOString().slice(0, 10);
      expect(await usage.range(tenant.id, { from: day, to: day })).toMatchObject([
        { turns: 2, llm_calls: 3, tool_calls: 1 },
      ]);
      const thread = await tenant.send("GET", `/v1/threads/${second.threadId}`);
      expect(thread.json).toMatchObject({ metadata: { replayed_from: { run_id: first.id } } });
    });

    it("begins again at a checkpoint of an input, and at one of an earlier turn of its thread", async () => {
      // A claim that an outage has cut off is repeated with its calls of the model.
      const replies = Array.from({ length: 12 }, (_, at) => `Reply ${at}.`);
      const started = await start(replies, { tools: [] });
      const tenant = await started.tenant();
      const first = await runNow(started, tenant, "First.");
      const second = await runNow(started, tenant, "Second.", first.threadId);
      const path = `${tenant.path}/${second.id}/checkpoints`;
      const all = listed((await tenant.send("GET", path)).json);
      const inputs = all.filter(({ trigger }) => trigger === "input");
      expect(inputs.length).toBeGreaterThanOrEqual(2);
      const again = await replayed(started, tenant, second, { checkpoint_id: inputs[0]?.id });
      const place = (run: Run) => replies.indexOf(String(run.result?.["message"]));
      expect(place(again)).toBeGreaterThan(place(second));
      expect(again.result).toMatchObject({ turn_id: again.request["turn_id"] });
      const { rows } = await started.base.platform.tables.tenants.pool.query(
        `select run_id from stratagraph.turn where run_id = '${again.id}'`,
      );
      expect(rows).toHaveLength(1);
    });

    it("that is claimed again after its turn ended has the result, and calls no model", async () => {
      const started = await start([calculate, "42.", "43."]);
      const tenant = await started.tenant();
      const first = await runNow(started, tenant, "What is 6 * 7?");
      const path = `${tenant.path}/${first.id}/checkpoints`;
      const from = listed((await tenant.send("GET", path)).json).find(({ nodes }) =>
        nodes.includes("tools"),
      );
      const done = await replayed(started, tenant, first, { checkpoint_id: from?.id });
      const { runs } = started.base.platform;
      await runs.requeue(tenant.id, { runId: done.id, kind: "replay", request: done.request });
      started.base.queue.wake();
      const again = await ended(started, tenant, done.id);
      expect(again).toMatchObject({ state: "complete", result: { message: "43.", cause: null } });
    });

    it("is queued once for one Idempotency-Key", async () => {
      const started = await start(["One.", "Again."], { tools: [] });
      const tenant = await started.tenant();
      const first = await runNow(started, tenant, "First.");
      const path = `${tenant.path}/${first.id}`;
      const all = listed((await tenant.send("GET", `${path}/checkpoints`)).json);
      const body = { checkpoint_id: all.at(-1)?.id };
      const headers = { "idempotency-key": "replay-1" };
      const [one, two] = [
        await tenant.send("POST", `${path}/replay`, { body, headers }),
        await tenant.send("POST", `${path}/replay`, { body, headers }),
      ];
      expect(two.json).toEqual(one.json);
      expect(two.headers.get("idempotency-replayed")).toBe("true");
      await ended(started, tenant, String(one.json["new_run_id"]));
      expect((await started.base.platform.runs.list(tenant.id)).items).toHaveLength(2);
    });

    it("is refused with the place of each problem, and leaves nothing", async () => {
      const started = await start([calculate, "42."]);
      const [tenant, other] = [await started.tenant(), await started.tenant()];
      const first = await runNow(started, tenant, "What is 6 * 7?");
      const path = `${tenant.path}/${first.id}`;
      const all = listed((await tenant.send("GET", `${path}/checkpoints`)).json);
      const from = all.find(({ nodes }) => nodes.includes("tools"))?.id;
      const send = async (body: object, of = tenant) =>
        (await of.send("POST", `${path}/replay`, { body })).json;
      expect(await send({ checkpoint_id: all[0]?.id })).toMatchObject({
        status: 409,
        code: "nothing_to_resume",
      });
      expect(await send({ checkpoint_id: from, modified_state: { execution: 7 } })).toMatchObject({
        status: 422,
        code: "invalid_state_update",
        errors: [{ pointer: "/modified_state/execution" }],
      });
      expect(
        await send({ checkpoint_id: from, modified_state: { input: { message: 1 } } }),
      ).toMatchObject({ status: 422, errors: [{ pointer: "/modified_state/input" }] });
      // Approvals, among others, are in the turn.
      expect(
        await send({ checkpoint_id: from, modified_state: { turn: { approvals: {} } } }),
      ).toMatchObject({ status: 400, errors: [{ pointer: "/modified_state/turn" }] });
      expect(await send({ checkpoint_id: unknownId })).toMatchObject({ status: 404 });
      expect(await send({ checkpoint_id: from }, other)).toMatchObject({ status: 404 });
      const { agents, runs, instances } = started.base.platform;
      await agents.deactivate(tenant.id, tenant.agent.agentId);
      expect(await send({ checkpoint_id: from })).toMatchObject({
        status: 409,
        code: "inactive_agent",
      });
      expect((await runs.list(tenant.id)).items).toHaveLength(1);
      expect((await instances.list(tenant.id)).items).toHaveLength(1);
      const { rows } = await database.shared.pool.query(
        `select distinct thread_id from stratagraph.checkpoints where tenant_id = '${tenant.id}'`,
      );
      expect(rows).toHaveLength(1);
    });
  });

  describe.skipIf(!database.available)("threads", () => {
    it("are listed by agent and status, and belong to their tenant", async () => {
      const started = await start(["One.", "Two."], { tools: [] });
      const [tenant, other] = [await started.tenant(), await started.tenant()];
      const [one, two] = [
        await runNow(started, tenant, "First."),
        await runNow(started, tenant, "Second."),
      ];
      const ids = async (path: string, of = tenant) =>
        ((await of.send("GET", path)).json["threads"] as { thread_id: string }[]).map(
          ({ thread_id }) => thread_id,
        );
      const { agentId } = tenant.agent;
      expect(await ids("/v1/threads")).toEqual([two.threadId, one.threadId]);
      expect(await ids(`/v1/threads?agent_id=${agentId}&status=COMPLETED`)).toHaveLength(2);
      expect(await ids("/v1/threads?status=FAILED")).toEqual([]);
      expect(await ids("/v1/threads", other)).toEqual([]);
      const { json } = await tenant.send("GET", "/v1/threads?limit=1");
      expect(json["threads"]).toHaveLength(1);
      expect(await ids(`/v1/threads?limit=1&cursor=${String(json["next_cursor"])}`)).toEqual([
        one.threadId,
      ]);
      expect((await tenant.send("GET", `/v1/threads/${one.threadId}`)).json).toMatchObject({
        thread_id: one.threadId,
        agent_id: agentId,
        status: "COMPLETED",
        turns: 1,
        last_checkpoint: { id: one.result?.["checkpoint_id"] },
      });
      expect((await other.send("GET", `/v1/threads/${one.threadId}`)).status).toBe(404);
      expect((await other.send("DELETE", `/v1/threads/${one.threadId}`)).status).toBe(404);
      expect(await ids("/v1/threads")).toHaveLength(2);
    });

    it("are deleted with every row of theirs, but not while a run is queued", async () => {
      const started = await start([calculate, "42.", "Two."]);
      const tenant = await started.tenant();
      const kept = await runNow(started, tenant, "What is 6 * 7?");
      const { tenantRows, audit, runs } = started.base.platform;
      const before = await tenantRows.count(tenant.id);
      const gone = await runNow(started, tenant, "Second.");
      const path = `/v1/threads/${gone.threadId}`;
      const { id } = await runs.create(tenant.id, {
        instanceId: gone.instanceId,
        request: gone.request,
        runAt: "2999-01-01T00:00:00Z",
      });
      expect((await tenant.send("DELETE", path)).json).toMatchObject({
        status: 409,
        run_id: id,
        state: "queued",
      });
      await runs.requestCancel(tenant.id, id);
      expect((await tenant.send("DELETE", path)).status).toBe(204);
      expect((await tenant.send("DELETE", path)).status).toBe(404);
      expect((await tenant.send("GET", path)).status).toBe(404);
      const { audit_log: audited, usage_day: _days, ...left } = await tenantRows.count(tenant.id);
      expect(audited).toBe(1);
      for (const [table, rows] of Object.entries(left))
        expect([table, rows]).toEqual([table, before[table] ?? 0]);
      expect((await audit.list(tenant.id)).items[0]).toMatchObject({
        action: "thread.delete",
        subject: gone.threadId,
      });
      expect((await tenant.send("GET", `/v1/threads/${kept.threadId}`)).status).toBe(200);
    });

    const approval = { guardrail_config: { tool_rails: { require_approval: "all" } } };
    const ask: ScriptedReply = { calls: [{ name: "user_location", args: {} }] };
    const pii = { type: "pii", config: { action: "block" } };
    const blocked = { guardrail_config: { input_rails: [pii] } };
    it.each([
      ["complete", "COMPLETED", ["Hello."], {}, undefined],
      ["failed", "FAILED", [], blocked, "guardrail:pii"],
      ["awaiting_human", "AWAITING_HUMAN", [calculate], approval, undefined],
      ["awaiting_tool", "AWAITING_TOOL", [ask], { tools: ["user_location"] }, undefined],
    ] as const)("say the status of a run that is %s", async (...of) => {
      const [state, status, script, definition, code] = of;
      const started = await start(script, definition);
      const tenant = await started.tenant();
      const waiting = await queue(started, tenant, "Write to ada@example.org.");
      const created = await tenant.send("GET", `/v1/threads/${waiting.threadId}`);
      expect(created.json["created_at"]).toEqual(expect.any(String));
      const { threadId, state: end, result } = await ended(started, tenant, waiting.id);
      expect(result).toMatchObject({ cause: code === undefined ? null : { code } });
      const { json } = await tenant.send("GET", `/v1/threads/${threadId}`);
      const isOver = status === "COMPLETED" || status === "FAILED";
      expect([end, json["status"], json["completed_at"] !== null]).toEqual([state, status, isOver]);
      expect(json["started_at"]).not.toBeNull();
    });

    it("say CREATED before their run begins, and CANCELLED after it was cancelled", async () => {
      let cancel = () => {};
      const hang: ScriptedReply = (_request, { signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason as Error));
          cancel();
        });
      const started = await start([hang], { tools: [] });
      const tenant = await started.tenant();
      const { runs, instances } = started.base.platform;
      const instance = { threadId: "new", agent: "helper", definitionId: tenant.agent.id };
      await instances.create(tenant.id, instance);
      const statusOf = async () => (await tenant.send("GET", "/v1/threads/new")).json;
      expect(await statusOf()).toMatchObject({ status: "CREATED", started_at: null });
      const cancelled = new Promise<void>((resolve) => (cancel = resolve));
      const { id } = await queue(started, tenant, "Go.", "new");
      await cancelled;
      await runs.requestCancel(tenant.id, id);
      started.base.executor.notice(id);
      expect(await ended(started, tenant, id)).toMatchObject({ state: "cancelled" });
      expect(await statusOf()).toMatchObject({ status: "CANCELLED", last_checkpoint: {} });
    });
  });
});
