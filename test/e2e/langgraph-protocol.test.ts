import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createServer, type PlatformServer } from "../../src/create-server.ts";
import { shapeDifferences, withoutIds, withoutPaths } from "../helpers/answer-shape.ts";
import { listenChecked } from "../helpers/api-server.ts";
import { useDatabase } from "../helpers/databases.ts";
import { type DevServer, startDevServer } from "../helpers/dev-server.ts";

/** A call whose answers are compared; `docs/langgraph-protocol.md` has the differences. */
interface Call {
  readonly name: string;
  readonly call: (client: Client) => Promise<unknown>;
  /** `value`: equal apart from ids and times. `shape`: the same keys and types. */
  readonly same: "value" | "shape";
  /** Documented differences of the shape. */
  readonly differs?: readonly string[];
}

/** The status of an error, for calls that are refused. */
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => "no error",
    (thrown: unknown) => (thrown as { status?: number }).status,
  );
const ownVersion = ["+ [].metadata.agent_version"];

const assistantCalls: readonly Call[] = [
  {
    name: "assistants.search",
    same: "shape",
    differs: ownVersion,
    call: ({ assistants }) => assistants.search(),
  },
  {
    name: "assistants.search of a graph, selected",
    same: "value",
    call: ({ assistants }) =>
      assistants.search({ graphId: "letters", select: ["graph_id", "name", "version", "config"] }),
  },
  {
    name: "assistants.search by name and metadata",
    same: "value",
    call: async ({ assistants }) => {
      const metadata = { created_by: "system" };
      const found = await assistants.search({ name: "LETT", metadata, select: ["name"] });
      const none = await assistants.search({ metadata: { created_by: "user" } });
      return [found, none];
    },
  },
  {
    name: "assistants.count",
    same: "value",
    call: async ({ assistants }) => [
      await assistants.count(),
      await assistants.count({ graphId: "office" }),
      await assistants.count({ name: "none" }),
    ],
  },
  {
    name: "assistants.get by name",
    same: "shape",
    differs: ["+ .metadata.agent_version"],
    call: ({ assistants }) => assistants.get("letters"),
  },
  {
    name: "assistants.get of none",
    same: "value",
    call: ({ assistants }) => refusal(assistants.get("00000000-0000-4000-8000-000000000000")),
  },
  {
    name: "assistants.getGraph",
    same: "value",
    call: ({ assistants }) => assistants.getGraph("letters"),
  },
  {
    name: "assistants.getGraph with what is inside",
    same: "value",
    call: ({ assistants }) => assistants.getGraph("office", { xray: true }),
  },
  {
    name: "assistants.getSchemas",
    same: "value",
    call: ({ assistants }) => assistants.getSchemas("letters"),
  },
  {
    name: "assistants.getSubgraphs",
    same: "value",
    call: async ({ assistants }) => [
      await assistants.getSubgraphs("office"),
      await assistants.getSubgraphs("office", { namespace: "post-room", recurse: true }),
      await assistants.getSubgraphs("letters"),
    ],
  },
  {
    name: "assistants.getVersions",
    same: "shape",
    differs: ownVersion,
    call: ({ assistants }) =>
      assistants
        .search({ graphId: "letters" })
        .then(async ([found]) => assistants.getVersions(found?.assistant_id ?? "")),
  },
  {
    name: "assistants.setLatest of no version",
    same: "value",
    call: ({ assistants }) => refusal(assistants.setLatest("letters", 9)),
  },
];

