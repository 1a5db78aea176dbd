import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { defineAgent, defineRail, executeAgent } from "../../../src/index.ts";
import { createRuntime } from "../../../src/app.ts";
import { newDatabaseFolder } from "../../helpers/pglite-template.ts";
import { ScriptedModel } from "../../helpers/scripted-model.ts";

it("reads what a model read without the servers and rails of code that its agent had", async () => {
  const script = fileURLToPath(new URL("../../tools/mcp/servers/misbehaving.mjs", import.meta.url));
  const agent = defineAgent({
    name: "served",
    tools: [
      {
        mcp: {
          name: "frail",
          transport: "stdio",
          command: process.execPath,
          args: [script, "dies in a call", "/dev/null"],
        },
      },
    ],
    rails: [defineRail({ name: "quiet", on: ["input"], check: () => undefined })],
    guardrail_config: { input_rails: [{ type: "custom", name: "quiet" }] },
  });
  const model = new ScriptedModel(["Hello."]);
  const folder = await newDatabaseFolder();
  const runtime = await createRuntime({ models: model, folder, env: {} });
  try {
    await executeAgent(agent, { message: "hi" }, { runtime, threadId: "t" });
    await runtime.servers?.close();
    const context = await runtime.threads.context({ threadId: "t", step: 0 });
    expect(context.messages.map((message) => message.text)).toEqual(["hi"]);
    expect(context.tools.map(({ name }) => name)).toContain("do");
    expect(runtime.servers?.status().every(({ state }) => state !== "connected")).toBe(true);
  } finally {
    await runtime.close();
  }
});
