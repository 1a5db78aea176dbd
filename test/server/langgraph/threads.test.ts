import { AIMessage } from "@langchain/core/messages";
import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { StateViewer } from "../../../src/server/checkpoints/shown-state.ts";
import { StateRenderer } from "../../../src/server/langgraph/state-view.ts";
import { ThreadFinder } from "../../../src/server/langgraph/thread-finder.ts";
import { type ShownThread, ThreadPresenter } from "../../../src/server/langgraph/thread-view.ts";
import type { FoundThread } from "../../../src/storage/platform/runs/thread-search.ts";
import { tenantA } from "../../helpers/api-server.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";
import {
  calculates,
  gate,
  helper,
  type RunServer,
  useRunServers,
} from "../../helpers/run-server.ts";

const plain = { name: "helper" };
const unknownId = "00000000-0000-7000-8000-000000000000";

function clientOf(api: RunServer, key = api.key): Client {
  return new Client({
    apiUrl: `http://127.0.0.1:${api.port}`,
    apiKey: key,
    callerOptions: { maxRetries: 0 },
  });
}

/** Runs a turn on a thread by /v1, and returns the path of its run. */
async function runOn(
  api: RunServer,
  runs: string,
  of: { thread?: string; message?: string; until?: string } = {},
) {
  const { thread, message = "Hi.", until = "complete" } = of;
  const body = { input: { message }, ...(thread !== undefined && { thread_id: thread }) };
  const { json, status } = await api.post(runs, body);
  expect(status).toBe(202);
  const path = `${runs}/${String(json["run_id"])}`;
  await api.until(path, until);
  return { path, threadId: String(json["thread_id"]) };
}

/** The status of the answer with which a request was refused. */
async function refusal(request: Promise<unknown>): Promise<unknown> {
  try {
    await request;
    return "accepted";
  } catch (thrown) {
    return (thrown as { status?: unknown }).status;
  }
}

const ids = (threads: readonly { readonly thread_id: string }[]) =>
  threads.map(({ thread_id }) => thread_id);

it("values of threads are left out of an answer beyond 32 MiB", async () => {
  let text = "";
  let reads = 0;
  const getTuple = async () => {
    reads += 1;
    return { checkpoint: { channel_values: { text }, channel_versions: {} }, config: {} };
  };
  const runtime = { checkpointer: { getTuple } };
  const principal = { tenantId: tenantA, keyId: "k", scopes: ["*"] };
  /** Which of three threads with a text are shown with it, and how many were read. */
  const show = async (characters: number) => {
    text = "x".repeat(characters);
    reads = 0;
    const presenter = new ThreadPresenter(runtime as never, principal);
    const shown: ShownThread[] = [];
    for (const threadId of ["a", "b", "c"])
      shown.push(await presenter.show({ threadId, agent: null, metadata: {} } as FoundThread));
    return [...shown.map(({ values }) => values !== null), reads];
  };
  const half = 16_777_216 - JSON.stringify({ values: { text }, interrupts: {} }).length;
  expect(await show(half)).toEqual([true, true, false, 2]);
  expect(await show(half + 1)).toEqual([true, false, false, 2]);
  // A state that is too large itself counts as 16 MiB.
  expect(await show(16_777_216)).toEqual([false, false, false, 2]);
  const head = { values: { text: "" }, interrupts: { task: [{ value: "Sure?" }] } };
  for (const [bytes, expected] of [
    [33_554_432, head],
    [33_554_433, { values: null, interrupts: {} }],
  ] as const) {
    const presenter = new ThreadPresenter(runtime as never, principal);
    const thread = { threadId: "a", agent: null, metadata: {} } as FoundThread;
    const { values, interrupts } = await presenter.show(thread, { ...head, bytes });
    expect({ values, interrupts }).toEqual(expected);
  }
  // A search by values reads 128 MiB at most.
  text = "x".repeat(9_000_000);
  reads = 0;
  const threads = { search: async () => Array.from({ length: 50 }, () => ({ threadId: "a" })) };
  const reader = new ThreadPresenter(runtime as never, principal);
  const wide = new ThreadFinder(threads as never, "t", reader).count({}, { text: "y" });
  const refused = { facts: { extensions: { code: "search_too_wide" } } };
  await expect(wide).rejects.toMatchObject(refused);
  expect(reads).toBe(15);
});