const storeCalls: readonly Call[] = [
  {
    name: "store: write, read, delete",
    same: "value",
    call: async ({ store }) => {
      const none = await store.getItem(["users", "u-1"], "diet");
      await store.putItem(["users", "u-1"], "diet", { text: "Eats no fish.", rank: 1 });
      const item = await store.getItem(["users", "u-1"], "diet");
      await store.deleteItem(["users", "u-1"], "diet");
      await store.deleteItem(["users", "u-1"], "diet");
      return [none, item, await store.getItem(["users", "u-1"], "diet")];
    },
  },
  {
    name: "store: search and namespaces",
    same: "value",
    call: async ({ store }) => {
      for (const [at, user] of ["u-1", "u-2", "u-3"].entries())
        await store.putItem(["users", user], "rank", { rank: at });
      const found = [
        await store.searchItems(["users"], { limit: 2 }),
        await store.searchItems(["users"], { filter: { rank: { $gte: 1 } }, offset: 1 }),
        await store.searchItems(["none"]),
        await store.listNamespaces(),
        await store.listNamespaces({ prefix: ["users"], maxDepth: 1 }),
        await store.listNamespaces({ suffix: ["u-2"] }),
      ];
      for (const user of ["u-1", "u-2", "u-3"]) await store.deleteItem(["users", user], "rank");
      return found;
    },
  },
  {
    name: "store: refusals",
    same: "value",
    call: async ({ store }) => [
      await refusal(store.putItem([], "k", { text: "x" })),
      await refusal(store.putItem([""], "k", { text: "x" })),
      await refusal(store.searchItems([""])),
      await refusal(store.listNamespaces({ prefix: [] })),
    ],
  },
];

const threadId = "7f1ad44c-0d6a-4a5c-9d4e-2f1a3c5b7e90";

const threadCalls: readonly Call[] = [
  {
    name: "threads.create",
    same: "value",
    differs: ["+ .interrupts", "+ .values"],
    call: ({ threads }) => threads.create(),
  },
  {
    name: "threads.create with an id, once",
    same: "value",
    differs: ["+ [].interrupts", "+ [].values"],
    call: async ({ threads }) => [
      await threads.create({ threadId, metadata: { owner: "ada" }, graphId: "letters" }),
      await refusal(threads.create({ threadId })),
      await threads.create({ threadId, ifExists: "do_nothing" }),
      await threads.get(threadId),
    ],
  },
  {
    name: "threads.get of none",
    same: "value",
    call: async ({ threads }) => [
      await refusal(threads.get("00000000-0000-4000-8000-000000000000")),
      await refusal(threads.getState("00000000-0000-4000-8000-000000000000")),
      await refusal(threads.getHistory("00000000-0000-4000-8000-000000000000")),
      await refusal(threads.update("00000000-0000-4000-8000-000000000000", { metadata: {} })),
      await refusal(threads.delete("00000000-0000-4000-8000-000000000000")),
    ],
  },
  {
    name: "threads.update",
    same: "value",
    differs: ["+ .interrupts", "+ .values"],
    call: async ({ threads }) =>
      threads.update(threadId, { metadata: { tags: ["a"], owner: "bo" } }),
  },
  {
    name: "threads.search",
    same: "value",
    differs: ["+ [][].interrupts", "+ [][].values"],
    call: async ({ threads }) => [
      await threads.search({ metadata: { owner: "bo" } }),
      await threads.search({ metadata: { owner: "ada" } }),
      await threads.search({ metadata: { tags: ["a"] }, status: "idle", select: ["thread_id"] }),
      await threads.search({ ids: [threadId], select: ["metadata", "status"] }),
      await threads.search({ status: "busy" }),
      await threads.count({ metadata: { owner: "bo" } }),
      await threads.count({ status: "error" }),
    ],
  },
  {
    name: "threads.getState and getHistory before a run",
    same: "value",
    call: async ({ threads }) => [
      await threads.getState(threadId),
      await threads.getHistory(threadId),
    ],
  },
  {
    name: "threads.create with a state",
    same: "shape",
    differs: ["+ [].interrupts", "+ [].metadata.assistant_id", "+ [].metadata.definition_hash"],
    call: async ({ threads }) => {
      const values = { input: { message: "Dear all" } };
      const made = await threads.create({
        graphId: "letters",
        supersteps: [{ updates: [{ values, asNode: "__start__" }] }],
      });
      return [await threads.get(made.thread_id), await threads.getState(made.thread_id)];
    },
  },
  {
    name: "threads.copy and delete",
    same: "value",
    call: async ({ threads }) => {
      const copy = await threads.copy(threadId);
      const read = await threads.get(copy.thread_id);
      await threads.delete(copy.thread_id);
      return [read.metadata, read.status, await refusal(threads.get(copy.thread_id))];
    },
  },
];

