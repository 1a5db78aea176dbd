import { readFileSync } from "node:fs";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRuntime, executeAgent, loadAgent } from "../../src/index.ts";
import { useDatabase } from "../helpers/databases.ts";
import { startDevServer, type DevServer } from "../helpers/dev-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { servesExperiments } from "./experiment-dev.ts";

interface Values {
  status?: string;
  output?: { message?: string } | null;
  messages?: { type: string; content: string }[];
  steps?: { next_action: string }[];
  turn_number?: number;
}

const config = JSON.parse(
  readFileSync(new URL("../../langgraph.json", import.meta.url), "utf8"),
) as { graphs: Record<string, string> };
const question = { input: { message: "What is 6 * 7?" } };

/** What holds whoever keeps the threads. */
function servesAgents(server: () => DevServer) {
  const client = () => new Client({ apiUrl: server().url, apiKey: null });

  it("lists an assistant for each graph", async () => {
    const assistants = await client().assistants.search({ limit: 100 });
    expect(assistants.map((a) => a.graph_id).toSorted()).toEqual(
      Object.keys(config.graphs).toSorted(),
    );
  });

  it("shows schemas from the definition", async () => {
    const schemas = await client().assistants.getSchemas("calculator");
    expect(schemas.input_schema?.properties).toMatchObject({
      input: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
      messages: { type: "array", langgraph_type: "messages" },
    });
    expect(schemas.output_schema?.properties).toMatchObject({
      output: { properties: { message: { type: "string" } } },
      status: { enum: expect.arrayContaining(["COMPLETED", "FAILED"]) },
    });
    expect(Object.keys(schemas.state_schema?.properties ?? {})).toEqual(
      expect.arrayContaining(["execution", "attempt", "steps", "usage", "messages"]),
    );
    expect(Object.keys(schemas.context_schema?.properties ?? {})).toEqual([
      "model",
      "temperature",
      "user",
    ]);
  });

  it("draws the lifecycle", async () => {
    const graph = await client().assistants.getGraph("calculator");
    expect(graph.nodes.map((node) => String(node.id))).toEqual([
      "__start__",
      "initialize",
      "plan",
      "reason",
      "tools",
      "reflect",
      "finalize",
      "__end__",
    ]);
    expect(graph.edges).toContainEqual({
      source: "reason",
      target: "tools",
      data: "uses tools",
      conditional: true,
    });
  });

  it("streams a run with its events", async () => {
    const thread = await client().threads.create();
    const events: string[] = [];
    let last: Values = {};
    for await (const part of client().runs.stream(thread.thread_id, "calculator", {
      input: question,
      streamMode: ["values", "custom"],
    })) {
      if (part.event === "values") last = part.data as Values;
      if (part.event === "custom") events.push((part.data as { type: string }).type);
    }
    expect(last).toMatchObject({ status: "COMPLETED" });
    expect(last.output?.message).toContain("42");
    expect(events).toEqual(expect.arrayContaining(["tool_call", "tool_result", "step", "done"]));
  });

  it("draws a planner with the graphs of its workers", async () => {
    const graph = await client().assistants.getGraph("planner", { xray: true });
    const ids = graph.nodes.map((node) => String(node.id));
    expect(ids).toEqual(
      expect.arrayContaining([
        "report:decompose",
        "report:execute",
        "report:execute:archivist:reason",
        "report:execute:counter:tools",
        "report:execute:reporter:compare",
        "report:synthesise",
        "report:judge",
      ]),
    );
    expect(graph.edges).toContainEqual({
      source: "report:judge",
      target: "report:decompose",
      data: "gaps",
      conditional: true,
    });
  });

  it("streams a plan, its subtasks, and the nodes of workers as subgraphs", async () => {
    const { thread_id } = await client().threads.create();
    const message = readFileSync("examples/folder-report/task.txt", "utf8");
    const done: string[] = [];
    const graphs = new Set<string>();
    let levels: unknown;
    let last: Values = {};
    for await (const { event, data } of client().runs.stream(thread_id, "planner", {
      input: { input: { message } },
      streamMode: ["values", "updates", "custom"],
      streamSubgraphs: true,
    })) {
      const [mode, ...namespace] = event.split("|");
      if (mode === "updates") {
        graphs.add(namespace.map((part) => part.replace(/:[^:]*$/, "")).join("/"));
      }
      if (event === "values") last = data as Values;
      if (mode !== "custom") continue;
      const told = data as { type: string; id: string; levels: unknown };
      if (told.type === "plan") levels = told.levels;
      if (told.type === "subtask_end") done.push(told.id);
    }
    expect(levels).toEqual([
      ["list-files", "count-eels-2024", "count-eels-2025", "search-notes"],
      ["compare-seasons"],
    ]);
    expect(done.toSorted()).toEqual([
      "compare-seasons",
      "count-eels-2024",
      "count-eels-2025",
      "list-files",
      "search-notes",
    ]);
    expect([...graphs].toSorted()).toEqual([
      "",
      "report",
      "report/execute/compare-seasons",
      "report/execute/count-eels-2024",
      "report/execute/count-eels-2025",
      "report/execute/list-files",
      "report/execute/search-notes",
    ]);
    expect(last).toMatchObject({ status: "COMPLETED" });
    expect(last.output?.message).toContain("89 eels more");
  });

  it("reads history and forks from a checkpoint", async () => {
    const { threads, runs } = client();
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "calculator", { input: question });
    const messages = [{ role: "user", content: "What is 10 - 4?" }];
    const second = (await runs.wait(thread_id, "calculator", { input: { messages } })) as Values;
    expect(second.turn_number).toBe(1);

    const history = await threads.getHistory<Values>(thread_id, { limit: 50 });
    const firstTurn = history.find(
      ({ values }) => values.status === "COMPLETED" && values.turn_number === 0,
    );
    expect(firstTurn?.values.output?.message).toContain("42");
    const forked = (await runs.wait(thread_id, "calculator", {
      input: { input: { message: "What is 100 / 4?" } },
      checkpointId: firstTurn?.checkpoint.checkpoint_id ?? "",
    })) as Values;
    expect(forked.turn_number).toBe(1);
    expect(forked.output?.message).toContain("25");
    const state = await threads.getState<Values>(thread_id);
    expect(state.values.output).toEqual(forked.output);
  });

  it("refuses the thread of another agent, unless the run accepts it", async () => {
    const { threads, runs } = client();
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "calculator", { input: question });
    const before = await threads.getState<Values>(thread_id);
    const input = { input: { message: "Chairs" } };
    await expect(runs.wait(thread_id, "approval-flow", { input })).rejects.toThrow(
      "ForeignThreadError",
    );
    expect((await threads.getState<Values>(thread_id)).checkpoint).toEqual(before.checkpoint);
    const accepting = { configurable: { accept_agent: true } };
    await runs.wait(thread_id, "approval-flow", { input, config: accepting });
    const { values } = await threads.getState<Values>(thread_id);
    expect(values).toMatchObject({ status: "AWAITING_HUMAN", turn_number: 1 });
  });

  it("refuses a wrong input and leaves the thread empty", async () => {
    const { threads, runs } = client();
    const { thread_id } = await threads.create();
    await expect(
      runs.wait(thread_id, "calculator", { input: { input: { mesage: "hi" } } }),
    ).rejects.toThrow("InvalidInputError");
    expect((await threads.getState<Values>(thread_id)).values).toEqual({});
  });
}