it("results of tasks and nested states hide what only they have redacted", async () => {
  const redactions = { "<EMAIL_1>": { label: "EMAIL", value: "ada@example.org" } };
  const said = { output: "Hello ada@example.org.", redactions };
  const config = { configurable: { thread_id: "t", checkpoint_id: "c" } };
  const nested = { values: said, next: [], tasks: [], config };
  const tasks = [
    { id: "1", name: "done", interrupts: [], result: said },
    { id: "2", name: "inside", interrupts: [], state: nested },
  ];
  const threads = { stateAt: async () => ({ values: {} }) };
  const principal = { tenantId: tenantA, keyId: "k", scopes: [] };
  const viewer = new StateViewer({ threads } as never, "t", principal);
  const renderer = new StateRenderer(viewer, undefined);
  const state = await renderer.render({ values: {}, next: [], tasks, config });
  const hidden = { output: "Hello <EMAIL_1>.", redactions: { "<EMAIL_1>": { label: "EMAIL" } } };
  expect(state.tasks).toMatchObject([{ result: hidden }, { state: { values: hidden } }]);
  expect(JSON.stringify(state)).not.toContain("ada@example.org");
});

it("states are refused where they have more than 32 MiB together", async () => {
  const principal = { tenantId: tenantA, keyId: "k", scopes: ["*"] };
  const rendererOf = (select: readonly string[]) =>
    new StateRenderer(new StateViewer({} as never, "t", principal), select);
  const snapshotOf = (text: string) => ({ values: { text }, next: [], tasks: [], config: {} });
  const empty = JSON.stringify(await rendererOf(["values"]).render(snapshotOf("")));
  // Of two bytes each.
  const half = snapshotOf("é".repeat(8_388_608 - empty.length / 2));
  const renderer = rendererOf(["values"]);
  for (let n = 0; n < 2; n += 1)
    expect(await renderer.render(half)).toEqual({ values: half.values });
  await expect(renderer.render(snapshotOf(""))).rejects.toMatchObject({
    facts: {
      detail:
        "The states have more than 33,554,432 bytes of JSON together. Ask for fewer, or for one channel with select=values.NAME.",
      extensions: { code: "state_too_large" },
    },
  });
  const { values } = await rendererOf(["values.text", "next"]).render({
    ...snapshotOf("said"),
    values: { text: "said", status: "COMPLETED" },
  });
  expect(values).toEqual({ text: "said" });
});

it("a search by values compares 2,000,000 of them at most", async () => {
  const list = Array.from({ length: 5_000 }, (_, n) => n);
  const threads = { search: async () => [{ threadId: "a" }] };
  const presenter = { head: async () => ({ values: { list } }), bytesRead: 0 };
  const finder = new ThreadFinder(threads as never, "t", presenter as never);
  expect(await finder.count({}, { list: [1, 4_999] })).toBe(1);
  const refused = { facts: { extensions: { code: "search_too_wide" } } };
  await expect(finder.count({}, { list: list.toReversed() })).rejects.toMatchObject(refused);
});

