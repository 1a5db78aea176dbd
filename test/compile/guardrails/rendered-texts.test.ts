import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, defineTool, defineWorker, executeAgent } from "../../../src/index.ts";
import { testRuntime } from "../../helpers/run-agent.ts";

const address = "ada.lovelace@example.org";
const guardrail_config = { input_rails: [{ type: "pii" as const }] };
const input = { message: `I am ${address}` };
const reads = (requests: readonly unknown[]) => JSON.stringify(requests);

function mailTool() {
  const given: unknown[] = [];
  const mail = defineTool({
    name: "mail",
    description: "Sends a mail.",
    input_schema: z.object({ to: z.email(), text: z.string() }),
    handler: (args) => void given.push(args),
  });
  const agent = defineAgent({
    name: "writer",
    tools: [mail],
    guardrail_config: { ...guardrail_config, tool_rails: { require_approval: ["mail"] } },
  });
  return { agent, given };
}

const proposed = { calls: [{ name: "mail", args: { to: "<EMAIL_1>", text: "a" } }] };

describe("models are told no redacted value by", () => {
  it("a validator that repeats it", async () => {
    const agent = defineAgent({
      name: "checked",
      output_schema: z.object({ mail: z.string() }),
      validate: ({ mail }) => [`${mail} is no customer`],
      guardrail_config,
    });
    const { runtime, model } = await testRuntime(Array(3).fill('{"mail":"<EMAIL_1>"}') as string[]);
    await executeAgent(agent, input, { runtime });
    expect(model.requests).toHaveLength(3);
    expect(reads(model.requests)).toContain("<EMAIL_1> is no customer");
    expect(reads(model.requests)).not.toContain(address);
  });

  it("a schema that repeats it", async () => {
    const error = ({ input: value }: { input?: unknown }) => `no customer ${String(value)}`;
    const agent = defineAgent({
      name: "checked",
      output_schema: z.object({ mail: z.string().refine(() => false, { error }) }),
      guardrail_config,
    });
    const { runtime, model } = await testRuntime(Array(3).fill('{"mail":"<EMAIL_1>"}') as string[]);
    await executeAgent(agent, input, { runtime });
    expect(reads(model.requests)).toContain("no customer <EMAIL_1>");
    expect(reads(model.requests)).not.toContain(address);
  });

  it("code workers, in what they throw and in results that are no JSON", async () => {
    const worker = (name: string, run: (text: string) => unknown) =>
      defineWorker({ name, description: "Works.", run: ({ description }) => run(description) });
    const failing = worker("failing", (text) => {
      throw new Error(`cannot reach: ${text}`);
    });
    const mapping = worker("mapping", (text) => new Map([["about", text]]));
    const agent = defineAgent({
      name: "planning",
      workers: [failing, mapping],
      guardrail_config,
      workflow_graph: {
        entry_point: "do",
        nodes: [{ name: "do", type: "planner", config: { workers: ["failing", "mapping"] } }],
        edges: [{ from: "do", to: "END" }],
      },
    });
    const subtasks = ["failing", "mapping"].map((name) => {
      return { id: name, description: "Note <EMAIL_1>", worker: name };
    });
    const script = [JSON.stringify({ subtasks }), ...(Array(30).fill("sorry") as string[])];
    const { runtime, model } = await testRuntime(script);
    await executeAgent(agent, input, { runtime });
    expect(reads(model.requests)).toContain("cannot reach: Note <EMAIL_1>");
    expect(reads(model.requests)).not.toContain(address);
  });

  it("rules on arguments that cannot be evaluated", async () => {
    const probe = defineTool({
      name: "probe",
      description: "Probes.",
      input_schema: z.object({ to: z.string() }),
      handler: () => "ok",
    });
    const agent = defineAgent({
      name: "ruled",
      tools: [probe],
      guardrail_config: {
        ...guardrail_config,
        tool_rails: { rules: [{ tool: "probe", check: '{"a": true}[args.to]' }] },
      },
    });
    const { runtime, model } = await testRuntime([
      { calls: [{ name: "probe", args: { to: "<EMAIL_1>" } }] },
      "ok",
    ]);
    const { rails } = await executeAgent(agent, input, { runtime });
    expect(reads(model.requests)).toContain("It could not be checked");
    expect(reads(model.requests)).not.toContain(address);
    expect(reads(rails)).not.toContain(address);
  });

  it("the results of tools, where they are cut within it", async () => {
    const find = defineTool({
      name: "find",
      description: "Finds.",
      input_schema: z.object({}),
      execution: { max_result_bytes: 1024 },
      handler: () => `${"x ".repeat(480)}${address}${" y".repeat(2000)}`,
    });
    const agent = defineAgent({ name: "finder", tools: [find], guardrail_config });
    const { runtime, model } = await testRuntime([{ calls: [{ name: "find", args: {} }] }, "ok"]);
    await executeAgent(agent, input, { runtime });
    expect(reads(model.requests)).toContain("[cut: ");
    expect(reads(model.requests)).not.toContain("ada.");
  });
});

describe("a person who approves calls", () => {
  async function answered(answer: Record<string, unknown>) {
    const { agent, given } = mailTool();
    const { runtime, model } = await testRuntime([proposed, "ok"]);
    const waiting = await executeAgent(agent, input, { runtime, threadId: "t" });
    const done = await executeAgent(agent, null, { runtime, threadId: "t", answer });
    return { waiting, done, given, requests: model.requests };
  }

  it("sees who the mail goes to", async () => {
    const { waiting, given } = await answered({ decision: "approve" });
    expect(waiting.interrupts[0]?.proposed).toMatchObject([{ args: { to: address } }]);
    expect(given).toEqual([{ to: address, text: "a" }]);
  });

  it.each([
    ["keeps the mark", "<EMAIL_1>"],
    ["types the value", address],
  ])("may edit a call and %s, of which models see the mark", async (_, to) => {
    const { done, given, requests } = await answered({ decision: "edit", args: { to, text: "b" } });
    expect(done.status).toBe("COMPLETED");
    expect(given).toEqual([{ to: address, text: "b" }]);
    expect(done.steps[0]?.tool_results[0]?.args).toEqual({ to: "<EMAIL_1>", text: "b" });
    expect(reads(requests)).not.toContain(address);
  });

  it("may name the value in a reason", async () => {
    const { requests } = await answered({ decision: "reject", reason: `not to ${address}` });
    expect(reads(requests)).toContain("rejected this call: not to <EMAIL_1>");
    expect(reads(requests)).not.toContain(address);
  });
});

describe("a person who is asked by a human node", () => {
  it("sees what was redacted, and models do not see the answer", async () => {
    const agent = defineAgent({
      name: "asking",
      guardrail_config,
      workflow_graph: {
        entry_point: "ask",
        nodes: [
          {
            name: "ask",
            type: "human",
            config: { kind: "edit", prompt: "${input.message}: right?" },
          },
          { name: "tell", type: "llm", config: { prompt: "Tell ${nodes.ask.value}" } },
        ],
        edges: [
          { from: "ask", to: "tell" },
          { from: "tell", to: "END" },
        ],
      },
    });
    const { runtime, model } = await testRuntime(["ok"]);
    const { interrupts } = await executeAgent(agent, input, { runtime, threadId: "t" });
    expect(interrupts[0]?.prompt).toBe(`I am ${address}: right?`);
    const answer = `to ${address}`;
    await executeAgent(agent, null, { runtime, threadId: "t", answer });
    expect(reads(model.requests)).toContain("Tell to <EMAIL_1>");
    expect(reads(model.requests)).not.toContain(address);
  });
});
