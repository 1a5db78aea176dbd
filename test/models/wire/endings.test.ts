import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import type { AgentModel, ModelReply } from "../../../src/models/agent-model.ts";
import { fromChatModel } from "../../../src/models/calls/from-chat-model.ts";
import { ModelCallError } from "../../../src/models/errors.ts";
import type { WireFinish } from "../../helpers/wire/script.ts";
import { type DialectName, type WireServer, wireServer } from "../../helpers/wire/server.ts";
import { chatOn, messages, modelOn, refOf, type Way, ways } from "./providers.ts";

const text = "The answer is 42.";

/** How each provider can end a reply. */
const ends: readonly (readonly [DialectName, ...WireFinish[]])[] = [
  ["openai", "stop", "length", "content_filter", "refusal"],
  ["anthropic", "stop", "length", "refusal"],
  ["google", "stop", "length", "content_filter", "prompt_blocked"],
  ["mistral", "stop", "length"],
  ["groq", "stop", "length"],
  ["ollama", "stop", "length"],
  ["bedrock", "stop", "length", "content_filter", "prompt_blocked"],
];

const rows = ends.flatMap(([provider, ...finishes]) =>
  finishes.flatMap((finish) => ways.map((way) => [provider, finish, way] as const)),
);

describe("a reply", () => {
  it.each(rows.filter(([, finish]) => finish === "stop" || finish === "length"))(
    "of %s that ends with %s (%s) says so",
    async (provider, finish, way) => {
      await using server = await wireServer({ text, finish });
      const { reply, tokens } = await call(way, await modelFor(way, provider, server));
      expect(reply).toMatchObject({
        finish,
        message: { text },
        model: refOf(provider),
        fallback: null,
        usage: { llm_calls: 1, tokens_in: 100, tokens_out: 20 },
        calls: [record(way, provider, finish)],
      });
      expect(tokens.join("")).toBe(way === "whole" ? "" : text);
    },
  );

  it.each(rows.filter(([, finish]) => finish !== "stop" && finish !== "length"))(
    "of %s that ends with %s (%s) is an error with its usage",
    async (provider, finish, way) => {
      await using server = await wireServer({ text, finish });
      const { error } = await call(way, await modelFor(way, provider, server));
      const isRefusal = finish === "refusal";
      const outcome = isRefusal ? "refusal" : "content_filter";
      const isEmpty = provider === "google" && finish === "prompt_blocked";
      // Gemini's stream says nothing of the usage then.
      const isCounted = !(isEmpty && way === "streamed");
      expect(error).toMatchObject({
        code: isRefusal ? "model_refusal" : "content_filter",
        reason: outcome,
        transient: false,
        tries: 1,
        // A filter withheld the text.
        said: isRefusal ? text : "",
        usage: { llm_calls: 1, ...(isCounted && { tokens_in: 100, tokens_out: 20 }) },
        calls: [{ model: refOf(provider), outcome, latency_ms: expect.any(Number) }],
      });
      expect(error?.message).toContain(`The model "${refOf(provider)}" did not answer`);
      expect(server.requests).toHaveLength(1);
    },
  );
});

