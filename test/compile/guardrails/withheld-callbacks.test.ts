import { gunzipSync } from "node:zlib";
import { inspect } from "node:util";
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { awaitAllCallbacks } from "@langchain/core/callbacks/promises";
import { dispatchCustomEvent } from "@langchain/core/callbacks/dispatch";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import { RunnableLambda } from "@langchain/core/runnables";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  compileAgent,
  defineAgent,
  definePlanner,
  defineTool,
  executeAgent,
  type AgentDefinition,
} from "../../../src/index.ts";
import { httpServer } from "../../helpers/http-server.ts";
import { around } from "../../helpers/nested-agents.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import type { ScriptedReply } from "../../helpers/scripted-model.ts";
import { planOf } from "../../helpers/subtasks.ts";

const address = "ada.lovelace@example.org";
const asked = `Write to ${address}.`;

/** A tool of LangChain, which tells callbacks itself. */
const smtp = tool(
  ({ to, fails }) => {
    if (fails) throw new Error(`Nobody has ${to}.`);
    return `sent to ${to}`;
  },
  { name: "smtp", schema: z.object({ to: z.string(), fails: z.boolean().optional() }) },
);
const mail = defineTool({
  name: "mail",
  description: "Sends a mail.",
  input_schema: z.object({ to: z.string(), fails: z.boolean().optional() }),
  handler: async ({ to, fails }) => {
    await dispatchCustomEvent("mailing", { to });
    return smtp.invoke({ to, fails });
  },
});
const rails = { input_rails: [{ type: "pii" as const }] };
const mailer = (guardrail_config: object = rails) =>
  defineAgent({ name: "mailer", description: "Mails.", tools: [mail], guardrail_config });

/** Makes a call that succeeds, one that fails, and answers, with an address in everything that it says. */
class MailingModel extends BaseChatModel {
  _llmType() {
    return "mailing";
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const results = messages.filter((one) => ToolMessage.isInstance(one)).length;
    const args = { to: address, fails: results === 1 };
    const message = new AIMessage({
      content: `I write to ${address}.`,
      tool_calls: results >= 2 ? [] : [{ id: `c${results}`, name: "mail", args }],
      usage_metadata: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
      response_metadata: { model_name: "mailing-1", prompt: `Mail ${address}` },
    });
    const llmOutput = { tokenUsage: { totalTokens: 7 }, echo: address };
    return { generations: [{ text: message.text, message }], llmOutput };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { generations } = await this._generate(messages);
    const { text, message } = generations[0]!;
    const { tool_calls = [] } = message as AIMessage;
    const chunk = new ChatGenerationChunk({
      text,
      message: new AIMessageChunk({ content: text, tool_calls }),
    });
    yield chunk;
    await run?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
  }
}
const mails: ScriptedReply = async ({ messages }, config) => {
  const reply = await new MailingModel({}).invoke([...messages], config);
  return new AIMessage({ content: reply.content, tool_calls: reply.tool_calls ?? [] });
};
const replies = Array.from({ length: 40 }, () => mails);
const writing = (definition: object = {}) =>
  defineAgent({
    name: "writing",
    tools: [mail],
    guardrail_config: rails,
    workflow_graph: {
      entry_point: "send",
      nodes: [
        { name: "send", type: "tool", config: { tool: "mail", args: { to: "${input.message}" } } },
      ],
      edges: [{ from: "send", to: "END" }],
      output: { message: "${input.message}" },
    },
    ...definition,
  });

const thread = { configurable: { thread_id: "t" } };

/** What LangSmith was sent. */
let received: Buffer[] = [];

beforeAll(async () => {
  const host = await httpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      received.push(request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body);
      response.setHeader("content-type", "application/json").end("{}");
    });
  });
  // LangChain makes its client once.
  vi.stubEnv("LANGSMITH_ENDPOINT", `http://${host}`);
  vi.stubEnv("LANGSMITH_API_KEY", "key");
});
beforeEach(() => {
  received = [];
  vi.stubEnv("LANGSMITH_TRACING", "true");
});
afterEach(() => {
  vi.stubEnv("LANGSMITH_TRACING", undefined);
});

async function traced(): Promise<string> {
  await awaitAllCallbacks();
  return Buffer.concat(received).toString();
}

/** Where the address stands in a text. */
function leaks(text: string): readonly string[] {
  return [...text.matchAll(new RegExp(address, "g"))].map(({ index }) =>
    text.slice(Math.max(0, index - 200), index + 50),
  );
}

/** Keeps all that it is told. */
class Recorder extends BaseCallbackHandler {
  readonly name = "recorder";
  override readonly awaitHandlers = true;
  readonly told: [method: string, given: readonly unknown[]][] = [];

