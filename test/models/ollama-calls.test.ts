import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { createModels } from "../../src/models/create-models.ts";
import { readStructured } from "../../src/models/structured-answer.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

const messages = [new HumanMessage("Hello")];

interface ChatBody {
  readonly model: string;
  readonly options: Record<string, unknown>;
  readonly tools?: readonly unknown[];
  readonly format?: unknown;
}

/** A loopback server whose `/api/chat` answers as `respond` says. */
async function ollamaServer(respond: (response: ServerResponse) => void) {
  const requests: ChatBody[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      requests.push(JSON.parse(Buffer.concat(chunks).toString()) as ChatBody);
      respond(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function say(...lines: object[]) {
  return (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    for (const line of lines) response.write(`${JSON.stringify(line)}\n`);
    response.end();
  };
}

const hello = [
  { model: "llama3", message: { role: "assistant", content: "Hi" }, done: false },
  {
    model: "llama3",
    message: { role: "assistant", content: "!" },
    done: true,
    done_reason: "stop",
    prompt_eval_count: 26,
    eval_count: 3,
  },
];

function modelOn(host: string, options: object = {}) {
  const models = createModels({
    env: { OLLAMA_HOST: host },
    clock: new ManualClock(),
    maxRetries: 0,
  });
  return models.resolve({ default_model: "ollama:llama3:latest", ...options });
}

describe("a model behind Ollama's protocol", () => {
  it("puts every option on the wire", async () => {
    await using server = await ollamaServer(say(...hello));
    const model = await modelOn(server.host, {
      temperature: 0.1,
      seed: 3,
      top_p: 0.8,
      num_ctx: 16_384,
      num_predict: 256,
      repeat_last_n: 32,
      repeat_penalty: 1.1,
    });
    const reply = await model.call({ messages }, {});
    expect(server.requests[0]).toMatchObject({
      model: "llama3:latest",
      options: {
        temperature: 0.1,
        seed: 3,
        top_p: 0.8,
        num_ctx: 16_384,
        num_predict: 256,
        repeat_last_n: 32,
        repeat_penalty: 1.1,
      },
    });
    expect(reply).toMatchObject({
      model: "ollama:llama3:latest",
      usage: { tokens_in: 26, tokens_out: 3, llm_calls: 1, cost_usd: 0 },
    });
    expect(reply.message.text).toBe("Hi!");
  });

  it("says max_tokens in Ollama's word", async () => {
    await using server = await ollamaServer(say(...hello));
    await (await modelOn(server.host, { max_tokens: 99 })).call({ messages }, {});
    expect(server.requests[0]?.options).toMatchObject({ num_predict: 99 });
  });

  it("makes a value's schema the form of the text, since Ollama forces no tool", async () => {
    const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
    const answer = { name: "judge", description: "Judges.", schema };
    await using server = await ollamaServer(
      say({ ...hello[1], message: { role: "assistant", content: '{"ok": true}' } }),
    );
    const { message } = await (await modelOn(server.host)).call({ messages, answer }, {});
    expect(server.requests[0]?.format).toEqual(schema);
    expect(server.requests[0]).not.toHaveProperty("tools");
    expect(readStructured(message, answer)).toEqual({ ok: true, value: { ok: true } });
  });

  it("still sends tools that may be called", async () => {
    await using server = await ollamaServer(say(...hello));
    const tool = { name: "look", description: "Looks.", input_schema: { type: "object" } };
    await (await modelOn(server.host)).call({ messages, tools: [tool] }, {});
    expect(server.requests[0]?.tools).toMatchObject([{ function: { name: "look" } }]);
    expect(server.requests[0]).not.toHaveProperty("format");
  });

  it("counts tokens itself where the server gives none", async () => {
    await using server = await ollamaServer(
      say({ ...hello[1], prompt_eval_count: undefined, eval_count: undefined }),
    );
    const { usage } = await (await modelOn(server.host)).call({ messages }, {});
    expect(usage).toMatchObject({ tokens_in: 5, tokens_out: 5 });
  });

  it("takes a stream without an end for an outage", async () => {
    await using server = await ollamaServer(say(hello[0] as object));
    const model = await modelOn(server.host, { fallback_model: "offline:rules" });
    expect(await model.call({ messages }, {})).toMatchObject({
      fallback: { from: "ollama:llama3:latest", reason: "outage" },
    });
  });

  it("names a model that is not there", async () => {
    await using server = await ollamaServer((response) => {
      response.writeHead(404, { "content-type": "application/json" });
      response.end('{"error":"model \'llama3:latest\' not found"}');
    });
    await expect((await modelOn(server.host)).call({ messages }, {})).rejects.toMatchObject({
      reason: "bad_request",
      status: 404,
      message: expect.stringContaining("model 'llama3:latest' not found"),
    });
  });

  it("lets the server know when the signal aborts before the first word", async () => {
    const controller = new AbortController();
    const reason = new Error("Cancelled.");
    let closed: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => (closed = resolve));
    await using server = await ollamaServer((response) => {
      response.on("close", closed);
      controller.abort(reason);
    });
    const model = await modelOn(server.host);
    await expect(model.call({ messages }, { signal: controller.signal })).rejects.toBe(reason);
    await gone;
  });
});