describe("a withheld reply", () => {
  const fallback_model = [refOf("anthropic"), refOf("google")];

  it.each(ways)("has the fallbacks asked in order (%s)", async (way) => {
    await using server = await wireServer(
      { text: "No.", finish: "refusal" },
      { text: "Never.", finish: "refusal" },
      { text },
    );
    const model = await modelOn("openai", server, { config: { fallback_model } });
    const { reply } = await call(way, model);
    expect(reply).toMatchObject({
      finish: "stop",
      message: { text },
      model: refOf("google"),
      fallback: { from: refOf("openai"), reason: "refusal" },
      usage: { llm_calls: 3, tokens_in: 300, tokens_out: 60 },
    });
    expect(reply?.calls.map((one) => [one.model, one.outcome])).toEqual([
      [refOf("openai"), "refusal"],
      [refOf("anthropic"), "refusal"],
      [refOf("google"), "stop"],
    ]);
    expect(asked(server)).toEqual(["openai", "anthropic", "google"]);
  });

  it.each([
    ["refusal", "content_filter", "content_filter"],
    ["content_filter", "refusal", "model_refusal"],
  ] as const)("of %s, then %s, fails as the last one", async (first, second, code) => {
    await using server = await wireServer(
      { text: "First.", finish: first },
      { text: "Second.", finish: second },
    );
    const config = { fallback_model: "openai:gpt-4o" };
    const model = await modelOn("openai", server, { config });
    const { error } = await call("whole", model);
    expect(error).toMatchObject({
      code,
      reason: first,
      said: second === "refusal" ? "Second." : "",
      fallbacks: [{ ref: "openai:gpt-4o", reason: second }],
      usage: { llm_calls: 2, tokens_in: 200, tokens_out: 40 },
    });
  });

  it.each([
    ["by default, an outage", undefined, { refuse: "server" }, 2],
    ["by default, a refusal", undefined, { text: "No.", finish: "refusal" }, 2],
    ["by default, no bad request", undefined, { refuse: "invalid" }, 1],
    ["by default, no wrong key", undefined, { refuse: "auth" }, 1],
    ["without reasons, none", [], { refuse: "server" }, 1],
    ["without reasons, no refusal", [], { text: "No.", finish: "refusal" }, 1],
    ["the named reason", ["auth"], { refuse: "auth" }, 2],
    ["no other reason", ["auth"], { refuse: "server" }, 1],
  ] as const)("is passed on for: %s", async (_, fallback_on, entry, requests) => {
    await using server = await wireServer(entry, { text });
    const config = {
      fallback_model,
      ...(fallback_on !== undefined && { fallback_on: [...fallback_on] }),
    };
    const model = await modelOn("openai", server, { config });
    const { reply } = await call("whole", model);
    expect(reply !== undefined).toBe(requests === 2);
    expect(server.requests).toHaveLength(requests);
  });
});

const anyNumber: unknown = expect.any(Number);

function record(way: Way, provider: DialectName, outcome: WireFinish) {
  const first_token_ms = way === "streamed" ? anyNumber : null;
  return { model: refOf(provider), outcome, latency_ms: anyNumber, first_token_ms };
}

/** Runtimes stream every request; a chat model of a program's own is asked as the program says. */
async function modelFor(way: Way, provider: DialectName, server: WireServer): Promise<AgentModel> {
  if (way === "streamed") return modelOn(provider, server);
  return fromChatModel(await chatOn(provider, server), { ref: refOf(provider) });
}

interface Called {
  readonly reply: ModelReply | undefined;
  readonly error: ModelCallError | undefined;
  readonly tokens: readonly string[];
}

async function call(way: Way, model: AgentModel): Promise<Called> {
  let reply: ModelReply | undefined;
  let error: ModelCallError | undefined;
  const make = async (config: object) => {
    try {
      reply = await model.call({ messages }, config);
    } catch (thrown) {
      if (!(thrown instanceof ModelCallError)) throw thrown;
      error = thrown;
    }
    return {};
  };
  const tokens: string[] = [];
  if (way === "whole") await make({});
  else {
    const graph = new StateGraph(Annotation.Root({ done: Annotation<boolean> }))
      .addNode("reason", (_, config) => make(config))
      .addEdge(START, "reason")
      .addEdge("reason", END)
      .compile();
    for await (const [chunk] of await graph.stream({}, { streamMode: "messages" })) {
      tokens.push(chunk.text);
    }
  }
  return { reply, error, tokens };
}

function asked(server: WireServer): readonly string[] {
  return server.requests.map(({ path, body }) => {
    if (path.startsWith("/v1/messages")) return "anthropic";
    return body["model"] === undefined ? "google" : "openai";
  });
}