  constructor() {
    super();
    const methods = ["LLMStart", "ChatModelStart", "LLMNewToken", "LLMEnd", "LLMError"];
    const others = ["ChainStart", "ChainEnd", "ChainError", "ToolStart", "ToolEnd", "ToolError"];
    for (const name of [...methods, ...others, "CustomEvent", "Text", "ChatModelStreamEvent"]) {
      const record = (...given: unknown[]) => void this.told.push([name, given]);
      Object.assign(this, { [`handle${name}`]: record });
    }
  }

  text(): string {
    return inspect(this.told, { depth: 40, maxStringLength: null, maxArrayLength: null });
  }

  names(method: string): readonly unknown[] {
    return this.told.filter(([name]) => name === method).map(([, given]) => given);
  }
}

const kinds: readonly (readonly [string, AgentDefinition, object])[] = [
  ["the standard loop", mailer(), { message: asked }],
  ["a workflow", writing(), { message: address }],
  ["an agent node", around("outer", mailer()), { message: asked }],
  [
    "a planner",
    definePlanner({ workers: [mailer()] }),
    { message: asked, plan: planOf({ a: "" }, { worker: "mailer" }) },
  ],
];

describe("callbacks of an agent that redacts", () => {
  it.each(kinds)("learn nothing of what %s redacts, however it is run", async (_, agent, input) => {
    const run = async () => {
      const { runtime } = await testRuntime(replies);
      return compileAgent(agent, runtime);
    };
    const recorder = new Recorder();
    const callbacks = [recorder];
    await (await run()).invoke({ input }, { ...thread, callbacks });
    await (await run()).withConfig({ callbacks }).invoke({ input }, thread);
    const stream = await (await run()).stream({ input }, { ...thread, callbacks });
    for await (const chunk of stream) void chunk;
    const events = (await run()).streamEvents(
      { input },
      {
        ...thread,
        version: "v2",
        callbacks,
      },
    );
    const seen: string[] = [];
    for await (const { event } of events) seen.push(event);
    expect(seen).toContain("on_chain_end");
    expect(leaks(recorder.text())).toEqual([]);
    expect(recorder.names("ChainStart").length).toBeGreaterThan(8);
    for (const method of ["ToolStart", "ToolEnd", "CustomEvent"]) {
      expect([method, recorder.names(method).length > 0]).toEqual([method, true]);
    }
    const sent = await traced();
    expect(leaks(sent)).toEqual([]);
    expect(sent).toContain("[withheld");
    expect(sent).toContain(agent.spec.name);
  });

  it("learn nothing of an edit of the state", async () => {
    const { runtime } = await testRuntime(replies);
    const graph = await compileAgent(mailer(), runtime);
    const recorder = new Recorder();
    const callbacks = [recorder];
    const edit = { input: { message: asked } };
    await graph.updateState({ ...thread, callbacks }, edit, "__start__");
    await graph.withConfig({ callbacks }).updateState(thread, edit);
    await graph.invoke(null, thread);
    await graph.updateState({ ...thread, callbacks }, { output: { message: address } }, "finalize");
    const outer = RunnableLambda.from(async () => {
      // Callbacks reach it by the context alone.
      await graph.updateState(thread, { output: { message: address } }, "finalize");
    });
    await outer.invoke({}, { callbacks });
    expect(recorder.names("ChainStart").length).toBeGreaterThan(3);
    expect(leaks(recorder.text())).toEqual([]);
    expect(leaks(await traced())).toEqual([]);
  });

  it("learn nothing of an agent without rails that a handler runs", async () => {
    const { runtime } = await testRuntime(replies);
    const inner = defineAgent({ name: "inner", tools: [mail] });
    const delegate = defineTool({
      name: "delegate",
      description: "Has it done.",
      input_schema: z.object({ to: z.string() }),
      handler: async ({ to }) => {
        const prompt = ChatPromptTemplate.fromTemplate(`Write to ${to}`);
        await prompt.invoke({});
        const failing = RunnableLambda.from(() => {
          throw Object.assign(new Error("No."), { name: to, code: to });
        });
        await failing.invoke({}).catch(() => undefined);
        return (await executeAgent(inner, { message: `Ask ${to}` }, { runtime })).status;
      },
    });
    const { nodes, ...workflow } = writing().spec.workflow_graph!;
    void nodes;
    const outer = writing({
      tools: [delegate],
      workflow_graph: {
        ...workflow,
        nodes: [
          {
            name: "send",
            type: "tool",
            config: { tool: "delegate", args: { to: "${input.message}" } },
          },
        ],
      },
    });
    const recorder = new Recorder();
    const graph = await compileAgent(outer, runtime);
    await graph.invoke({ input: { message: address } }, { ...thread, callbacks: [recorder] });
    expect(leaks(recorder.text())).toEqual([]);
    const sent = await traced();
    expect(leaks(sent)).toEqual([]);
    expect(sent).toContain('"inner"');
  });

  it("learn nothing of an error", async () => {
    const agent = defineAgent({
      name: "failing",
      guardrail_config: rails,
      workflow_graph: {
        entry_point: "fail",
        nodes: [
          {
            name: "fail",
            type: "llm",
            config: { prompt: "${input.message}", writes: "execution.x" },
          },
        ],
        edges: [{ from: "fail", to: "END" }],
      },
    });
    const recorder = new Recorder();
    const { runtime } = await testRuntime([
      () => {
        throw new TypeError(`The model does not know ${address}.`);
      },
    ]);
    const graph = await compileAgent(agent, runtime);
    await graph
      .invoke({ input: { message: asked } }, { ...thread, callbacks: [recorder] })
      .catch(() => undefined);
    expect(leaks(recorder.text())).toEqual([]);
    expect(leaks(await traced())).toEqual([]);
  });

  it("learn what ran, how long, with which model and for how many tokens", async () => {
    const { runtime } = await testRuntime(replies);
    const recorder = new Recorder();
    const graph = await compileAgent(mailer(), runtime);
    const config = {
      ...thread,
      callbacks: [recorder],
      tags: ["mine"],
      metadata: { tenant: "acme" },
    };
    await graph.invoke({ input: { message: asked } }, config);
    const [first] = recorder.names("ChainStart") as unknown[][];
    expect(first?.slice(1, 2)).toEqual([{ values: "[withheld]" }]);
    expect([first?.[4], first?.[5], first?.[7]]).toEqual([
      ["mine"],
      expect.objectContaining({ tenant: "acme" }),
      "mailer",
    ]);
    const ends = recorder.names("LLMEnd") as { generations: { message: object }[][] }[][];
    expect(ends[0]?.[0]).toMatchObject({ llmOutput: { tokenUsage: { totalTokens: 7 } } });
    expect(ends[0]?.[0]?.generations[0]?.[0]).toMatchObject({
      text: `[withheld: ${`I write to ${address}.`.length} characters]`,
      message: {
        tool_calls: [{ id: "c0", name: "mail", args: {} }],
        usage_metadata: { input_tokens: 5, output_tokens: 2 },
        response_metadata: { model_name: "mailing-1" },
      },
    });
    const starts = recorder.names("ChatModelStart") as { type: string; role: string }[][][][];
    expect(starts[0]?.[1]?.[0]?.at(-1)).toMatchObject({ role: "human" });
  });

  it("of a graph around it learn nothing of the agent's runs", async () => {
    const { runtime } = await testRuntime(replies);
    const graph = await compileAgent(mailer(), runtime);
    const outer = new StateGraph(MessagesAnnotation)
      .addNode("ask", async () => {
        // The config of the node reaches it by the context alone.
        await graph.invoke({ input: { message: asked } }, thread);
        return {};
      })
      .addEdge(START, "ask")
      .addEdge("ask", END)
      .compile();
    const recorder = new Recorder();
    await outer.invoke({ messages: [] }, { callbacks: [recorder] });
    expect(leaks(recorder.text())).toEqual([]);
    const sent = await traced();
    expect(leaks(sent)).toEqual([]);
    expect(sent).toContain("mailer");
  });

  it("are told by executeAgent as little, and the caller gets the values", async () => {
    const { runtime } = await testRuntime(replies);
    const result = await executeAgent(mailer(), { message: asked }, { runtime });
    expect(result.output).toEqual({ message: `I write to ${address}.` });
    const sent = await traced();
    expect(leaks(sent)).toEqual([]);
    expect(sent).toContain("mailer");
  });
});

describe("callbacks of an agent that does not redact", () => {
  it.each([
    ["without rails", {}],
    ["that blocks", { output_rails: [{ type: "pii", config: { action: "block" } }] }],
    ["that flags", { input_rails: [{ type: "pii", config: { action: "flag" } }] }],
  ])("get the values of one %s", async (_, guardrail_config) => {
    const { runtime } = await testRuntime(["Done."]);
    const recorder = new Recorder();
    const graph = await compileAgent(mailer(guardrail_config), runtime);
    await graph.invoke({ input: { message: asked } }, { ...thread, callbacks: [recorder] });
    expect(recorder.text()).toContain(address);
    expect(await traced()).toContain(address);
  });

  it("reach nobody where tracing is off", async () => {
    vi.stubEnv("LANGSMITH_TRACING", undefined);
    const { runtime } = await testRuntime(["Done."]);
    const graph = await compileAgent(mailer(), runtime);
    await graph.invoke({ input: { message: asked } }, thread);
    await RunnableLambda.from(() => "untraced").invoke({});
    expect(await traced()).toBe("");
  });
});