describe.each(drawDatabases(import.meta.url))("threads of LangGraph's protocol on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  describe.skipIf(!database.available)("as rows", () => {
    it("exist before a run, and get their agent from the first one", async () => {
      const api = await start(["Hello."]);
      const client = clientOf(api);
      const thread = await client.threads.create({ metadata: { user: "ada" } });
      expect(thread).toMatchObject({
        status: "idle",
        metadata: { user: "ada" },
        values: null,
        interrupts: {},
        created_at: thread.updated_at,
      });
      const { thread_id: id } = thread;
      expect((await api.send("GET", `/v1/threads/${id}`)).json).toMatchObject({
        agent: null,
        agent_id: null,
      });
      expect(await client.threads.getState(id)).toEqual({
        values: {},
        next: [],
        tasks: [],
        created_at: null,
        checkpoint: null,
        parent_checkpoint: null,
      });
      expect(await client.threads.getHistory(id)).toEqual([]);
      const runs = await api.agent(plain);
      await runOn(api, runs, { thread: id });
      const after = await client.threads.get(id);
      const [, , , agentId] = runs.split("/");
      expect(after).toMatchObject({
        status: "idle",
        metadata: { user: "ada", graph_id: "helper", assistant_id: agentId },
        values: { status: "COMPLETED" },
      });
      expect(after.updated_at > thread.updated_at).toBe(true);
      const other = await api.agent({ name: "other" });
      const foreign = await api.post(other, { input: { message: "Hi." }, thread_id: id });
      expect(foreign.status).toBe(409);
    });

    it("get one agent when runs of two begin at the same time", async () => {
      const api = await start([]);
      const { instances } = api.base.platform;
      const made = await instances.create(api.tenantId, { threadId: "t", agent: null });
      expect(made).toMatchObject({ agent: null, isNew: true });
      const names = ["one", "two", "three", "four"];
      const all = await Promise.allSettled(
        names.map((agent) => instances.create(api.tenantId, { threadId: "t", agent })),
      );
      const given = all.filter(({ status }) => status === "fulfilled");
      expect(given).toMatchObject([{ value: { id: made.id, isNew: false } }]);
      const { agent } = (await instances.onThread(api.tenantId, "t")) ?? {};
      expect(given).toMatchObject([{ value: { agent } }]);
    });

    it("have the id that the client chooses, once", async () => {
      const api = await start([]);
      const client = clientOf(api);
      const id = api.base.ids();
      await client.threads.create({ threadId: id, metadata: { n: 1 } });
      expect(await refusal(client.threads.create({ threadId: id }))).toBe(409);
      const again = await client.threads.create({
        threadId: id,
        ifExists: "do_nothing",
        metadata: { n: 2 },
      });
      expect(again).toMatchObject({ thread_id: id, metadata: { n: 1 } });
      expect(await refusal(client.threads.create({ threadId: "mine" }))).toBe(400);
      await api.base.platform.instances.create(api.tenantId, { threadId: "mine", agent: null });
      expect(await client.threads.get("mine")).toMatchObject({ thread_id: "mine" });
    });

    it("merge changes of their metadata, within its limit", async () => {
      const api = await start([]);
      const client = clientOf(api);
      const { thread_id: id, updated_at } = await client.threads.create({
        metadata: { a: 1, b: { c: 1 } },
      });
      const metadata = { b: { d: 2 }, e: null };
      const changed = await client.threads.update(id, { metadata });
      expect(changed.metadata).toEqual({ a: 1, b: { d: 2 }, e: null });
      expect(changed.updated_at >= updated_at).toBe(true);
      const minimal = await client.threads.update(id, {
        metadata: { a: 2 },
        returnMinimal: true,
      });
      expect(minimal).toBeUndefined();
      const half = "x".repeat(40_000);
      await client.threads.update(id, { metadata: { half } });
      expect(await refusal(client.threads.update(id, { metadata: { more: half } }))).toBe(422);
      expect((await client.threads.get(id)).metadata).toMatchObject({ a: 2, half });
      expect((await client.threads.get(id)).metadata).not.toHaveProperty("more");
    });

    it("are busy while a run is under way, and failed after one that failed", async () => {
      const hold = gate();
      const held = async () => (await hold.wait(), new AIMessage("Hello."));
      const api = await start([held]);
      const client = clientOf(api);
      const block = { type: "pii", config: { action: "block" } };
      const runs = await api.agent({ name: "helper", guardrail_config: { input_rails: [block] } });
      const { thread_id: id } = await client.threads.create();
      const path = (await api.post(runs, { input: { message: "Hi." }, thread_id: id })).json;
      await hold.arrived;
      const busy = await client.threads.get(id);
      expect(busy.status).toBe("busy");
      expect(ids(await client.threads.search({ status: "busy" }))).toEqual([id]);
      hold.open();
      await api.until(`${runs}/${String(path["run_id"])}`, "complete");
      const idle = await client.threads.get(id);
      expect(idle.status).toBe("idle");
      expect(idle.updated_at > busy.updated_at).toBe(true);
      await runOn(api, runs, { thread: id, message: "I am ada@example.org.", until: "failed" });
      expect((await client.threads.get(id)).status).toBe("error");
      expect(ids(await client.threads.search({ status: "error" }))).toEqual([id]);
    });

    it("are found by metadata, ids and status, in every order", async () => {
      const api = await start([calculates, "Hello."]);
      const client = clientOf(api);
      const runs = await api.agent();
      const { threadId: waiting } = await runOn(api, runs, { until: "awaiting_human" });
      const made: string[] = [];
      for (const [n, user] of ["ada", "bob", "ada"].entries()) {
        const metadata = { user, tags: ["a", `n${n}`], deep: { n } };
        made.push((await client.threads.create({ metadata })).thread_id);
      }
      const [first, second, third] = made as [string, string, string];
      const search = async (query: Parameters<typeof client.threads.search>[0]) =>
        ids(await client.threads.search(query));
      expect(await search({})).toEqual([third, second, first, waiting]);
      expect(await search({ sortOrder: "asc", limit: 2, offset: 1 })).toEqual([first, second]);
      expect(await search({ metadata: { user: "ada" } })).toEqual([third, first]);
      expect(await search({ metadata: { tags: ["n1"], deep: { n: 1 } } })).toEqual([second]);
      expect(await search({ metadata: { graph_id: "helper" } })).toEqual([waiting]);
      const [, , , agentId = ""] = runs.split("/");
      expect(await search({ metadata: { assistant_id: agentId } })).toEqual([waiting]);
      expect(await search({ metadata: { graph_id: "other" } })).toEqual([]);
      expect(await search({ ids: [first, waiting, unknownId] })).toEqual([first, waiting]);
      expect(await search({ status: "interrupted" })).toEqual([waiting]);
      expect(await search({ status: "idle", metadata: { user: "bob" } })).toEqual([second]);
      expect(await search({ status: "busy" })).toEqual([]);
      expect(await search({ sortBy: "thread_id", sortOrder: "asc" })).toEqual(
        [...made, waiting].toSorted(),
      );
      expect((await search({ sortBy: "status", sortOrder: "desc" }))[0]).toBe(waiting);
      await client.threads.update(first, { metadata: {} });
      expect((await search({ sortBy: "updated_at" }))[0]).toBe(first);
      expect(await client.threads.count({ metadata: { user: "ada" } })).toBe(2);
      expect(await client.threads.count({ status: "interrupted" })).toBe(1);
      expect(await client.threads.count()).toBe(4);
      for (const metadata of [{ text: "\0" }, { text: "\ud800" }, { text: "x".repeat(5_000) }]) {
        expect(await refusal(client.threads.search({ metadata }))).toBe(422);
        expect(await refusal(client.threads.getHistory(waiting, { metadata }))).toBe(422);
      }
      const nul = { checkpoint: { checkpoint_ns: "a\0" } };
      expect((await api.post(`/threads/${waiting}/state/checkpoint`, nul)).status).toBe(400);
      const selected = await client.threads.search({ limit: 1, select: ["thread_id", "status"] });
      expect(selected).toEqual([{ thread_id: third, status: "idle" }]);
      const page = await api.post("/threads/search", { limit: 3 });
      expect(page.headers.get("x-pagination-next")).toBe("3");
      expect(page.headers.get("x-pagination-total")).toBe("4");
      const last = await api.post("/threads/search", { limit: 3, offset: 3 });
      expect(last.headers.get("x-pagination-next")).toBeNull();
      expect(last.headers.get("x-pagination-total")).toBe("4");
    });
  });

  describe.skipIf(!database.available)("as states", () => {
    it("have the form that LangGraph's server sends, at every checkpoint", async () => {
      const api = await start([calculates]);
      const client = clientOf(api);
      const { threadId: id } = await runOn(api, await api.agent(), { until: "awaiting_human" });
      const state = await client.threads.getState<Record<string, unknown>>(id);
      const interrupt = { id: expect.any(String), value: { kind: "tool_approval" } };
      expect(state).toMatchObject({
        values: {
          status: "AWAITING_HUMAN",
          messages: [
            { type: "human", content: "Hi." },
            { type: "ai", tool_calls: [{ name: "calculator" }] },
          ],
        },
        next: ["human"],
        tasks: [{ name: "human", error: null, interrupts: [interrupt], state: null, result: null }],
        metadata: { source: "loop", thread_id: id },
        created_at: expect.any(String),
        checkpoint: { thread_id: id, checkpoint_ns: "", checkpoint_map: null },
        parent_checkpoint: { thread_id: id },
      });
      const thread = await client.threads.get(id);
      expect(state.values).toMatchObject(thread.values);
      expect(thread.interrupts).toEqual({ [state.tasks[0]!.id]: state.tasks[0]!.interrupts });

      const history = await client.threads.getHistory(id, { limit: 100 });
      expect(history[0]).toEqual(state);
      expect(history.length).toBeGreaterThan(3);
      expect(history.at(-1)).toMatchObject({
        metadata: { source: "input" },
        parent_checkpoint: null,
      });
      const [, second, third] = history;
      const idOf = (of: typeof second) => of?.checkpoint.checkpoint_id ?? "";
      expect(second?.checkpoint).toEqual(state.parent_checkpoint);
      expect(await client.threads.getState(id, idOf(second))).toEqual(second);
      expect(await client.threads.getState(id, second!.checkpoint)).toEqual(second);
      const older = await client.threads.getHistory(id, {
        limit: 1,
        before: { configurable: { checkpoint_id: idOf(second) } },
      });
      expect(older).toEqual([third]);
      expect(await client.threads.getHistory(id, { metadata: { source: "input" } })).toEqual(
        history.filter(({ metadata }) => metadata?.["source"] === "input"),
      );
      const got = await api.send("GET", `/threads/${id}/history?limit=1&before=${idOf(second)}`);
      expect(JSON.parse(got.text)).toEqual([third]);
      const only = await client.threads.getState(id, undefined, { select: ["values.status"] });
      expect(only).toEqual({ values: { status: "AWAITING_HUMAN" } });
      expect(await refusal(client.threads.getState(id, unknownId))).toBe(404);
      const nowhere = { checkpoint: { checkpoint_ns: "nobody:1" } };
      expect((await api.post(`/threads/${id}/state/checkpoint`, nowhere)).status).toBe(404);
    });

    it("have those of nested agents where they are asked for", async () => {
      const api = await start([calculates]);
      const client = clientOf(api);
      await api.agent();
      const nodes = [{ name: "ask", type: "agent", config: { agent: "helper" } }];
      const workflow_graph = {
        nodes,
        edges: [{ from: "ask", to: "END" }],
        entry_point: "ask",
      };
      const outer = await api.agent({ name: "outer", workflow_graph });
      const { threadId: id } = await runOn(api, outer, { until: "awaiting_human" });
      const state = await client.threads.getState(id, undefined, { subgraphs: true });
      expect(state.tasks).toMatchObject([
        {
          name: "ask",
          interrupts: [{ value: { kind: "tool_approval" } }],
          state: {
            values: { status: "AWAITING_HUMAN" },
            next: ["human"],
            checkpoint: { thread_id: id },
          },
        },
      ]);
      const inside = state.tasks[0]?.state?.checkpoint;
      const flat = await client.threads.getState(id);
      const checkpoint = { thread_id: id, checkpoint_ns: expect.stringMatching(/^ask:/) };
      expect(flat.tasks).toMatchObject([{ state: null }]);
      expect(flat.tasks[0]?.checkpoint).toEqual(checkpoint);
      const nested = await client.threads.getState(id, flat.tasks[0]!.checkpoint as never);
      expect(nested.checkpoint).toEqual(inside);
      const wanted = await refusal(
        client.threads.updateState(id, { values: {}, checkpoint: inside! }),
      );
      expect(wanted).toBe(422);
    });

    it("hide what rails redacted, from filters too, unless a scope allows it", async () => {
      const api = await start(["Hello <EMAIL_1>."]);
      const rail = { input_rails: [{ type: "pii" }] };
      const runs = await api.agent({ name: "helper", guardrail_config: rail });
      const { threadId: id } = await runOn(api, runs, { message: "I am ada@example.org." });
      const open = clientOf(api);
      const values = { redactions: { "<EMAIL_1>": { value: "ada@example.org" } } };
      expect(JSON.stringify(await open.threads.getState(id))).toContain("ada@example.org");
      expect(ids(await open.threads.search({ values }))).toEqual([id]);
      const { key } = await api.join(["runs:read", "checkpoints:read"], api.tenantId);
      const closed = clientOf(api, key);
      const answers = [
        await closed.threads.getState(id),
        await closed.threads.getHistory(id, { limit: 100 }),
        await closed.threads.get(id),
        await closed.threads.search(),
      ];
      expect(JSON.stringify(answers)).not.toContain("ada@example.org");
      expect(JSON.stringify(answers[2])).toContain("Hello <EMAIL_1>.");
      expect(await closed.threads.search({ values })).toEqual([]);
      expect(await closed.threads.count({ values })).toBe(0);
      expect(await closed.threads.count({ values: { status: "COMPLETED" } })).toBe(1);
      const blind = clientOf(api, (await api.join(["runs:read"], api.tenantId)).key);
      expect(await blind.threads.get(id)).toMatchObject({ values: null, interrupts: {} });
      expect(await refusal(blind.threads.getState(id))).toBe(403);
      expect(await refusal(blind.threads.getHistory(id))).toBe(403);
      expect(await refusal(blind.threads.search({ values }))).toBe(403);
      expect(await refusal(blind.threads.count({ values }))).toBe(403);
    });

    it("are searched by values among 500 threads at most", async () => {
      const api = await start([]);
      const client = clientOf(api);
      await api.agent(plain);
      const made: string[] = [];
      for (const note of ["zero", "one", "two"]) {
        const updates = [{ values: { input: { message: "Hi." } }, asNode: "__start__" }];
        const created = { graphId: "helper", supersteps: [{ updates }] };
        const { thread_id: id } = await client.threads.create(created);
        await client.threads.updateState(id, { values: { execution: { note } } });
        made.push(id);
      }
      const one = { execution: { note: "one" } };
      expect(ids(await client.threads.search({ values: one }))).toEqual([made[1]]);
      const values = { input: { message: "Hi." } };
      expect(ids(await client.threads.search({ values, limit: 1, offset: 1 }))).toEqual([made[1]]);
      const page = await api.post("/threads/search", { values, limit: 2 });
      expect(page.headers.get("x-pagination-next")).toBe("2");
      await api.base.platform.tables.tenants.pool.query(
        `insert into stratagraph.agent_instance (id, tenant_id, thread_id, metadata)
        select gen_random_uuid(), '${api.tenantId}', 'many ' || n, '{"many": true}' from generate_series(1, 501) n`,
      );
      const many = await api.post("/threads/search", { values: { a: 1 } });
      expect([many.status, many.json["code"]]).toEqual([422, "search_too_wide"]);
      expect(await refusal(client.threads.count({ values, metadata: { many: true } }))).toBe(422);
      expect(
        await client.threads.count({ values, status: "idle", metadata: { graph_id: "helper" } }),
      ).toBe(3);
    });

    it("are updated by their agent's graph, also at an older checkpoint", async () => {
      const api = await start(["Hello.", "Again."]);
      const client = clientOf(api);
      const runs = await api.agent(plain);
      const { threadId: id } = await runOn(api, runs);
      const before = await client.threads.getState(id);
      const written = await client.threads.updateState(id, {
        values: { messages: [{ type: "human", content: "One more.", id: "m" }] },
      });
      expect(written).toMatchObject({
        checkpoint: { thread_id: id, checkpoint_ns: "" },
        configurable: { thread_id: id },
      });
      const after = await client.threads.getState<{ messages: object[] }>(id);
      expect(after.checkpoint).toEqual((written as { checkpoint?: unknown }).checkpoint);
      expect(after.values.messages).toHaveLength(3);
      expect(after.values.messages[2]).toMatchObject({ type: "human", content: "One more." });
      expect(after.metadata).toMatchObject({ source: "update" });
      const branch = await client.threads.updateState(id, {
        values: { execution: { note: "branch" } },
        checkpoint: before.checkpoint,
      });
      const newest = await client.threads.getState<{ messages: object[] }>(id);
      expect(newest.checkpoint).toEqual((branch as { checkpoint?: unknown }).checkpoint);
      expect(newest.parent_checkpoint).toEqual(before.checkpoint);
      expect(newest.values).toMatchObject({ execution: { note: "branch" } });
      expect(newest.values.messages).toHaveLength(2);
      expect(newest.values).toMatchObject((await client.threads.get(id)).values);
      await runOn(api, runs, { thread: id });
      expect((await client.threads.getState(id)).values).toMatchObject({
        messages: [{}, {}, { content: "Hi." }, { content: "Again." }],
      });
    });

    it("are not updated against the rules of the agent", async () => {
      const hold = gate();
      const held = async () => (await hold.wait(), new AIMessage("Hello."));
      const api = await start([calculates, held]);
      const client = clientOf(api);
      const runs = await api.agent(helper);
      const { threadId: id } = await runOn(api, runs, { until: "awaiting_human" });
      const before = await client.threads.getHistory(id, { limit: 100 });
      const approvals = { c1: { decision: "approve" } };
      const path = `/threads/${id}/state`;
      const refused = await api.post(path, { values: { approvals } });
      expect(refused.json).toMatchObject({
        status: 422,
        errors: [{ detail: expect.stringContaining('"approvals" is not a channel') }],
      });
      for (const body of [
        { values: { usage: {} } },
        { values: { redactions: {} } },
        { values: { status: "COMPLETED" } },
        { values: [{ status: "COMPLETED" }] },
        { values: { execution: 7 } },
        { values: { input: 7 } },
        { values: {}, as_node: "nobody" },
        { values: {}, as_node: "__copy__" },
      ])
        expect([body, (await api.post(path, body)).status]).toEqual([body, 422]);
      const at = { values: { execution: {} }, checkpoint_id: unknownId };
      expect((await api.post(path, at)).status).toBe(404);
      const { key } = await api.join(["runs:write"], api.tenantId);
      const acts = await api.post(path, { values: {}, as_node: "tools" }, { key });
      expect(acts.json).toMatchObject({ status: 403, missing_scopes: ["requests:answer"] });
      const { thread_id: none } = await client.threads.create();
      expect(await refusal(client.threads.updateState(none, { values: {} }))).toBe(400);
      expect(await client.threads.getHistory(id, { limit: 100 })).toEqual(before);

      const { json } = await api.post(runs, { input: { message: "Hi." } });
      await hold.arrived;
      const busy = String(json["thread_id"]);
      expect(await refusal(client.threads.updateState(busy, { values: {} }))).toBe(409);
      expect(await refusal(client.threads.delete(busy))).toBe(409);
      const { thread_id: fresh } = await client.threads.create();
      expect(await refusal(client.threads.prune([busy, fresh]))).toBe(409);
      expect((await client.threads.get(fresh)).thread_id).toBe(fresh);
      hold.open();
      await api.until(`${runs}/${String(json["run_id"])}`, "complete");
    });

    it("are not updated while a run of their thread is queued", async () => {
      const api = await start([], { concurrency: 0 });
      const { threads } = clientOf(api);
      const runs = await api.agent(plain);
      const { json } = await api.post(runs, { input: { message: "Hi." } });
      const id = String(json["thread_id"]);
      expect(await threads.get(id)).toMatchObject({ status: "busy", values: null });
      const execution = { note: "changed" };
      const refused = await refusal(threads.updateState(id, { values: { execution } }));
      // Servers of later tests take runs of this database.
      await api.post(`${runs}/${String(json["run_id"])}/cancel`, {});
      expect(refused).toBe(409);
      expect(await threads.getState(id)).toMatchObject({ values: {} });
    });

    it("begin with supersteps, and leave no thread if these are refused", async () => {
      const api = await start(["Hello."]);
      const client = clientOf(api);
      const runs = await api.agent(plain);
      const step = (asNode: string, values: object) => ({ updates: [{ values, asNode }] });
      const made = await client.threads.create({
        graphId: "helper",
        supersteps: [
          step("__start__", { input: { message: "Hi." } }),
          step("initialize", { execution: { note: "made" } }),
        ],
      });
      expect(made).toMatchObject({
        metadata: { graph_id: "helper" },
        values: { input: { message: "Hi." }, execution: { note: "made" } },
      });
      expect((await api.send("GET", `/v1/threads/${made.thread_id}`)).json["agent"]).toBe("helper");
      const threadId = api.base.ids();
      const metadata = { graph_id: "helper" };
      for (const [update, status] of [
        [{ as_node: "initialize", values: { execution: 7 } }, 422],
        [{ as_node: "initialize", command: { goto: "finalize" } }, 422],
        [{ as_node: "initialize", command: { resume: "yes" } }, 422],
        [{ as_node: "initialize", command: { update: { usage: {} } } }, 422],
      ] as const) {
        const body = { thread_id: threadId, metadata, supersteps: [{ updates: [update] }] };
        expect([update, (await api.post("/threads", body)).status]).toEqual([update, status]);
        expect(await refusal(client.threads.get(threadId))).toBe(404);
      }
      const { key } = await api.join(["runs:write"], api.tenantId);
      const acting = { supersteps: [{ updates: [{ as_node: "tools", values: {} }] }] };
      expect((await api.post("/threads", { metadata, ...acting }, { key })).status).toBe(403);
      expect((await api.post("/threads", acting)).status).toBe(400);
      expect(await client.threads.count()).toBe(1);
      await runOn(api, runs);
    });

    it("are copied, and diverge then", async () => {
      const api = await start(["Hello.", "Copied.", "Original."]);
      const client = clientOf(api);
      const runs = await api.agent(plain);
      const { thread_id: id } = await client.threads.create({ metadata: { user: "ada" } });
      const empty = await client.threads.copy(id);
      expect(empty).toMatchObject({ metadata: { user: "ada", thread_id: empty.thread_id } });
      await runOn(api, runs, { thread: id });
      const copy = await client.threads.copy(id);
      const original = await client.threads.get(id);
      expect(copy.thread_id).not.toBe(id);
      expect(copy.values).toEqual(original.values);
      expect(copy).toMatchObject({ status: "idle", metadata: { user: "ada", graph_id: "helper" } });
      await runOn(api, runs, { thread: copy.thread_id });
      await runOn(api, runs, { thread: id });
      const said = async (thread: string) => {
        const { values } = await client.threads.getState<{ messages: { content: string }[] }>(
          thread,
        );
        return values.messages.map(({ content }) => content);
      };
      expect(await said(copy.thread_id)).toEqual(["Hi.", "Hello.", "Hi.", "Copied."]);
      expect(await said(id)).toEqual(["Hi.", "Hello.", "Hi.", "Original."]);
      await client.threads.delete(id);
      expect(await said(copy.thread_id)).toHaveLength(4);
    });

    it("are deleted, or pruned to the newest", async () => {
      const api = await start(["Hello.", "Hello.", "Again."]);
      const client = clientOf(api);
      const runs = await api.agent(plain);
      const { threadId: kept } = await runOn(api, runs);
      const { threadId: gone } = await runOn(api, runs);
      const { thread_id: fresh } = await client.threads.create();
      const { values } = await client.threads.getState(kept);
      const some = [kept, fresh, unknownId, kept];
      expect(await client.threads.prune(some, { strategy: "keep_latest" })).toEqual({
        pruned_count: 2,
      });
      const history = await client.threads.getHistory(kept);
      expect(history).toMatchObject([{ values }]);
      await runOn(api, runs, { thread: kept });
      expect(await client.threads.prune([gone, unknownId])).toEqual({ pruned_count: 1 });
      expect(await refusal(client.threads.getState(gone))).toBe(404);
      await client.threads.delete(kept);
      await client.threads.delete(fresh);
      expect(await refusal(client.threads.delete(kept))).toBe(404);
      expect(await client.threads.search()).toEqual([]);
    });

    it("are unknown to other tenants", async () => {
      const api = await start(["Hello."]);
      const { threadId: id } = await runOn(api, await api.agent(plain));
      const own = clientOf(api);
      const other = clientOf(api, (await api.join()).key);
      const before = await own.threads.get(id);
      const threads = other.threads;
      const { checkpoint } = await own.threads.getState(id);
      const requests = [
        () => threads.get(id),
        () => threads.update(id, { metadata: { a: 1 } }),
        () => threads.delete(id),
        () => threads.copy(id),
        () => threads.getState(id),
        () => threads.getState(id, checkpoint.checkpoint_id ?? ""),
        () => threads.getState(id, checkpoint),
        () => threads.updateState(id, { values: { execution: {} } }),
        () => threads.getHistory(id),
      ];
      for (const request of requests) expect(await refusal(request())).toBe(404);
      expect((await api.send("GET", `/threads/${id}/history`)).status).toBe(200);
      expect(await threads.search({ ids: [id] })).toEqual([]);
      expect(await threads.search({ values: { status: "COMPLETED" } })).toEqual([]);
      expect(await threads.count()).toBe(0);
      expect(await threads.prune([id])).toEqual({ pruned_count: 0 });
      expect(await threads.create({ threadId: id })).toMatchObject({ values: null, metadata: {} });
      expect(await refusal(threads.getState(id, checkpoint))).toBe(404);
      expect(await threads.getState(id)).toMatchObject({ values: {} });
      expect(await own.threads.get(id)).toEqual(before);
    });
  });
});
