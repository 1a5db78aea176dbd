import { expect, it } from "vitest";
import { createRuntime, defineAgent, executeAgent } from "../../../src/index.ts";
import { httpServer } from "../../helpers/http-server.ts";
import { ScriptedModel } from "../../helpers/scripted-model.ts";

it("http_get asks the hosts that STRATAGRAPH_HTTP_ALLOW names, and no others", async () => {
  const host = await httpServer((_request, response) => response.end("hello"));
  const get = (url: string) => ({ calls: [{ name: "http_get", args: { url } }] });
  const runtime = await createRuntime({
    models: new ScriptedModel([get(`http://${host}/`), get("http://other.example/"), "ok"]),
    checkpointer: false,
    env: { STRATAGRAPH_HTTP_ALLOW: `api.example.org, ${host}` },
  });
  const agent = defineAgent({ name: "a", tools: ["http_get"], permissions: ["network:http"] });
  const { steps } = await executeAgent(agent, { message: "?" }, { runtime });
  await runtime.close();
  expect(steps.flatMap((step) => step.tool_results)).toMatchObject([
    { outcome: "success", result: { status: 200, body: "hello" } },
    { outcome: "failure" },
  ]);
});
