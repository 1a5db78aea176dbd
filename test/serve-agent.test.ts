import { InMemoryStore } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { defineAgent, serveAgent } from "../src/index.ts";
import { useDatabase } from "./helpers/databases.ts";

const database = useDatabase("pglite");
const options = { defaultModel: "offline:rules", env: {} };

it("compiles a definition, a path and a URL, and leaves threads to the server without a database", async () => {
  const file = "examples/calculator/agent.yaml";
  for (const agent of [defineAgent({ name: "a" }), file, new URL(`../${file}`, import.meta.url)]) {
    const graph = await serveAgent(agent, options);
    expect(graph.checkpointer).toBeUndefined();
    const store = new InMemoryStore();
    graph.store = store;
    expect(graph.store).toBe(store);
    const { status } = await graph.invoke({ input: { message: "What is 6 * 7?" } });
    expect(status).toBe("COMPLETED");
  }
});

it("keeps the saver of its database when a server assigns another", async () => {
  await database.shared.close();
  const { folder } = database.options;
  const graph = await serveAgent(defineAgent({ name: "a" }), { ...options, folder: folder! });
  const saver = graph.checkpointer;
  graph.checkpointer = undefined as never;
  expect(graph.checkpointer).toBe(saver);
  expect(saver).toHaveProperty("verifyThread");
  // Its tools get the store of the runtime, which a store of the graph would come before.
  graph.store = new InMemoryStore();
  expect(graph.store).toBeUndefined();
});
