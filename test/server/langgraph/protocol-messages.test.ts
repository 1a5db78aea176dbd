import { Client } from "@langchain/langgraph-sdk";
import { expect, it } from "vitest";
import { createServer } from "../../../src/create-server.ts";
import { listenChecked } from "../../helpers/api-server.ts";
import { useDatabase } from "../../helpers/databases.ts";

const database = useDatabase("pglite");

it("streams the messages of a model that has callbacks", async () => {
  const server = await createServer({ database: database.shared, development: true, env: {} });
  const { send, listening } = await listenChecked(server);
  const body = {
    name: "clerk",
    llm_config: { default_model: "offline:rules" },
    tools: ["calculator"],
  };
  await send("POST", "/v1/agents", { body });
  const client = new Client({ apiUrl: listening.url, apiKey: null });
  const thread = client.threads.stream({ assistantId: "clerk" });
  const events = await thread.subscribe({ channels: ["lifecycle", "messages"] });
  await thread.run.start({ input: { input: { message: "What is 6 * 7?" } } });
  const kinds = new Set<string>();
  for await (const { params } of events) kinds.add((params.data as { event: string }).event);
  expect([...kinds]).toEqual(
    expect.arrayContaining(["running", "message-start", "message-finish", "completed"]),
  );
  await thread.close();
  await server.close(0);
});
