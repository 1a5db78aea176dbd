import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { calculates, gate, helper, useRunServers } from "../helpers/run-server.ts";

const hello = { input: { message: "What is 6 * 7?" } };
const locates = { calls: [{ id: "c1", name: "locate", args: {} }] };
type Output = Record<string, unknown> & { requests: { id: string }[] };

describe.each(drawDatabases(import.meta.url))("the routes of runs on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  it.skipIf(!database.available)(
    "hold a conversation with an approval and a tool of the client",
    async () => {
      const api = await start([locates, calculates, "It is 42 in Rome.", "Bye."]);
      const runs = await api.agent();
      const created = await api.post(runs, { ...hello, metadata: { from: "test" } });
      expect(created).toMatchObject({ status: 202, json: { status: "queued" } });
      const path = `${runs}/${String(created.json["run_id"])}`;
      expect(created.headers.get("location")).toBe(path);
      const waiting = await api.until(path, "awaiting_tool");
      expect(waiting).toMatchObject({
        thread_id: created.json["thread_id"],
        turn_id: created.json["turn_id"],
        metadata: { from: "test" },
        result: { output: { status: "awaiting_tool", tool_calls: [{ call_id: "c1" }] } },
      });

      const wrong = [{ call_id: "c9", output: 1 }];
      const refused = await api.post(`${path}/turns`, { input: { tool_results: wrong } });
      expect(refused.json).toMatchObject({ status: 422, code: "unknown_tool_call" });
      expect((await api.send("GET", path)).json).toEqual(waiting);

      const tool_results = [{ call_id: "c1", output: { city: "Rome" } }];
      const located = await api.post(`${path}/turns`, { input: { message: "", tool_results } });
      expect(located).toMatchObject({
        status: 200,
        json: { turn_id: created.json["turn_id"], output: { status: "awaiting_human" } },
      });
      const { requests } = located.json["output"] as Output;
      const id = requests[0]!.id;
      const listed = await api.send("GET", "/v1/requests");
      expect(listed.json).toMatchObject({
        requests: [{ id, run_id: created.json["run_id"], kind: "tool_approval" }],
        next_cursor: null,
      });

      const answers = { [id]: "approve" };
      for (const [body, pointer, code] of [
        [{ answers: { [id]: 7 } }, `/answers/${id}`, "invalid_answer"],
        [{ answers: { x: "approve" } }, "/answers/x", "unknown_interrupt"],
        [{ answer: "perhaps" }, "/answer", "invalid_answer"],
        [{ answers: {} }, "/answers", undefined],
      ] as const) {
        const { json } = await api.post(`${path}/resume`, body);
        expect(json).toMatchObject({ status: 422, errors: [{ pointer }] });
        expect(json["code"]).toBe(code);
      }
      const turn = await api.post(`${path}/turns`, { input: { message: "And now?" } });
      expect(turn.json).toMatchObject({ status: 409, resume: `${path}/resume` });
      const onThread = { ...hello, thread_id: created.json["thread_id"] };
      expect((await api.post(runs, onThread)).json).toMatchObject({
        status: 409,
        resume: `${path}/resume`,
      });

      const resumed = await api.post(`${path}/resume`, { answers, config: { wait: true } });
      expect(resumed).toMatchObject({
        status: 200,
        json: {
          turn_id: created.json["turn_id"],
          output: { status: "complete", message: "It is 42 in Rome.", cause: null },
          usage: { llm_calls: 3, tokens_in: 30 },
        },
      });
      expect((await api.post(`${path}/resume`, { answers })).status).toBe(409);
      expect((await api.send("GET", "/v1/requests")).json["requests"]).toEqual([]);

      const last = await api.post(`${path}/turns`, { input: { message: "Bye" } });
      expect(last.json).toMatchObject({ output: { message: "Bye.", status: "complete" } });
      expect(last.json["turn_id"]).not.toBe(created.json["turn_id"]);
      const { items } = await api.server.platform.audit.list(api.tenantId);
      const subject = `${String(created.json["run_id"])}/${id}`;
      expect(items).toContainEqual(
        expect.objectContaining({ action: "request.answer", subject, actor: `key:${api.keyId}` }),
      );
      const day = new Date().toISOString().slice(0, 10);
      const usage = await api.server.platform.usage.range(api.tenantId, { from: day, to: day });
      expect(usage).toMatchObject([{ runs: 1, turns: 2 }]);
      const page = await api.send("GET", `${runs}?status=complete&limit=1`);
      expect(page.json).toMatchObject({ runs: [{ status: "complete" }], next_cursor: null });
      expect((await api.send("GET", `${runs}?status=failed`)).json["runs"]).toEqual([]);
    },
  );

  it.skipIf(!database.available)(
    "refuse what does not fit before anything is written",
    async () => {
      const api = await start([]);
      const runs = await api.agent({
        ...helper,
        input_schema: {
          type: "object",
          properties: { city: { type: "string" } },
          required: ["city"],
          additionalProperties: false,
        },
      });
      const input = { city: "Rome" };
      const png = { mime_type: "image/png", data: "aGVsbG8=" };
      const refusals: readonly (readonly [object, number, string])[] = [
        [{ input: { city: 1 } }, 422, "/input"],
        [
          { input: { ...input, attachments: [{ path: "/etc/passwd" }] } },
          400,
          "/input/attachments",
        ],
        [
          { input: { ...input, attachments: [{ url: "file:///etc/passwd" }] } },
          400,
          "/input/attach",
        ],
        [
          { input: { ...input, attachments: [{ data: "x", url: "http://a.b" }] } },
          400,
          "/input/att",
        ],
        [{ input, config: { model_override: "x" } }, 400, "/config/model_override"],
        [{ input, config: { priority: 1_001 } }, 400, "/config/priority"],
        [{ input, config: { run_at: "soon" } }, 400, "/config/run_at"],
        [{ input, thread_id: "a\nb" }, 400, "/thread_id"],
        [{ input, metadata: { a: "b".repeat(70_000) } }, 400, "/metadata"],
        [{ input: "text" }, 400, "/input"],
      ];
      for (const [body, status, pointer] of refusals) {
        const { json } = await api.post(runs, body);
        expect([pointer, json["status"]]).toEqual([pointer, status]);
        const [error] = json["errors"] as { pointer: string }[];
        expect(error?.pointer.startsWith(pointer)).toBe(true);
      }
      const attached = await api.post(runs, { input: { ...input, attachments: [png] } });
      expect(attached.json).toMatchObject({ status: 422, code: "attachment" });
      expect((await api.send("GET", runs)).json["runs"]).toEqual([]);
      const { items } = await api.server.platform.instances.list(api.tenantId);
      expect(items).toEqual([]);
      await api.send("DELETE", runs.replace(/\/runs$/, ""));
      expect((await api.post(runs, { input })).json).toMatchObject({
        status: 409,
        code: "inactive_agent",
      });
    },
  );

  it.skipIf(!database.available)("run the thread of one agent alone", async () => {
    const api = await start(["One.", "Two."]);
    const [runs, others] = [await api.agent(), await api.agent({ name: "other" })];
    const thread_id = "shared thread";
    const { json } = await api.post(runs, { ...hello, thread_id });
    await api.until(`${runs}/${String(json["run_id"])}`, "complete");
    expect((await api.post(others, { ...hello, thread_id })).status).toBe(409);
    const second = await api.post(runs, { ...hello, thread_id });
    await api.until(`${runs}/${String(second.json["run_id"])}`, "complete");
    expect(api.model.read(1).join()).toContain("One.");
  });

  it.skipIf(!database.available)("take an attachment as Base64", async () => {
    const api = await start(["Read."]);
    const runs = await api.agent({ name: "reader" });
    const data = Buffer.from("the secret word is banana").toString("base64");
    const attachments = [{ name: "a.txt", type: "text/plain", data }];
    const { json } = await api.post(runs, { input: { message: "Read this.", attachments } });
    await api.until(`${runs}/${String(json["run_id"])}`, "complete");
    expect(api.model.read(0).join()).toContain("banana");
  });

  it.skipIf(!database.available)(
    "answer 404 for a run of another tenant or agent, wherever it is named",
    async () => {
      const api = await start(["Done."]);
      const runs = await api.agent();
      const own = await api.agent({ name: "other" });
      const { json } = await api.post(runs, hello);
      const id = String(json["run_id"]);
      await api.until(`${runs}/${id}`, "complete");
      const { key } = await api.join();
      const unknown = "00000000-0000-7000-8000-000000000000";
      for (const [path, of] of [
        [`${runs}/${id}`, { key }],
        [`${own}/${id}`, {}],
        [`${runs}/${unknown}`, {}],
        [`${runs}/x`, {}],
      ] as const) {
        const turn = { body: { input: { message: "x" } }, ...of };
        const answers = await Promise.all([
          api.send("GET", path, of),
          api.send("POST", `${path}/cancel`, of),
          api.send("POST", `${path}/turns`, turn),
          api.send("POST", `${path}/turns/stream`, turn),
          api.send("GET", `${path}/events`, of),
          api.send("POST", `${path}/resume`, { body: { answer: 1 }, ...of }),
        ]);
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
      }
      for (const [method, body] of [
        ["GET", undefined],
        ["POST", hello],
      ] as const) {
        const { status } = await api.send(method, runs, { key, ...(body && { body }) });
        expect(status).toBe(404);
      }
    },
  );

  it.skipIf(!database.available)("let one of two turns at once begin", async () => {
    const held = gate();
    const answers = async () => {
      await held.wait();
      return new AIMessage("Second.");
    };
    const api = await start(["First.", answers]);
    const runs = await api.agent();
    const { json } = await api.post(runs, hello);
    const path = `${runs}/${String(json["run_id"])}`;
    await api.until(path, "complete");
    const turns = [1, 2].map(() => api.post(`${path}/turns`, { input: { message: "More." } }));
    const first = await Promise.race(turns);
    expect(first.json).toMatchObject({ status: 409, type: "/problems/conflict" });
    held.open();
    const statuses = (await Promise.all(turns)).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 409]);
  });

  it.skipIf(!database.available)(
    "cancel a run that is queued, waits, runs or has ended",
    async () => {
      const held = gate();
      const hangs = async () => {
        await held.wait();
        return new AIMessage("Late.");
      };
      const api = await start([calculates, "Again.", hangs]);
      const runs = await api.agent();
      const cancel = (path: string) => api.send("POST", `${path}/cancel`);
      const begin = async (body: object = hello) => {
        const { json } = await api.post(runs, body);
        return `${runs}/${String(json["run_id"])}`;
      };
      const later = { ...hello, config: { run_at: "2100-01-01T00:00:00Z" } };
      const queued = await begin(later);
      for (let twice = 0; twice < 2; twice += 1)
        expect(await cancel(queued)).toMatchObject({ status: 202, json: { status: "cancelled" } });
      const cancelled = await api.send("GET", queued);
      expect(cancelled.json).toMatchObject({
        cause: { code: "turn_cancelled" },
        result: { output: { status: "cancelled" }, turn_id: cancelled.json["turn_id"] },
        last_event: 1,
      });
      const log = await (await api.stream(`${queued}/events`)).rest();
      expect(log).toMatchObject([{ id: 1, event: "done", data: { status: "cancelled" } }]);

      const waiting = await begin();
      await api.until(waiting, "awaiting_human");
      expect((await cancel(waiting)).json).toMatchObject({ status: "cancelled" });
      expect((await api.post(`${waiting}/resume`, { answer: "approve" })).status).toBe(409);
      const next = await api.post(`${waiting}/turns`, { input: { message: "Once more." } });
      expect(next.json).toMatchObject({ output: { status: "complete", message: "Again." } });
      expect((await cancel(waiting)).json).toMatchObject({ status: "complete" });

      const running = await begin();
      await held.arrived;
      expect((await cancel(running)).json).toMatchObject({ status: "running" });
      const ended = await api.until(running, "cancelled");
      expect(ended).toMatchObject({ cause: { code: "turn_cancelled" } });
      held.open();
      const { items } = await api.server.platform.audit.list(api.tenantId);
      const actions = items.filter(({ action }) => action === "run.cancel");
      expect(actions).toHaveLength(3);
    },
  );

  it.skipIf(!database.available)(
    "give up waiting for a turn, which goes on and is executed once",
    async () => {
      const held = gate();
      const hangs = async () => {
        await held.wait();
        return new AIMessage("Late.");
      };
      const api = await start(["First.", hangs]);
      const runs = await api.agent();
      const { json } = await api.post(runs, hello);
      const path = `${runs}/${String(json["run_id"])}`;
      await api.until(path, "complete");
      const body = { input: { message: "More." }, config: { timeout_s: 1 } };
      const headers = { "idempotency-key": "once" };
      const late = await api.post(`${path}/turns`, body, { headers });
      expect(late.json).toMatchObject({ status: 504, run_id: json["run_id"] });
      held.open();
      const ended = await api.until(path, "complete");
      expect(ended).toMatchObject({ result: { output: { message: "Late." } } });
      const again = await api.post(`${path}/turns`, body, { headers });
      expect([again.status, again.headers.get("location")]).toEqual([409, path]);
      expect(api.model.requests).toHaveLength(2);
    },
  );

  it.skipIf(!database.available)("are refused to an agent that is switched off", async () => {
    const api = await start([]);
    const runs = await api.agent({ name: "off", is_active: false });
    expect((await api.post(runs, hello)).json).toMatchObject({
      status: 409,
      code: "inactive_agent",
    });
  });

  it.skipIf(!database.available)(
    "take no turn and no results while another run of the thread waits, or without a call that waits",
    async () => {
      const api = await start([calculates, "It is 42.", locates, calculates]);
      const runs = await api.agent();
      const first = await api.post(runs, hello);
      const path = `${runs}/${String(first.json["run_id"])}`;
      await api.until(path, "awaiting_human");
      const results = [{ call_id: "c1", output: { city: "Rome" } }];
      const early = await api.post(`${path}/turns`, { input: { tool_results: results } });
      expect(early.json).toMatchObject({ status: 409, run_status: "awaiting_human" });
      await api.post(`${path}/resume`, { answer: "approve", config: { wait: true } });
      const late = await api.post(`${path}/turns`, { input: { tool_results: results } });
      expect(late.json).toMatchObject({ status: 409, run_status: "complete" });

      const second = await api.post(runs, { ...hello, thread_id: first.json["thread_id"] });
      const other = `${runs}/${String(second.json["run_id"])}`;
      await api.until(other, "awaiting_tool");
      const both = { input: { message: "And?", tool_results: results } };
      expect((await api.post(`${other}/turns`, both)).json).toMatchObject({
        status: 422,
        errors: [{ pointer: "/input/message" }],
      });
      const turn = await api.post(`${path}/turns`, { input: { message: "More." } });
      expect(turn.json).toMatchObject({ status: 409, run_status: "awaiting_tool" });

      // A run that was queued behind one that waits is cancelled without its turn.
      const { runs: store } = api.server.platform;
      const { instanceId, request } = await store.get(api.tenantId, String(second.json["run_id"]));
      const behind = await store.create(api.tenantId, {
        instanceId,
        request: { ...request, turn_id: api.base.ids() },
      });
      await api.send("POST", `${runs}/${behind.id}/cancel`);
      const located = await api.post(`${other}/turns`, { input: { tool_results: results } });
      expect(located.json).toMatchObject({ output: { status: "awaiting_human" } });
    },
  );

  it.skipIf(!database.available)(
    "keep the model of their first turn, or take another one",
    async () => {
      const api = await start(["One.", "Two.", "Three."]);
      const runs = await api.agent();
      const override = (model_override: string) => ({ config: { model_override } });
      const { json } = await api.post(runs, { ...hello, ...override("test:first") });
      const id = String(json["run_id"]);
      const path = `${runs}/${id}`;
      await api.until(path, "complete");
      const model = async () =>
        (await api.server.platform.runs.get(api.tenantId, id)).request["model"];
      await api.post(`${path}/turns`, { input: { message: "More." } });
      expect(await model()).toBe("test:first");
      await api.post(`${path}/turns`, { input: { message: "More." }, ...override("test:second") });
      expect(await model()).toBe("test:second");
    },
  );

  it.skipIf(!database.available)("answer a caller with no other turn than its own", async () => {
    const api = await start([], { concurrency: 0 });
    const runs = await api.agent();
    const { platform } = api.server;
    const { json } = await api.post(runs, hello);
    const path = `${runs}/${String(json["run_id"])}`;
    const claim = async () => (await platform.claims.claim({ worker: "test", leaseMs: 60_000 }))!;
    await platform.claims.finish(await claim(), { state: "complete", result: null });
    const waiting = api.post(`${path}/turns`, { input: { message: "More." } });
    let status: unknown;
    while (status !== "queued") ({ status } = (await api.send("GET", path)).json);
    const next = await claim();
    const result = { turn_id: "another", status: "complete" };
    await platform.claims.finish(next, { state: "complete", result });
    expect((await waiting).json).toMatchObject({ status: 409, run_id: json["run_id"] });
  });

  it.skipIf(!database.available)("take the answers to several requests one by one", async () => {
    const ask = (name: string) => ({
      name,
      type: "human",
      config: { kind: "approval", prompt: `May ${name}?` },
    });
    const api = await start(["Both said yes."]);
    const runs = await api.agent({
      name: "two",
      tools: ["calculator"],
      workflow_graph: {
        entry_point: "begin",
        nodes: [
          {
            name: "begin",
            type: "tool",
            config: { tool: "calculator", args: { expression: "1" } },
          },
          ask("ann"),
          ask("bob"),
          { name: "say", type: "llm", config: { prompt: "Say it." } },
        ],
        edges: [
          { from: "begin", to: ["ann", "bob"] },
          { from: "ann", to: "say" },
          { from: "bob", to: "say" },
          { from: "say", to: "END" },
        ],
      },
    });
    const { json } = await api.post(runs, hello);
    const path = `${runs}/${String(json["run_id"])}`;
    const waiting = await api.until(path, "awaiting_human");
    const { requests } = (waiting["result"] as { output: Output }).output;
    const [ann, bob] = requests.map(({ id }) => id);
    expect(requests).toHaveLength(2);
    const wait = { config: { wait: true } };
    const answer = (id = "") => api.post(`${path}/resume`, { answers: { [id]: true }, ...wait });
    expect((await answer(ann)).json["output"]).toMatchObject({
      status: "awaiting_human",
      requests: [{ id: bob }],
    });
    const twice = await answer(ann);
    expect(twice.json).toMatchObject({ status: 422, code: "unknown_interrupt" });
    expect((await answer(bob)).json["output"]).toMatchObject({
      status: "complete",
      message: "Both said yes.",
    });
  });

  it.skipIf(!database.available)(
    "leave a caller who waits with 503 when the server closes, and go on elsewhere",
    async () => {
      const held = gate();
      const hangs = async (_request: unknown, { signal }: { signal?: AbortSignal }) => {
        await Promise.race([
          held.wait(),
          new Promise((_resolve, reject) => {
            signal?.addEventListener("abort", () => reject(signal.reason as Error));
          }),
        ]);
        return new AIMessage("Late.");
      };
      const api = await start(["First.", hangs]);
      const runs = await api.agent();
      const { json } = await api.post(runs, hello);
      const path = `${runs}/${String(json["run_id"])}`;
      await api.until(path, "complete");
      const late = api.post(`${path}/turns`, { input: { message: "More." } });
      await held.arrived;
      const closed = api.server.close(1_000);
      const refused = await late;
      await closed;
      expect(refused.json).toMatchObject({ status: 503, run_id: json["run_id"] });
      expect(refused.headers.get("retry-after")).toBe("5");
      const other = await start(["Again."]);
      const id = String(json["run_id"]);
      const ended = () => other.base.platform.runs.get(api.tenantId, id);
      let run = await ended();
      for (; run.state !== "complete"; run = await ended())
        await other.base.signals.next(id, { ms: 50 });
      expect(run.result).toMatchObject({ message: "Again." });
    },
  );

  it.skipIf(!database.available)(
    "show a stored answer to keys with the scopes of the first one alone",
    async () => {
      const api = await start([calculates, "It is 42."]);
      const runs = await api.agent();
      const { json } = await api.post(runs, hello);
      const path = `${runs}/${String(json["run_id"])}`;
      await api.until(path, "awaiting_human");
      const headers = { "idempotency-key": "once" };
      const body = { answer: "approve", config: { wait: true } };
      const first = await api.post(`${path}/resume`, body, { headers });
      expect(first.status).toBe(200);
      const { key } = await api.join(["requests:answer"], api.tenantId);
      const other = await api.post(`${path}/resume`, body, { headers, key });
      expect(other.json).toMatchObject({ status: 422, type: "/problems/idempotency_mismatch" });
      const same = await api.join(["*"], api.tenantId);
      const again = await api.post(`${path}/resume`, body, { headers, key: same.key });
      expect(again.json).toEqual(first.json);
    },
  );

  it.skipIf(!database.available)("need their scopes", async () => {
    const api = await start([calculates]);
    const runs = await api.agent();
    const { json } = await api.post(runs, hello);
    const path = `${runs}/${String(json["run_id"])}`;
    await api.until(path, "awaiting_human");
    const readers = await api.join(["runs:read"], api.tenantId);
    const writers = await api.join(["runs:write"], api.tenantId);
    const people = await api.join(["requests:answer"], api.tenantId);
    const answer = { answer: "reject" };
    for (const [key, to, body] of [
      [readers.key, runs, hello],
      [readers.key, `${path}/cancel`, undefined],
      [readers.key, `${path}/turns`, { input: {} }],
      [writers.key, `${path}/resume`, answer],
      [people.key, `${path}/resume`, { ...answer, config: { wait: true } }],
    ] as const) {
      const { status } = await api.send("POST", to, { key, ...(body && { body }) });
      expect([to, status]).toEqual([to, 403]);
    }
    for (const to of [runs, path, `${path}/events`, "/v1/requests"])
      expect((await api.send("GET", to, { key: writers.key })).status).toBe(403);
  });
});
