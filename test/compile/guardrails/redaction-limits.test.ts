import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, defineRail, defineTool, executeAgent } from "../../../src/index.ts";
import { testRuntime } from "../../helpers/run-agent.ts";

const address = "ada.lovelace@example.org";
const input_rails = [{ type: "pii" as const }];
const guardrail_config = { input_rails };
const readsResults = {
  input_rails: [{ type: "pii" as const, config: { tool_results: true } }],
};
const find = (result: unknown) =>
  defineTool({
    name: "find",
    description: "Finds.",
    input_schema: z.object({}),
    handler: () => result,
  });
const findCall = { calls: [{ name: "find", args: {} }] };

describe("redactions of a thread", () => {
  it("take personal data out of names of properties, and tell of it without it", async () => {
    const tools = [find({ [address]: { age: 3, mail: address } })];
    const agent = defineAgent({ name: "a", tools, guardrail_config: readsResults });
    const { runtime, model } = await testRuntime([findCall, "done"]);
    const { rails, steps } = await executeAgent(agent, { message: "x" }, { runtime });
    expect(JSON.stringify(model.requests)).not.toContain(address);
    expect(steps[0]?.tool_results[0]?.result).toEqual({
      "<EMAIL_1>": { age: 3, mail: "<EMAIL_1>" },
    });
    const [record] = rails.filter(({ on }) => on === "tool_result");
    expect(record?.spans.map(({ path }) => path)).toEqual([
      "/result/<EMAIL>#",
      "/result/<EMAIL>/mail",
    ]);
  });

  it("keep properties apart whose names are spellings of one value", async () => {
    const tools = [find({ "ada@example.org": 1, "Ada@example.org": 2 })];
    const agent = defineAgent({ name: "a", tools, guardrail_config });
    const { runtime } = await testRuntime([findCall, "done"]);
    const { steps } = await executeAgent(agent, { message: "I am ada@example.org" }, { runtime });
    expect(steps[0]?.tool_results[0]?.result).toEqual({ "<EMAIL_1>": 1, "<EMAIL_1> (2)": 2 });
  });

  it("give no value the number of a mark that was typed in an earlier turn", async () => {
    const got: string[] = [];
    const mail = defineTool({
      name: "mail",
      description: "Mails.",
      input_schema: z.object({ text: z.string() }),
      handler: ({ text }) => void got.push(text),
    });
    const agent = defineAgent({ name: "a", tools: [mail], guardrail_config });
    const { runtime } = await testRuntime([
      "noted",
      { calls: [{ name: "mail", args: { text: "<EMAIL_1> template for <EMAIL_2>" } }] },
      "done",
    ]);
    const thread = { runtime, threadId: "t" };
    await executeAgent(agent, { message: "My template starts with <EMAIL_1>" }, thread);
    await executeAgent(agent, { message: `I am ${address}. Send it.` }, thread);
    expect(got).toEqual([`<EMAIL_1> template for ${address}`]);
  });

  it("give no value the number of a mark that a tool wrote which no rail looks at", async () => {
    const agent = defineAgent({ name: "a", tools: [find("use <EMAIL_1>")], guardrail_config });
    const { runtime, model } = await testRuntime([findCall, "done", "done"]);
    const thread = { runtime, threadId: "t" };
    await executeAgent(agent, { message: "x" }, thread);
    await executeAgent(agent, { message: `I am ${address}` }, thread);
    expect(model.read(2).join("\n")).toContain("I am <EMAIL_2>");
  });

  it("give a tool a number back as a number", async () => {
    const got: unknown[] = [];
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input_schema: z.object({ card: z.number(), note: z.string() }),
      handler: (args) => void got.push(args),
    });
    const agent = defineAgent({
      name: "a",
      tools: [pay],
      input_schema: z.object({ card: z.number() }),
      guardrail_config,
    });
    const args = { card: "<CARD_1>", note: "by <CARD_1>" };
    const { runtime } = await testRuntime([{ calls: [{ name: "pay", args }] }, "done"]);
    await executeAgent(agent, { card: 4_111_111_111_111_111 }, { runtime });
    expect(got).toEqual([{ card: 4_111_111_111_111_111, note: "by 4111111111111111" }]);
  });

  it("hide what a branch redacted in other spellings too", async () => {
    const say = (name: string, result: string) =>
      defineTool({
        name,
        description: "Says.",
        input_schema: z.object({}),
        handler: () => result,
      });
    const branch = (name: string) => ({ name, type: "tool" as const, config: { tool: name } });
    const agent = defineAgent({
      name: "beside",
      tools: [
        say("left", "ada@example.org"),
        say("right", "none"),
        say("later", "ADA@example.org"),
      ],
      guardrail_config: readsResults,
      workflow_graph: {
        entry_point: "start",
        nodes: [
          { name: "start", type: "router", config: { rules: [{ when: "true", choice: "go" }] } },
          ...["left", "right", "later"].map(branch),
        ],
        edges: [
          { from: "start", to: ["left", "right"] },
          { from: "left", to: "later" },
          { from: "right", to: "later" },
          { from: "later", to: "END" },
        ],
        output: { message: "done" },
      },
    });
    const { runtime } = await testRuntime([]);
    const { steps } = await executeAgent(agent, { message: "?" }, { runtime });
    const results = steps.flatMap((step) => step.tool_results.map(({ result }) => result));
    expect(results).toEqual(["<EMAIL_B1_1>", "none", "<EMAIL_B1_1>"]);
  });

  it("keep secrets and known values out of the reasons that a rail gives", async () => {
    const rail = defineRail({
      name: "told",
      on: ["tool_result"],
      check: async (_, context) => ({
        verdict: "flag",
        reasons: [
          `the service said: bad key ${await context.resolveSecrets("{{secret:KEY}}")}`,
          address,
        ],
      }),
    });
    const agent = defineAgent({
      name: "a",
      tools: [find("x")],
      rails: [rail],
      guardrail_config: { input_rails: [...input_rails, { type: "custom", name: "told" }] },
    });
    const env = { KEY: "sk-abcdefgh123" };
    const { runtime } = await testRuntime([findCall, "done"], { env });
    const { rails } = await executeAgent(agent, { message: `I am ${address}` }, { runtime });
    const [record] = rails.filter((one) => one.rail === "told");
    expect(record?.reasons).toEqual(["the service said: bad key {{secret:KEY}}", "<EMAIL_1>"]);
  });
});