const letter = { input: { input: { message: "Dear all" } } };
const sum = { input: { input: { message: "What is 6 * 7?" } } };
const unknown = "00000000-0000-4000-8000-000000000000";

/** Runs a turn of `letters` on a new thread, which then waits for a person. */
async function waitingThread({ threads, runs }: Client): Promise<string> {
  const { thread_id: id } = await threads.create();
  await runs.wait(id, "letters", letter);
  return id;
}

const runCalls: readonly Call[] = [
  {
    name: "runs.wait",
    same: "shape",
    call: async ({ threads, runs }) => {
      const { thread_id: id } = await threads.create();
      return [await runs.wait(id, "clerk", sum), await threads.getState(id)];
    },
  },
  {
    name: "runs.wait on a thread that begins with it",
    same: "value",
    call: async ({ runs }) => [
      await refusal(runs.wait(unknown, "clerk", sum)),
      await refusal(runs.wait(unknown, "clerk", { ...sum, ifNotExists: "create" })),
    ],
  },
  {
    name: "runs.wait without a thread",
    same: "shape",
    call: ({ runs }) => runs.wait(null, "clerk", sum),
  },
  {
    name: "runs.wait of an unknown assistant",
    same: "value",
    call: async ({ runs }) => [
      await refusal(runs.wait(null, "nobody", sum)),
      await refusal(runs.wait(null, unknown, sum)),
    ],
  },
  {
    name: "runs.create, join, get, list and delete",
    same: "shape",
    call: async ({ threads, runs }) => {
      const { thread_id: id } = await threads.create();
      const made = await runs.create(id, "clerk", { ...sum, metadata: { order: 1 } });
      const joined = await runs.join(id, made.run_id);
      const read = await runs.get(id, made.run_id);
      const listed = await runs.list(id);
      await runs.delete(id, made.run_id);
      return [made, joined, read, listed, await refusal(runs.get(id, made.run_id))];
    },
  },
  {
    name: "runs.createBatch",
    same: "shape",
    call: ({ runs }) =>
      runs.createBatch([
        { assistantId: "clerk", ...sum },
        { assistantId: "clerk", ...sum },
      ]),
  },
  {
    name: "an interrupt",
    same: "shape",
    call: async (client) => {
      const id = await waitingThread(client);
      const { threads, runs } = client;
      return {
        thread: await threads.get(id),
        state: await threads.getState(id),
        history: await threads.getHistory(id, { limit: 50 }),
        runs: await runs.list(id),
        found: await threads.search({ ids: [id], status: "interrupted" }),
      };
    },
  },
  {
    name: "an answer to an interrupt",
    same: "shape",
    call: async (client) => {
      const id = await waitingThread(client);
      const { threads, runs } = client;
      const values = await runs.wait(id, "letters", {
        command: { resume: { decision: "approve" } },
      });
      return [values, await threads.get(id), await threads.getHistory(id, { limit: 50 })];
    },
  },
  {
    name: "what an answered interrupt leaves",
    same: "value",
    call: async (client) => {
      const id = await waitingThread(client);
      await client.runs.wait(id, "letters", { command: { resume: { decision: "approve" } } });
      const { values, next, tasks } = await client.threads.getState<{ output: unknown }>(id);
      const { status } = await client.threads.get(id);
      return [values.output, next, tasks, status];
    },
  },
  {
    name: "interrupt_before, and a run without an input",
    same: "shape",
    call: async ({ threads, runs }) => {
      const { thread_id: id } = await threads.create();
      await runs.wait(id, "clerk", { ...sum, interruptBefore: ["tools"] });
      const before = await threads.getState(id);
      const after = await runs.wait(id, "clerk", { input: null });
      return [before.next, after, (await threads.getState(id)).next];
    },
  },
  {
    name: "an update of a state",
    same: "shape",
    call: async (client) => {
      const id = await waitingThread(client);
      const values = { input: { message: "Dear both" } };
      const updated = await client.threads.updateState(id, { values, asNode: "write" });
      return [updated, (await client.threads.getState(id)).next];
    },
  },
  {
    name: "a state inside of an agent",
    same: "shape",
    call: async ({ threads, runs }) => {
      const { thread_id: id } = await threads.create();
      await runs.wait(id, "office", letter);
      return threads.getState(id, undefined, { subgraphs: true });
    },
  },
];

