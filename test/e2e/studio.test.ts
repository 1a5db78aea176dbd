import { Client, type AssistantGraph } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GraphState } from "../../src/index.ts";
import type { HumanRequest } from "../../src/state/human-request.ts";
import { useDatabase } from "../helpers/databases.ts";
import { startDevServer, type DevServer } from "../helpers/dev-server.ts";
import { openAIServer, type OpenAIServer } from "../helpers/openai-server.ts";

type Values = Pick<GraphState, "status" | "output" | "nodes" | "steps">;

/** Edges as `a -> b` where they are always taken, and `a -> b: label` where they are not. */
function edgesOf({ edges }: AssistantGraph): string[] {
  return edges.map(({ source, target, data, conditional }) => {
    expect(conditional).toBe(data !== undefined);
    return `${source} -> ${target}${data === undefined ? "" : `: ${data}`}`;
  });
}

/** What Studio shows and does with workflow agents, whoever keeps the threads. */
function showsWorkflows(env: () => Record<string, string>) {
  let server: DevServer;
  let models: OpenAIServer;
  let client: Client;
  beforeAll(async () => {
    models = await openAIServer();
    server = await startDevServer(
      { ...env(), OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: models.url },
      "test/e2e/fixtures/langgraph.json",
    );
    client = new Client({ apiUrl: server.url, apiKey: null });
  });
  afterAll(async () => {
    await server.stop();
    await models.close();
  });

  /** Runs a turn of a new thread until it waits for a person. */
  async function untilItWaits(agent: string, input: object) {
    const { thread_id: threadId } = await client.threads.create();
    await client.runs.wait(threadId, agent, { input: { input } });
    const { next, tasks } = await client.threads.getState(threadId);
    const interrupts = tasks.flatMap((task) => task.interrupts);
    const requests = interrupts.map(({ id, value }) => ({ id, ...(value as HumanRequest) }));
    const answer = (resume: unknown) =>
      client.runs.wait(threadId, agent, { command: { resume } }) as Promise<Values>;
    return { threadId, next, requests, answer };
  }

  it("draws a workflow as it was written", async () => {
    const graph = await client.assistants.getGraph("letters");
    expect(edgesOf(graph)).toEqual([
      "__start__ -> initialize",
      "initialize -> plan",
      "plan -> sort",
      "sort -> write",
      'sort -> count-copies: choice == "copies"',
      "write -> sign",
      "count-copies -> sign",
      "sign -> reflect: approved or else",
      'sign -> write: reason.startsWith("again")',
      "reflect -> plan: refused",
      "reflect -> finalize: accepted",
      "finalize -> __end__",
    ]);
    const nodes = graph.nodes.map(({ id, metadata }) => [id, metadata]);
    expect(nodes).toEqual([
      ["__start__", undefined],
      ["initialize", { type: "lifecycle", description: "Checks the input" }],
      ["plan", { type: "lifecycle", description: "Begins an attempt" }],
      ["sort", { type: "router", description: 'Does anyone want "copies" (of it)?' }],
      ["write", { type: "llm", description: "Writes the letter" }],
      ["count-copies", { type: "tool" }],
      ["sign", { type: "human", description: "A person signs the letter" }],
      ["reflect", { type: "lifecycle", description: "Judges the answer" }],
      ["finalize", { type: "lifecycle", description: "Ends the turn" }],
      ["__end__", undefined],
    ]);
  });

  it("draws what is inside of an agent's agents", async () => {
    const plain = await client.assistants.getGraph("office");
    expect(edgesOf(plain)).toContain("post-room -> reflect");
    const edges = edgesOf(await client.assistants.getGraph("office", { xray: true }));
    expect(edges).toContain("plan -> post-room:initialize");
    expect(edges).toContain('post-room:sort -> post-room:count-copies: choice == "copies"');
    expect(edges).toContain("post-room:finalize -> reflect");
    const subgraphs = await client.assistants.getSubgraphs("office");
    expect(Object.keys(subgraphs)).toEqual(["post-room"]);
  });

  it("shows the schemas of a definition, and what a run may have otherwise", async () => {
    const schemas = await client.assistants.getSchemas("letters");
    expect(schemas.input_schema?.properties).toMatchObject({
      input: {
        type: "object",
        properties: { message: { type: "string" }, copies: { type: "integer", minimum: 0 } },
        required: ["message"],
      },
      messages: { langgraph_type: "messages" },
    });
    expect(schemas.output_schema?.properties).toMatchObject({
      output: { properties: { letter: { type: "string" }, sent: { type: "boolean" } } },
    });
    expect(schemas.context_schema?.properties).toMatchObject({
      model: { type: "string" },
      temperature: { type: "number", minimum: 0, maximum: 2 },
    });
  });

  it("runs with another model and temperature", async () => {
    models.answer({ text: "Dear all, yes." });
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "letters", {
      input: { input: { message: "Write to all" } },
      context: { model: "openai:gpt-test", temperature: 1.5 },
    });
    expect(models.requests.at(-1)?.body).toMatchObject({ model: "gpt-test", temperature: 1.5 });
    const { values } = await client.threads.getState<Values>(thread_id);
    expect(values.steps).toMatchObject([{ node: "write", model: "openai:gpt-test" }]);
  });

  it("keeps the definition's model when only the temperature is another", async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "letters", {
      input: { input: { message: "Write to all" } },
      context: { temperature: 0.1 },
    });
    const { values } = await client.threads.getState<Values>(thread_id);
    expect(values.steps).toMatchObject([{ node: "write", model: "offline:rules" }]);
  });

  it("shows what a person is asked, and goes on with the answer", async () => {
    const waiting = await untilItWaits("letters", { message: "Dear all", copies: 2 });
    expect(waiting.next).toEqual(["sign"]);
    expect(waiting.requests).toMatchObject([
      { kind: "approval", node: "sign", within: [], prompt: "Send it?", proposed: "Dear all" },
    ]);
    const { status, output, nodes } = await waiting.answer({ decision: "approve" });
    expect({ status, output }).toEqual({
      status: "COMPLETED",
      output: { letter: "Dear all", sent: true },
    });
    expect(nodes["count-copies"]).toMatchObject({ result: { result: 4 } });
  });

  it("refuses an answer that does not fit, and waits on", async () => {
    const waiting = await untilItWaits("letters", { message: "Dear all" });
    await expect(waiting.answer({ decision: "perhaps" })).rejects.toThrow("InvalidAnswerError");
    const { next } = await client.threads.getState(waiting.threadId);
    expect(next).toEqual(["sign"]);
    expect(await waiting.answer(false)).toMatchObject({ output: { sent: false } });
  });

  it("goes round again when the person asks for it", async () => {
    const waiting = await untilItWaits("letters", { message: "Dear all" });
    await waiting.answer({ decision: "reject", reason: "again, please" });
    const { next, values } = await client.threads.getState<Values>(waiting.threadId);
    expect(next).toEqual(["sign"]);
    expect(values.steps.map(({ node }) => node)).toEqual(["write", "write"]);
    expect(await waiting.answer("approve")).toMatchObject({ output: { sent: true } });
  });

  it("goes on from an edit of any state, whichever node it is attributed to", async () => {
    const waiting = await untilItWaits("letters", { message: "Dear all" });
    await waiting.answer("approve");
    const history = (await client.threads.getHistory(waiting.threadId, { limit: 50 })).toReversed();
    const nexts: string[] = [];
    for (const [index, { checkpoint, next, metadata }] of history.entries()) {
      if (Number(metadata?.["step"]) < 1) continue;
      nexts.push(next.join());
      for (const asNode of [undefined, history[index - 1]?.next[0]]) {
        const { threadId } = waiting;
        await client.threads.updateState(threadId, {
          values: { nodes: { note: { text: "edited" } } },
          checkpoint,
          ...(asNode !== undefined && { asNode }),
        });
        expect((await client.threads.getState(threadId)).next).toEqual(next);
      }
    }
    expect(nexts).toEqual(["plan", "sort", "write", "sign", "reflect", "finalize", ""]);
  });

  it("runs on from an edit, and asks again where a person was waited for", async () => {
    const { threadId, answer } = await untilItWaits("letters", { message: "Dear all" });
    const values = { input: { message: "Dear both" } };
    await client.threads.updateState(threadId, { values, asNode: "write" });
    expect((await client.threads.getState(threadId)).next).toEqual(["sign"]);
    await client.runs.wait(threadId, "letters", { input: null });
    const { tasks } = await client.threads.getState(threadId);
    expect(tasks[0]?.interrupts[0]?.value).toMatchObject({ proposed: "Dear both" });
    expect(await answer("approve")).toMatchObject({
      status: "COMPLETED",
      output: { letter: "Dear both", sent: true },
    });
  });

  it("asks and is answered from inside of an agent", async () => {
    const waiting = await untilItWaits("office", { message: "Dear all" });
    expect(waiting.next).toEqual(["post-room"]);
    expect(waiting.requests).toMatchObject([{ node: "sign", within: ["post-room"] }]);
    const [request] = waiting.requests;
    const values = await waiting.answer({ [request?.id ?? ""]: { decision: "approve" } });
    expect(values).toMatchObject({ status: "COMPLETED", output: { message: "Dear all" } });
  });
}

describe("Studio on langgraph dev", () => {
  showsWorkflows(() => ({}));
});

const database = useDatabase("postgres");

describe.skipIf(!database.available)("Studio on langgraph dev with a database", () => {
  showsWorkflows(() => ({ DATABASE_URL: database.options.url ?? "" }));
});