describe("langgraph dev", () => {
  const logFolder = tempFolder();
  let server: DevServer;
  beforeAll(async () => {
    server = await startDevServer({ DATABASE_URL: "", STRATAGRAPH_LOGS: logFolder });
  });
  afterAll(() => server.stop());

  servesAgents(() => server);
  servesExperiments(() => server, logFolder);
});

const database = useDatabase("postgres");

describe.skipIf(!database.available)("langgraph dev with a database", () => {
  let server: DevServer;
  const env = () => ({ DATABASE_URL: database.options.url ?? "" });
  beforeAll(async () => {
    server = await startDevServer(env());
  });
  afterAll(() => server.stop());

  servesAgents(() => server);

  // The last: the server of all these tests is gone after it.
  it("keeps threads in our checkpointer when the server is killed", async () => {
    const { threads, runs } = new Client({ apiUrl: server.url, apiKey: null });
    const { thread_id: threadId } = await threads.create();
    await runs.wait(threadId, "calculator", { input: question });
    await server.stop("SIGKILL");

    const runtime = await createRuntime({
      databaseUrl: env().DATABASE_URL,
      defaultModel: "offline:rules",
      env: {},
    });
    const agent = await loadAgent("examples/calculator/agent.yaml");
    const next = await executeAgent(
      agent,
      { message: "What is 1 + 1?" },
      {
        runtime,
        threadId,
      },
    );
    expect(next.steps[0]?.turn_number).toBe(1);
    await runtime.close();
  });
});
