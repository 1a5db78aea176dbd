import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  defineAgent,
  defineTool,
  executeAgent,
  type Runtime,
  type ServerReference,
} from "../../src/index.ts";
import { ScriptedModel, type ScriptedReply } from "../helpers/scripted-model.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const require = createRequire(import.meta.url);
const open: Runtime[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((runtime) => runtime.close()));
});

async function runtimeWith(script: readonly ScriptedReply[] = []) {
  const model = new ScriptedModel(script);
  const runtime = await createRuntime({ models: model, checkpointer: false, env: {} });
  open.push(runtime);
  return { runtime, model };
}

function published(name: string, args: readonly string[] = [], more: object = {}): ServerReference {
  const folder = dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`));
  const command = process.execPath;
  const transport = "stdio" as const;
  return {
    mcp: { name, transport, command, args: [join(folder, "dist/index.js"), ...args], ...more },
  };
}

function misbehaving(name: string, behaviour: string, more: object = {}): ServerReference {
  const script = fileURLToPath(new URL("../tools/mcp/servers/misbehaving.mjs", import.meta.url));
  const command = process.execPath;
  const transport = "stdio" as const;
  return { mcp: { name, transport, command, args: [script, behaviour, "/dev/null"], ...more } };
}

const call = (name: string, args: object = {}): ScriptedReply => ({ calls: [{ name, args }] });
const ask = { message: "go" };

describe("an agent with MCP servers", () => {
  it("is offered their tools, and calls them", async () => {
    const { runtime, model } = await runtimeWith([
      call("echo", { message: "hello" }),
      call("get-sum", { a: 2, b: 3 }),
      "Done.",
    ]);
    const agent = defineAgent({ name: "a", tools: [published("server-everything", ["stdio"])] });
    const { steps, status } = await executeAgent(agent, ask, { runtime });
    expect(status).toBe("COMPLETED");
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toContain("echo");
    const results = steps.flatMap((step) => step.tool_results);
    expect(results).toMatchObject([
      { outcome: "success", result: "Echo: hello" },
      { outcome: "success", result: expect.stringContaining("5") },
    ]);
  });

  it("reads what a server refuses as a failure, and goes on", async () => {
    const folder = tempFolder();
    const { runtime } = await runtimeWith([
      call("read_text_file", { path: "/etc/passwd" }),
      "It is outside.",
    ]);
    const agent = defineAgent({ name: "a", tools: [published("server-filesystem", [folder])] });
    const { steps, status } = await executeAgent(agent, ask, { runtime });
    expect(status).toBe("COMPLETED");
    expect(steps[0]?.tool_results[0]).toMatchObject({
      outcome: "failure",
      error: expect.stringContaining("Access denied"),
    });
  });

  it("goes on when a server dies in a call, and the next call finds it started again", async () => {
    const { runtime } = await runtimeWith([
      call("do", { die: true }),
      call("do", {}),
      "Alive again.",
    ]);
    const agent = defineAgent({ name: "a", tools: [misbehaving("frail", "dies in a call")] });
    const { steps } = await executeAgent(agent, ask, { runtime });
    expect(steps.flatMap((step) => step.tool_results)).toMatchObject([
      { outcome: "error", error: expect.stringContaining('"frail"') },
      { outcome: "success", result: "alive" },
    ]);
    expect(runtime.servers?.status()).toMatchObject([{ name: "frail", restarts: 1 }]);
  });

  it("names the servers where two list one name", async () => {
    const { runtime } = await runtimeWith();
    const agent = defineAgent({
      name: "a",
      tools: [misbehaving("one", "dies in a call"), misbehaving("two", "dies in a call")],
    });
    await expect(executeAgent(agent, ask, { runtime })).rejects.toMatchObject({
      code: "tool_clash",
      message: expect.stringMatching(/"one" and "two" both list a tool "do"/),
    });
    const apart = defineAgent({
      name: "a",
      tools: [
        misbehaving("one", "dies in a call"),
        misbehaving("two", "dies in a call", { prefix: "two_" }),
      ],
    });
    const again = await runtimeWith(["ok"]);
    const { status } = await executeAgent(apart, ask, { runtime: again.runtime });
    expect(status).toBe("COMPLETED");
    expect(again.model.requests[0]?.tools?.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["do", "two_do"]),
    );
  });

  it("is refused where its rails name tools that no server has", async () => {
    const { runtime } = await runtimeWith();
    const agent = defineAgent({
      name: "a",
      tools: [misbehaving("frail", "dies in a call")],
      guardrail_config: { tool_rails: { allowed_tools: ["dos"] } },
    });
    await expect(executeAgent(agent, ask, { runtime })).rejects.toMatchObject({
      code: "invalid_definition",
      message: expect.stringMatching(/allowed_tools\[0\].*"dos".*did you mean "do"/),
    });
  });

  it("is refused with the server's name when one does not start", async () => {
    const { runtime } = await runtimeWith();
    const agent = defineAgent({ name: "a", tools: [misbehaving("gone", "exits at once")] });
    await expect(executeAgent(agent, ask, { runtime })).rejects.toMatchObject({
      code: "server_start",
      server: "gone",
    });
  });

  it("chooses among thousands of tools for each step, and says how", async () => {
    const { runtime, model } = await runtimeWith([call("find_7", {}), "Found."]);
    const many = Array.from({ length: 60 }, (_, at) =>
      defineTool({
        name: `find_${at}`,
        description:
          at === 7 ? "Finds flights between airports." : `Counts the beans of jar ${at}.`,
        input_schema: z.object({}),
        handler: () => at,
      }),
    );
    const agent = defineAgent({ name: "a", tools: many, tool_selection: { top_k: 5 } });
    const { steps } = await executeAgent(
      agent,
      { message: "Which flights go from this airport?" },
      { runtime },
    );
    const offered = model.requests.map(({ tools = [] }) => tools.map(({ name }) => name));
    expect(offered[0]).toContain("find_7");
    expect(offered[0]?.filter((name) => name.startsWith("find_"))).toHaveLength(5);
    expect(offered[1]).toContain("find_7");
    expect(steps[0]?.tool_selection).toMatchObject({
      considered: 60,
      selected: [{ name: "find_7", success: 0.5, recency: 0 }, {}, {}, {}, {}],
    });
    const [best] = steps[0]?.tool_selection?.selected ?? [];
    expect(best?.score).toBeCloseTo(
      0.5 * (best?.semantic ?? 0) + 0.2 * (best?.keyword ?? 0) + 0.2 * 0.5,
      2,
    );
  });

  it("runs the handlers of sandboxed tools away from the process", async () => {
    const { runtime } = await runtimeWith([
      call("sum", { numbers: [1, 2, 3] }),
      call("leak"),
      "ok",
    ]);
    const sum = defineTool({
      name: "sum",
      description: "Adds.",
      input_schema: z.object({ numbers: z.array(z.number()) }),
      execution: { sandbox: true },
      handler: ({ numbers }) => numbers.reduce((total, one) => total + one, 0),
    });
    const leak = defineTool({
      name: "leak",
      description: "Looks around.",
      input_schema: z.object({}),
      execution: { sandbox: true },
      handler: () => process.env,
    });
    const agent = defineAgent({ name: "a", tools: [sum, leak] });
    const { steps } = await executeAgent(agent, ask, { runtime });
    expect(steps.flatMap((step) => step.tool_results)).toMatchObject([
      { outcome: "success", result: 6 },
      { outcome: "error", error: expect.stringContaining("process") },
    ]);
  });

  it("takes a tool of the community package by its name", async () => {
    const { runtime } = await runtimeWith([call("calculator", { input: "2 + 3" }), "5"]);
    const agent = defineAgent({ name: "a", tools: [{ community: { tool: "calculator" } }] });
    const { steps } = await executeAgent(agent, ask, { runtime });
    expect(steps[0]?.tool_results[0]).toMatchObject({ outcome: "success", result: "5" });
  });
});
