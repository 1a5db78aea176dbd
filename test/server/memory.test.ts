import { afterEach, describe, expect, it } from "vitest";
import { createRuntime } from "../../src/app.ts";
import { createServer, type PlatformServer, type ServerOptions } from "../../src/create-server.ts";
import { agentNamespace } from "../../src/memory/namespace.ts";
import type { Embeddings } from "../../src/models/embeddings/embeddings.ts";
import { listenChecked, type SendOptions } from "../helpers/api-server.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";

describe.each(drawDatabases(import.meta.url))("memories over HTTP on %s", (kind) => {
  const database = useDatabase(kind);
  let tenants = 0;
  const servers: PlatformServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close(0)));
  });

  /** A server with two tenants, each with one agent. */
  async function start(options: ServerOptions = {}) {
    const server = await createServer({
      database: database.shared,
      runtime: { memoryEmbeddings: null },
      ...options,
    });
    servers.push(server);
    const { send } = await listenChecked(server);
    const tenant = async () => {
      const { tenants: store, apiKeys, agents, audit } = server.platform;
      const { id } = await store.create({ name: `memory ${kind} ${(tenants += 1)}` });
      const keyOf = async (...scopes: string[]) =>
        (await apiKeys.create({ tenantId: id, name: "k", scopes })).secret;
      const key = await keyOf("*");
      const { agentId } = await agents.create(id, { name: "helper", definition: helper });
      return {
        id,
        agentId,
        keyOf,
        audit: async () => (await audit.list(id)).items,
        send: (method: string, path: string, of: SendOptions = {}) =>
          send(method, path.replace("~", `/v1/agents/${agentId}/memory`), { key, ...of }),
      };
    };
    return { server, one: await tenant(), other: await tenant() };
  }
  type Tenant = Awaited<ReturnType<typeof start>>["one"];

  const helper = { name: "helper", tools: ["calculator"] };
  const unknownId = "00000000-0000-7000-8000-000000000000";

  async function add({ send }: Tenant, body: object): Promise<string> {
    const answer = await send("POST", "~", { body });
    expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
    return String(answer.json["id"]);
  }

  const contentsOf = (json: Record<string, unknown>) =>
    (json["entries"] as { content: string }[]).map(({ content }) => content);

  it.skipIf(!database.available)(
    "are stored, found with reasons and a score, listed in pages, and forgotten",
    async () => {
      const { one } = await start();
      const expires_at = "2999-01-01T00:00:00.000Z";
      const metadata = { tags: ["style"], entities: ["Ada"], data: { from: [1] } };
      const body = {
        content: "Ada prefers short answers.",
        thread_id: "t-1",
        metadata,
        expires_at,
      };
      const added = await one.send("POST", "~", { body: { ...body, importance: 0.9 } });
      expect(added).toMatchObject({ status: 201, json: { embedding_generated: false } });
      const id = String(added.json["id"]);
      await add(one, { content: "The invoice is due in May.", memory_type: "episodic" });

      const found = await one.send("POST", "~/query", { body: { query: "short answers" } });
      expect(found.json["embedding_model"]).toBeNull();
      const [hit] = found.json["entries"] as Record<string, unknown>[];
      expect(hit).toMatchObject({
        id,
        memory_type: "semantic",
        user: null,
        thread_id: "t-1",
        importance: 0.9,
        access_count: 0,
        expires_at,
        metadata: { source: "user", ...metadata },
        why: { terms: ["short", "answers"], meaning: null },
      });
      expect(hit?.["score"]).toBeGreaterThan(0.1);
      const narrow = { query: "short answers", memory_types: ["episodic"], top_k: 1 };
      const episodic = await one.send("POST", "~/query", { body: narrow });
      expect(contentsOf(episodic.json)).not.toContain("Ada prefers short answers.");
      const strict = { query: "short answers", min_score: 1 };
      expect((await one.send("POST", "~/query", { body: strict })).json["entries"]).toEqual([]);
      const elsewhere = { query: "short answers", thread_id: "t-2" };
      expect((await one.send("POST", "~/query", { body: elsewhere })).json["entries"]).toEqual([]);

      const first = await one.send("GET", "~?limit=1");
      expect(contentsOf(first.json)).toEqual(["The invoice is due in May."]);
      const cursor = String(first.json["next_cursor"]);
      const second = await one.send("GET", `~?limit=1&cursor=${cursor}`);
      expect(second.json).toMatchObject({ next_cursor: null, entries: [{ id }] });
      expect(contentsOf((await one.send("GET", "~?tag=style&thread_id=t-1")).json)).toHaveLength(1);
      expect((await one.send("GET", String(added.headers.get("location")))).json).toMatchObject({
        id,
      });

      const gone = await one.send("DELETE", `~/${id}`);
      expect(gone.json).toEqual({ entries: 1, archived: 0, uses: 0, threads: [] });
      expect((await one.send("GET", `~/${id}`)).status).toBe(404);
      expect((await one.send("DELETE", `~/${id}`)).status).toBe(404);
      expect((await one.send("GET", `~?cursor=${id}`)).status).toBe(400);
      const after = await one.send("POST", "~/query", { body: { query: "short answers" } });
      expect(contentsOf(after.json)).not.toContain("Ada prefers short answers.");
      expect(await one.audit()).toMatchObject([
        { action: "memory.delete", subject: `${one.agentId}/${id}` },
      ]);
    },
  );

  it.skipIf(!database.available)(
    "are those of the user, as in a turn, and all of a user's are forgotten, archived ones too",
    async () => {
      const { server, one } = await start();
      const ada = await add(one, { content: "Likes the tea green.", user: "ada" });
      await add(one, { content: "Likes the tea black.", user: "ada.b" });
      await add(one, { content: "The tea is in the kitchen." });
      const query = async (user?: string) => {
        const body = { query: "tea", ...(user !== undefined && { user }) };
        return contentsOf((await one.send("POST", "~/query", { body })).json);
      };
      expect(await query("ada")).toEqual(["Likes the tea green."]);
      expect(await query()).toEqual(["The tea is in the kitchen."]);
      expect(contentsOf((await one.send("GET", "~?user=ada")).json)).toHaveLength(1);
      expect(contentsOf((await one.send("GET", "~")).json)).toHaveLength(3);

      const old = { memory_type: "short_term", thread_id: "t", user: "ada", importance: 0 };
      await add(one, { ...old, content: "Good morning." });
      await withConsolidation(server, one, { importance_threshold: 1 });
      const body = { strategy: "age", max_entries: 10 };
      const consolidated = await one.send("POST", "~/consolidate", { body });
      expect(consolidated.json).toMatchObject({ evicted: 1, archived: 1, busy: 0 });
      const archived = "~?archived=true&user=ada";
      expect(contentsOf((await one.send("GET", archived)).json)).toEqual(["Good morning."]);

      expect((await one.send("DELETE", "~")).status).toBe(400);
      const gone = await one.send("DELETE", "~?user=ada");
      expect(gone.json).toMatchObject({ entries: 1, archived: 1 });
      expect(await query("ada")).toEqual([]);
      expect(await query("ada.b")).toEqual(["Likes the tea black."]);
      expect((await one.send("GET", `~/${ada}`)).status).toBe(404);
      expect(contentsOf((await one.send("GET", archived)).json)).toEqual([]);
      expect(await one.audit()).toMatchObject([
        { action: "memory.delete_user", subject: `${one.agentId}/ada` },
      ]);
    },
  );

  /** Gives the agent a version that consolidates entries of any age. */
  async function withConsolidation({ platform }: PlatformServer, one: Tenant, of: object) {
    const long_term = { consolidation: { min_age_hours: 0, ...of } };
    const definition = { ...helper, memory_config: { long_term } };
    await platform.agents.newVersion(one.id, { agentId: one.agentId, base: "1.0.0", definition });
  }

  it.skipIf(!database.available)(
    "of other agents and other tenants are not there, for any route",
    async () => {
      const { server, one, other } = await start();
      const { agents } = server.platform;
      const second = await agents.create(one.id, { name: "helper-2", definition: helper });
      const mine = await add(one, { content: "Mine." });
      const beside = `/v1/agents/${second.agentId}/memory`;
      const theirs = await one.send("POST", beside, { body: { content: "Of the other agent." } });
      const foreign = await add(other, { content: "Of the other tenant." });
      for (const id of [String(theirs.json["id"]), foreign, unknownId, "x", "%00", "..%2f"]) {
        for (const method of ["GET", "DELETE"]) {
          const { status } = await one.send(method, `~/${id}`);
          expect([id, method, [400, 404].includes(status)]).toEqual([id, method, true]);
        }
      }
      // The path of the other tenant's agent, with this tenant's key.
      const path = `/v1/agents/${other.agentId}/memory`;
      const bodies = { query: { query: "x" }, consolidate: {}, "": { content: "x" } };
      for (const [name, body] of Object.entries(bodies))
        expect(
          (await one.send("POST", `${path}/${name}`.replace(/\/$/, ""), { body })).status,
        ).toBe(404);
      expect((await one.send("GET", path)).status).toBe(404);
      expect((await one.send("DELETE", `${path}?user=ada`)).status).toBe(404);
      expect(contentsOf((await one.send("GET", "~")).json)).toEqual(["Mine."]);
      expect((await other.send("GET", `~/${foreign}`)).status).toBe(200);
      expect((await one.send("GET", `${beside}/${mine}`)).status).toBe(404);
    },
  );

  it.skipIf(!database.available)(
    "of an agent that was deactivated can be read and forgotten, and not written",
    async () => {
      const { server, one } = await start();
      const id = await add(one, { content: "Still in the harbour.", user: "ada" });
      await server.platform.agents.deactivate(one.id, one.agentId);
      expect((await one.send("POST", "~", { body: { content: "More." } })).status).toBe(404);
      expect((await one.send("POST", "~/consolidate", { body: {} })).status).toBe(404);
      expect((await one.send("GET", `~/${id}`)).status).toBe(200);
      const body = { query: "harbour", user: "ada" };
      expect(contentsOf((await one.send("POST", "~/query", { body })).json)).toEqual([
        "Still in the harbour.",
      ]);
      expect((await one.send("DELETE", "~?user=ada")).json).toMatchObject({ entries: 1 });
    },
  );

  it.skipIf(!database.available)(
    "need the scope of their route, and bodies within their limits",
    async () => {
      const { one } = await start();
      const key = await one.keyOf("memory:read");
      expect((await one.send("GET", "~", { key })).status).toBe(200);
      expect((await one.send("POST", "~/query", { key, body: { query: "x" } })).status).toBe(200);
      for (const [method, path, body] of [
        ["POST", "~", { content: "x" }],
        ["POST", "~/consolidate", {}],
        ["DELETE", `~/${unknownId}`, undefined],
        ["DELETE", "~?user=ada", undefined],
      ] as const)
        expect((await one.send(method, path, { key, body })).status).toBe(403);
      const writer = await one.keyOf("memory:write");
      expect((await one.send("GET", "~", { key: writer })).status).toBe(403);

      for (const body of [
        {},
        { content: "" },
        { content: "a\u0000" },
        { content: "\uD800" },
        { content: "a".repeat(32_769) },
        { content: "a", memory_type: "SEMANTIC" },
        { content: "a", importance: 1.1 },
        { content: "a", namespace: ["agents", "helper-2"] },
        { content: "a", id: unknownId },
        { content: "a", user: "" },
        { content: "a", user: "u".repeat(201) },
        { content: "a", thread_id: "\u0000" },
        { content: "a", metadata: { merged: [unknownId] } },
        { content: "a", metadata: { source: "admin" } },
        { content: "a", metadata: { tags: Array.from({ length: 51 }, String) } },
        { content: "a", expires_at: "tomorrow" },
        { content: "a", expires_at: "2001-01-01T00:00:00Z" },
      ])
        expect([body, (await one.send("POST", "~", { body })).status]).toEqual([body, 400]);
      const large = { content: "a", metadata: { data: { text: "a".repeat(262_144) } } };
      expect((await one.send("POST", "~", { body: large })).status).toBe(422);
      for (const body of [
        {},
        { query: "" },
        { query: "a".repeat(8_001) },
        { query: "a", top_k: 101 },
        { query: "a", top_k: 0 },
        { query: "a", min_score: 2 },
        { query: "a", memory_types: ["all"] },
      ])
        expect([body, (await one.send("POST", "~/query", { body })).status]).toEqual([body, 400]);
      for (const query of [
        "cursor=x",
        "cursor=%00",
        `cursor=${unknownId}`,
        "limit=0",
        "user=",
        "a=1",
      ])
        expect([query, (await one.send("GET", `~?${query}`)).status]).toEqual([query, 400]);
    },
  );

  it.skipIf(!database.available)(
    "are embedded by the model of the definition, and stored without if that fails",
    async () => {
      let works = true;
      const memoryEmbeddings: Embeddings = {
        id: "test:angle",
        dimensions: 2,
        embed: async (texts) => {
          if (!works) throw new Error("down");
          return texts.map(() => Float32Array.of(1, 0));
        },
      };
      const { one } = await start({ runtime: { memoryEmbeddings } });
      const stored = await one.send("POST", "~", { body: { content: "One." } });
      expect(stored.json["embedding_generated"]).toBe(true);
      works = false;
      const plain = await one.send("POST", "~", { body: { content: "Two." } });
      expect(plain).toMatchObject({ status: 201, json: { embedding_generated: false } });
      const found = await one.send("POST", "~/query", { body: { query: "two" } });
      expect(found.json["embedding_model"]).toBe("test:angle");
      expect(contentsOf(found.json)).toContain("Two.");
    },
  );

  it.skipIf(!database.available)("are consolidated once at a time", async () => {
    let [isHeld, reach, release] = [false, () => {}, () => {}];
    const released = new Promise<void>((resolve) => (release = resolve));
    const memoryEmbeddings: Embeddings = {
      id: "test:held",
      dimensions: 2,
      async embed(texts) {
        reach();
        if (isHeld) await released;
        return texts.map(() => Float32Array.of(1, 0));
      },
    };
    const { server, one } = await start({ runtime: { memoryEmbeddings } });
    // Too long: it is shortened, and embedded anew.
    const content = `Long ${"words about the harbour. ".repeat(200)}`;
    await add(one, { content, memory_type: "short_term", thread_id: "t" });
    // Of a thread that the second call could have.
    await add(one, { content: "Later.", memory_type: "short_term", thread_id: "u" });
    isHeld = true;
    const consolidating = new Promise<void>((resolve) => (reach = resolve));
    await withConsolidation(server, one, { importance_threshold: 0 });
    const first = one.send("POST", "~/consolidate", { body: {} });
    await consolidating;
    const busy = await one.send("POST", "~/consolidate", { body: {} });
    expect(busy).toMatchObject({ status: 409, json: { code: "memory_busy" } });
    release();
    expect(await first).toMatchObject({ status: 200, json: { consolidated: 1, merged: 1 } });
    const again = await one.send("POST", "~/consolidate", { body: {} });
    expect(again).toMatchObject({ status: 200, json: { consolidated: 0 } });
  });

  it.skipIf(!database.available)(
    "being consolidated by another process are not consolidated here",
    async () => {
      const { server, one } = await start();
      await withConsolidation(server, one, {});
      const runtime = await createRuntime({
        database: database.shared,
        tenantId: one.id,
        memoryEmbeddings: null,
      });
      try {
        await add(one, { content: "Old.", memory_type: "short_term", thread_id: "t" });
        const { store } = await runtime.memory();
        const at = { namespace: agentNamespace("helper"), threadId: "t" };
        await store.consolidating(at, async () => {
          for (const body of [{ thread_id: "t" }, {}]) {
            const busy = await one.send("POST", "~/consolidate", { body });
            expect(busy).toMatchObject({ status: 409, json: { code: "memory_busy" } });
          }
        });
        const done = await one.send("POST", "~/consolidate", { body: { thread_id: "t" } });
        expect(done).toMatchObject({ status: 200, json: { consolidated: 1 } });
      } finally {
        await runtime.close();
      }
    },
  );
});