/** A stream whose names of events are the same, and whose data has the same shape by name. */
interface StreamCall {
  readonly name: string;
  readonly agent: "clerk" | "letters" | "office";
  readonly payload: NonNullable<Parameters<Client["runs"]["stream"]>[2]>;
  readonly differs?: readonly string[];
}

const modes = ["values", "updates", "messages", "messages-tuple", "events"] as const;
const rareModes = ["debug", "tasks", "checkpoints", "custom"] as const;
const streamCalls: readonly StreamCall[] = [
  ...[...modes, ...rareModes].map((mode): StreamCall => ({
    name: mode,
    agent: "clerk",
    payload: { ...sum, streamMode: mode },
  })),
  {
    name: "values and updates of an interrupt",
    agent: "letters",
    payload: { ...letter, streamMode: ["values", "updates"] },
  },
  {
    name: "updates of what is inside",
    agent: "office",
    payload: { ...letter, streamMode: ["updates"], streamSubgraphs: true },
  },
];

async function streamed(client: Client, { agent, payload }: StreamCall) {
  const { thread_id: id } = await client.threads.create();
  const names: string[] = [];
  const data: Record<string, unknown[]> = {};
  for await (const { event, data: own } of client.runs.stream(id, agent, payload)) {
    const name = withoutIds(event) as string;
    names.push(name);
    data[name] = [...(data[name] ?? []), own];
  }
  return { names, data };
}

describe("LangGraph's protocol, next to langgraph dev", () => {
  const database = useDatabase("pglite");
  let dev: DevServer;
  let server: PlatformServer;
  let clients: { readonly theirs: Client; readonly ours: Client };

  beforeAll(async () => {
    await rm("test/e2e/fixtures/protocol/.langgraph_api", { recursive: true, force: true });
    dev = await startDevServer({}, "test/e2e/fixtures/protocol/langgraph.json");
    server = await createServer({ database: database.shared, development: true, env: {} });
    const { send, listening } = await listenChecked(server);
    for (const name of ["protocol/clerk", "letters", "office"]) {
      const text = readFileSync(`test/e2e/fixtures/${name}.yaml`, "utf8");
      // Agents of tenants are named, not found in files.
      const body: unknown = parse(text.replace("./letters.yaml", "letters"));
      await send("POST", "/v1/agents", { body });
    }
    const clientOf = (apiUrl: string) =>
      new Client({ apiUrl, apiKey: null, callerOptions: { maxRetries: 0 } });
    clients = { theirs: clientOf(dev.url), ours: clientOf(listening.url) };
  });
  afterAll(async () => {
    await server.close(0);
    await dev.stop();
  });

  it.each(
    [...assistantCalls, ...storeCalls, ...threadCalls, ...runCalls].map(
      (call) => [call.name, call] as const,
    ),
  )("%s has the same answer", async (_name, { call, same, differs = [] }) => {
    const theirs = await call(clients.theirs);
    const ours = await call(clients.ours);
    expect(shapeDifferences(theirs, ours)).toEqual(differs);
    const additional = new Set(differs.map((path) => path.replace(/^\+ /, "")));
    const values = same === "value" ? [withoutPaths(ours, additional), theirs] : [];
    expect(withoutIds(values[0])).toEqual(withoutIds(values[1]));
  });

  it.each(streamCalls.map((call) => [call.name, call] as const))(
    "runs.stream of %s has the same events",
    async (_name, call) => {
      const theirs = await streamed(clients.theirs, call);
      const ours = await streamed(clients.ours, call);
      expect(ours.names).toEqual(theirs.names);
      expect(shapeDifferences(theirs.data, ours.data)).toEqual(call.differs ?? []);
    },
  );
});
