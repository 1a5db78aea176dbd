import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";
import { type RunServer, type RunServerOptions, useRunServers } from "../../helpers/run-server.ts";

/** An agent that another one calls, with a tool of the tenant. */
const clerk = {
  name: "clerk",
  description: "Counts copies",
  llm_config: { default_model: "openai:gpt-test" },
  tools: ["calculator"],
  input_schema: {
    type: "object",
    properties: { message: { type: "string" }, copies: { type: "integer", minimum: 0 } },
    required: ["message"],
  },
};
const office = {
  name: "office",
  workflow_graph: {
    entry_point: "post-room",
    nodes: [
      { name: "post-room", type: "agent", config: { agent: "clerk", input: { message: "a" } } },
    ],
    edges: [{ from: "post-room", to: "END" }],
    output: { message: "done" },
  },
};

describe.each(drawDatabases(import.meta.url))("assistants on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  const clientOf = (api: RunServer, key = api.key) =>
    new Client({
      apiUrl: `http://127.0.0.1:${api.port}`,
      apiKey: key,
      callerOptions: { maxRetries: 0 },
    });
  async function serve(agents: readonly object[] = [], options: RunServerOptions = {}) {
    const api = await start([], options);
    for (const agent of agents) await api.agent(agent);
    return { api, client: clientOf(api) };
  }
  const statusOf = (call: Promise<unknown>) =>
    call.then(
      () => 200,
      (thrown: unknown) => (thrown as { status?: number }).status,
    );

  it.skipIf(!database.available)("are the active agents, by id and by name", async () => {
    const { client } = await serve([clerk, office]);
    const [second, first] = await client.assistants.search();
    expect(first).toEqual({
      assistant_id: expect.any(String),
      graph_id: "clerk",
      name: "clerk",
      description: "Counts copies",
      version: 1,
      config: {},
      context: {},
      metadata: { created_by: "system", agent_version: "1.0.0" },
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(second).toMatchObject({ graph_id: "office", description: null });
    const id = first?.assistant_id ?? "";
    expect(await client.assistants.get(id)).toEqual(first);
    expect(await client.assistants.get(id.toUpperCase())).toEqual(first);
    expect(await client.assistants.get("clerk")).toEqual(first);
    await client.assistants.delete("clerk");
    expect(await client.assistants.search()).toEqual([second]);
    expect(await statusOf(client.assistants.get(id))).toBe(404);
    expect(await statusOf(client.assistants.get("clerk"))).toBe(404);
  });

  it.skipIf(!database.available)(
    "are the agent of an id before one that is named like the id",
    async () => {
      const { api, client } = await serve([clerk]);
      const [first] = await client.assistants.search();
      const id = first?.assistant_id ?? "";
      await api.agent({ name: id });
      expect((await client.assistants.get(id)).name).toBe("clerk");
      expect(await client.assistants.count()).toBe(2);
    },
  );

  it.skipIf(!database.available)(
    "are searched by graph, name and metadata, sorted, in parts, with selected keys",
    async () => {
      const { client } = await serve(["b-two", "a-one", "c-one"].map((name) => ({ name })));
      const names = async (query: Parameters<typeof client.assistants.search>[0]) =>
        (await client.assistants.search(query)).map(({ name }) => name);
      expect(await names({})).toEqual(["c-one", "a-one", "b-two"]);
      expect(await names({ sortBy: "name", sortOrder: "asc" })).toEqual([
        "a-one",
        "b-two",
        "c-one",
      ]);
      expect(await names({ sortBy: "graph_id", sortOrder: "desc" })).toEqual([
        "c-one",
        "b-two",
        "a-one",
      ]);
      expect(await names({ name: "ONE" })).toEqual(["c-one", "a-one"]);
      expect(await names({ name: "%" })).toEqual([]);
      expect(await names({ graphId: "a-one" })).toEqual(["a-one"]);
      expect(await names({ graphId: "a" })).toEqual([]);
      expect(await names({ metadata: { created_by: "system" } })).toHaveLength(3);
      expect(await names({ metadata: { created_by: "user" } })).toEqual([]);
      expect(await names({ metadata: { agent_version: "2.0.0" } })).toEqual([]);
      expect(await names({ metadata: { owner: "ada" } })).toEqual([]);
      expect(await client.assistants.count({ name: "one" })).toBe(2);
      expect(await client.assistants.count({ metadata: { owner: "ada" } })).toBe(0);
      const part = { limit: 2, includePagination: true } as const;
      const first = await client.assistants.search({ ...part, offset: 0 });
      expect([first.assistants.length, first.next]).toEqual([2, "2"]);
      const last = await client.assistants.search({ ...part, offset: 2 });
      expect([last.assistants.length, last.next]).toEqual([1, null]);
      const selected = await client.assistants.search({ select: ["graph_id"], limit: 1 });
      expect(selected).toEqual([{ graph_id: "c-one" }]);
    },
  );

  it.skipIf(!database.available)("have texts that Postgres refuses", async () => {
    const { client } = await serve([
      { name: "odd", description: "Counts\0" },
      { ...clerk, system_prompt: "Count.\0" },
    ]);
    expect(await client.assistants.get("odd")).toMatchObject({ description: null });
    expect(await client.assistants.search({ sortBy: "name" })).toHaveLength(2);
    expect(await client.assistants.search({ name: "\0" })).toEqual([]);
    expect(await client.assistants.search({ graphId: "\ud800" })).toEqual([]);
    const metadata = { agent_version: "\0" };
    expect(await client.assistants.count({ metadata })).toBe(0);
    expect(await client.assistants.getVersions("odd", { metadata })).toEqual([]);
    expect(await statusOf(client.assistants.get("\0"))).toBe(404);
  });

  it.skipIf(!database.available)(
    "say how many there are in a header, also after the last one",
    async () => {
      const { api } = await serve([clerk, office]);
      const totals = [];
      for (const offset of [0, 1, 5]) {
        const { headers } = await api.post("/assistants/search", { limit: 1, offset });
        totals.push([headers.get("x-pagination-total"), headers.get("x-pagination-next")]);
      }
      expect(totals).toEqual([
        ["2", "1"],
        ["2", null],
        ["2", null],
      ]);
    },
  );

  it.skipIf(!database.available)("are created from a definition, once", async () => {
    const { api, client } = await serve();
    const config = { configurable: { definition: clerk } };
    const made = await client.assistants.create({ graphId: "clerk", config });
    expect(made).toMatchObject({ graph_id: "clerk", version: 1, description: "Counts copies" });
    const again = { graphId: "clerk", config } as const;
    expect(await statusOf(client.assistants.create(again))).toBe(409);
    expect(await client.assistants.create({ ...again, ifExists: "do_nothing" })).toEqual(made);
    const { items } = await api.base.platform.audit.list(api.tenantId);
    expect(items.map(({ action, subject }) => [action, subject])).toContainEqual([
      "agent.create",
      made.assistant_id,
    ]);
  });

  it.skipIf(!database.available)(
    "check a definition as the agents do, and say where it is wrong",
    async () => {
      const { api } = await serve();
      const refused = async (definition: object) => {
        const config = { configurable: { definition } };
        const { status, json } = await api.post("/assistants", { graph_id: "clerk", config });
        return [status, (json["errors"] as { pointer: string }[]).map(({ pointer }) => pointer)];
      };
      const at = "/config/configurable/definition";
      expect(await refused({ name: "clerk", mood: "good" })).toEqual([422, [`${at}/mood`]]);
      expect(await refused({ name: "clerk", tools: ["read_file"] })).toEqual([
        422,
        [`${at}/tools/0`],
      ]);
      expect(await refused({ name: "clerk", tools: ["none"] })).toEqual([422, [`${at}/tools/0`]]);
      expect(await refused({ name: "other" })).toEqual([422, [`${at}/name`]]);
    },
  );

  it.skipIf(!database.available)(
    "are the ones of their graph where no definition is given",
    async () => {
      const { client } = await serve([clerk]);
      const made = await client.assistants.create({ graphId: "clerk" });
      expect(made).toEqual(await client.assistants.get("clerk"));
      const same = { graphId: "clerk", assistantId: made.assistant_id } as const;
      expect(await statusOf(client.assistants.create(same))).toBe(409);
      expect(await client.assistants.create({ ...same, ifExists: "do_nothing" })).toEqual(made);
      expect(await statusOf(client.assistants.create({ graphId: "nobody" }))).toBe(404);
      const other = { ...same, assistantId: "00000000-0000-7000-8000-000000000000" };
      expect(await statusOf(client.assistants.create(other))).toBe(422);
      expect(await client.assistants.count()).toBe(1);
    },
  );

  it.skipIf(!database.available)("take no settings over the graph of an agent", async () => {
    const { api } = await serve([clerk]);
    const refusals: unknown[] = [];
    for (const own of [
      { config: { configurable: { model: "openai:gpt-test" } } },
      { config: { recursion_limit: 5 } },
      { context: { model: "openai:gpt-test" } },
      { metadata: { owner: "ada" } },
      { name: "Mine" },
      { description: "Mine" },
    ]) {
      const { status, json } = await api.post("/assistants", { graph_id: "clerk", ...own });
      refusals.push([status, (json["errors"] as { pointer: string }[])[0]?.pointer]);
    }
    expect(refusals).toEqual([
      [422, "/config/configurable/model"],
      [422, "/config/recursion_limit"],
      [422, "/context"],
      [422, "/metadata"],
      [422, "/name"],
      [422, "/description"],
    ]);
    const harmless = { config: {}, context: {}, metadata: { created_by: "system" }, name: "clerk" };
    const { status } = await api.post("/assistants", { graph_id: "clerk", ...harmless });
    expect(status).toBe(200);
  });

  it.skipIf(!database.available)(
    "get a version for each change, and take up any of them",
    async () => {
      const { client } = await serve([clerk]);
      const { assistants } = client;
      const id = (await assistants.get("clerk")).assistant_id;
      expect(await assistants.update(id, { description: "Counts" })).toMatchObject({
        version: 2,
        description: "Counts",
        metadata: { agent_version: "1.0.1" },
      });
      const config = { configurable: { definition: { ...clerk, version: "2.0.0" } } };
      expect(await assistants.update(id, { graphId: "clerk", config })).toMatchObject({
        version: 3,
        metadata: { agent_version: "2.0.0" },
      });
      expect(await assistants.update(id, {})).toMatchObject({ version: 3 });
      expect(await statusOf(assistants.update(id, { graphId: "office" }))).toBe(422);
      expect(await statusOf(assistants.update(id, { metadata: { owner: "ada" } }))).toBe(422);
      const renamed = { configurable: { definition: { name: "office" } } };
      expect(await statusOf(assistants.update(id, { config: renamed }))).toBe(400);

      const versions = await assistants.getVersions(id);
      expect(versions.map((one) => [one.version, one.description])).toEqual([
        [3, "Counts copies"],
        [2, "Counts"],
        [1, "Counts copies"],
      ]);
      expect(await assistants.getVersions(id, { limit: 1, offset: 1 })).toEqual([versions[1]]);
      const metadata = { agent_version: "1.0.0" };
      expect(await assistants.getVersions(id, { metadata })).toEqual([versions[2]]);
      expect(await assistants.setLatest(id, 2)).toMatchObject({
        version: 2,
        description: "Counts",
      });
      expect(await assistants.get("clerk")).toMatchObject({ version: 2 });
      expect(await statusOf(assistants.setLatest(id, 4))).toBe(404);
      expect(await assistants.search()).toHaveLength(1);
    },
  );

  it.skipIf(!database.available)(
    "draw their graph, with the agents of their tenant inside",
    async () => {
      const { api, client } = await serve([clerk, office]);
      const edges = async (xray?: boolean | number) =>
        (
          await client.assistants.getGraph("office", { ...(xray !== undefined && { xray }) })
        ).edges.map(({ source, target }) => `${source} -> ${target}`);
      expect(await edges()).toContain("plan -> post-room");
      expect(await edges(true)).toContain("plan -> post-room:initialize");
      expect(await edges(true)).toContain("post-room:reason -> post-room:tools");
      expect(await edges(1)).toEqual(await edges(true));
      expect(await edges(0)).toEqual(await edges());

      const [node] = office.workflow_graph.nodes;
      const house = { ...office.workflow_graph, nodes: [{ ...node, config: { agent: "office" } }] };
      await api.agent({ ...office, name: "house", workflow_graph: house });
      const idsOf = async (xray: boolean | number) =>
        (await client.assistants.getGraph("house", { xray })).nodes.map(({ id }) => id);
      expect(await idsOf(1)).toContain("post-room:post-room");
      expect(await idsOf(2)).toContain("post-room:post-room:reason");
      expect(await idsOf(2)).toEqual(await idsOf(true));
    },
  );

  it.skipIf(!database.available)(
    "describe their state, input, output and context, and those of their subgraphs",
    async () => {
      const { client } = await serve([clerk, office]);
      const schemas = await client.assistants.getSchemas("clerk");
      expect(schemas.graph_id).toBe("clerk");
      expect(schemas.input_schema?.properties).toMatchObject({
        input: { properties: { copies: { type: "integer", minimum: 0 } }, required: ["message"] },
        messages: { langgraph_type: "messages" },
      });
      expect(schemas.state_schema?.properties).toHaveProperty("steps");
      expect(schemas.output_schema?.properties).toHaveProperty("output");
      expect(schemas.context_schema?.properties).toHaveProperty("model");
      expect(schemas.config_schema).toEqual(schemas.context_schema);
      const inside = await client.assistants.getSubgraphs("office");
      expect(Object.keys(inside)).toEqual(["post-room"]);
      const { input } = inside["post-room"] as {
        readonly input?: { readonly properties?: object };
      };
      expect(input?.properties).toHaveProperty("input");
      expect(await client.assistants.getSubgraphs("office", { namespace: "post-room" })).toEqual(
        inside,
      );
      expect(await client.assistants.getSubgraphs("office", { namespace: "none" })).toEqual({});
      expect(await client.assistants.getSubgraphs("clerk", { recurse: true })).toEqual({});
    },
  );

  it.skipIf(!database.available)(
    "draw what a change of an agent inside has made of them",
    async () => {
      const { client } = await serve([clerk, office]);
      const asksPeople = async () =>
        (await client.assistants.getGraph("office", { xray: true })).nodes.some(
          ({ id }) => id === "post-room:human",
        );
      expect(await asksPeople()).toBe(false);
      const rails = { tool_rails: { require_approval: ["calculator"] } };
      const config = { configurable: { definition: { ...clerk, guardrail_config: rails } } };
      await client.assistants.update("clerk", { config });
      expect(await asksPeople()).toBe(true);
    },
  );

  it.skipIf(!database.available)(
    "are drawn and described without a model, a key or a run",
    async () => {
      const { api, client } = await serve([clerk]);
      await client.assistants.getGraph("clerk", { xray: true });
      await client.assistants.getSchemas("clerk");
      expect(api.model.requests).toEqual([]);
    },
  );

  it.skipIf(!database.available)(
    "of another tenant are not found, changed or counted",
    async () => {
      const { api, client } = await serve([clerk, office]);
      const { key } = await api.join();
      const other = clientOf(api, key);
      const { assistant_id: id } = await client.assistants.get("clerk");
      for (const name of [id, "clerk"]) {
        for (const call of [
          () => other.assistants.get(name),
          () => other.assistants.getGraph(name),
          () => other.assistants.getSchemas(name),
          () => other.assistants.getSubgraphs(name),
          () => other.assistants.getSubgraphs(name, { namespace: "post-room" }),
          () => other.assistants.getVersions(name),
          () => other.assistants.setLatest(name, 1),
          () => other.assistants.update(name, { description: "Mine" }),
          () => other.assistants.delete(name),
          () => other.assistants.create({ graphId: name }),
        ])
          expect(await statusOf(call())).toBe(404);
      }
      expect(await other.assistants.search()).toEqual([]);
      expect(await other.assistants.count()).toBe(0);
      const own = { configurable: { definition: { name: "clerk" } } };
      const made = await other.assistants.create({ graphId: "clerk", config: own });
      expect(made.assistant_id).not.toBe(id);
      expect(await client.assistants.get("clerk")).toMatchObject({ version: 1, assistant_id: id });
    },
  );

  it.skipIf(!database.available)("need the scopes of agents", async () => {
    const { api } = await serve([clerk]);
    const { key } = await api.join(["agents:read"], api.tenantId);
    const reader = clientOf(api, key);
    expect(await reader.assistants.search()).toHaveLength(1);
    expect(await statusOf(reader.assistants.update("clerk", { description: "x" }))).toBe(403);
    expect(await statusOf(reader.assistants.delete("clerk"))).toBe(403);
    expect(await statusOf(reader.assistants.setLatest("clerk", 1))).toBe(403);
    const { key: runner } = await api.join(["runs:write"], api.tenantId);
    expect(await statusOf(clientOf(api, runner).assistants.search())).toBe(403);
  });

  it.skipIf(!database.available)("are deleted without their threads", async () => {
    const { client } = await serve([clerk]);
    const call = client.assistants.delete("clerk", { deleteThreads: true });
    expect(await statusOf(call)).toBe(422);
    expect(await client.assistants.count()).toBe(1);
  });

  it.skipIf(!database.available)("are absent from a server without the protocol", async () => {
    const { api, client } = await serve([clerk], { langgraph: false });
    expect(await statusOf(client.assistants.search())).toBe(404);
    expect((await api.send("GET", "/ok")).status).toBe(404);
  });
});
