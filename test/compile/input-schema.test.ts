import { expect, it } from "vitest";
import { compileAgent, createRuntime, defineAgent } from "../../src/index.ts";

it("requires no input of clients, which may give messages instead", async () => {
  const runtime = await createRuntime({ checkpointer: false });
  const graph = await compileAgent(defineAgent({ name: "chat" }), runtime);
  // What `langgraph dev` reads; the package does not export it.
  // What `langgraph dev` reads; the package does not export it.
  const parser = new URL(
    "../graph/parser/index.mjs",
    import.meta.resolve("@langchain/langgraph-api"),
  );
  const { getRuntimeGraphSchema } = (await import(parser.href)) as {
    getRuntimeGraphSchema(this: void, of: unknown): Promise<{ input: Record<string, unknown> }>;
  };
  const { input } = await getRuntimeGraphSchema(graph);
  expect(input).toMatchObject({
    properties: {
      input: { type: "object", required: ["message"] },
      messages: { type: "array", langgraph_type: "messages" },
    },
  });
  expect(input["required"] ?? []).toEqual([]);
});
