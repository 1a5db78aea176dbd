import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { HumanMessage } from "@langchain/core/messages";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatGroq } from "@langchain/groq";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOllama } from "@langchain/ollama";
import { expect, it } from "vitest";
import { createMemoryBlobs } from "../../src/compile/attachments/memory-blobs.ts";
import { ModelCallError } from "../../src/models/errors.ts";
import { fromChatModel } from "../../src/models/calls/from-chat-model.ts";
import { withAttachments } from "../../src/models/calls/with-attachments.ts";
import { attachmentReference } from "../../src/state/attachment.ts";
import { lampPng } from "../helpers/attachments.ts";

const files = {
  "lamp.png": { mimeType: "image/png", bytes: lampPng },
  "lamp.pdf": { mimeType: "application/pdf", bytes: Buffer.from("%PDF-1.7") },
  "lamp.wav": { mimeType: "audio/wav", bytes: Buffer.from("RIFF") },
} as const;
const base64 = (name: keyof typeof files) => files[name].bytes.toString("base64");

/** Returns what the class of a provider sends for a message with files. */
async function sent(
  ref: string,
  modelAt: (url: string) => BaseChatModel,
  names: readonly (keyof typeof files)[],
): Promise<Record<string, unknown>> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      bodies.push(Buffer.concat(chunks).toString());
      response.writeHead(400, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const blobs = createMemoryBlobs();
  const references = await Promise.all(
    names.map(async (name) => {
      const { mimeType, bytes } = files[name];
      const sha256 = await blobs.put("t", { mimeType, bytes });
      return { ...attachmentReference({ sha256, mimeType, name, bytes: bytes.byteLength }) };
    }),
  );
  const model = fromChatModel(modelAt(`http://127.0.0.1:${port}`), { ref });
  const reading = await withAttachments({ resolve: async () => model }, blobs).resolve({});
  const messages = [new HumanMessage({ content: [{ type: "text", text: "Look" }, ...references] })];
  try {
    const asked = reading.call({ messages }, { configurable: { thread_id: "t" } });
    await expect(asked).rejects.toThrow(ModelCallError);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  expect(bodies).toHaveLength(1);
  return JSON.parse(bodies[0] ?? "{}") as Record<string, unknown>;
}

const key = { apiKey: "not-a-key", maxRetries: 0 };
const text = { type: "text", text: "Look" };

it("sends Anthropic each file once", async () => {
  const at = (url: string) =>
    new ChatAnthropic({ ...key, model: "claude-sonnet-4-5", anthropicApiUrl: url });
  const body = await sent("anthropic:claude-sonnet-4-5", at, ["lamp.png", "lamp.pdf"]);
  const source = { type: "base64", media_type: "image/png", data: base64("lamp.png") };
  const document = { type: "base64", media_type: "application/pdf", data: base64("lamp.pdf") };
  expect(body["messages"]).toEqual([
    {
      role: "user",
      content: [
        text,
        { type: "image", source },
        { type: "document", title: "lamp.pdf", source: document },
      ],
    },
  ]);
});

it("sends Google images, files and sounds", async () => {
  const at = (url: string) =>
    new ChatGoogleGenerativeAI({ ...key, model: "gemini-2.5-flash", baseUrl: url });
  const names = ["lamp.png", "lamp.pdf", "lamp.wav"] as const;
  const body = await sent("google:gemini-2.5-flash", at, names);
  const parts = names.map((name) => {
    return { inlineData: { mimeType: files[name].mimeType, data: base64(name) } };
  });
  expect(body["contents"]).toEqual([{ role: "user", parts: [{ text: "Look" }, ...parts] }]);
});

it.each<[string, (url: string) => BaseChatModel]>([
  [
    "mistral:pixtral-large-latest",
    (url) => new ChatMistralAI({ ...key, model: "pixtral-large-latest", serverURL: url }),
  ],
  [
    "groq:meta-llama/llama-4-scout",
    (url) => new ChatGroq({ ...key, model: "meta-llama/llama-4-scout", baseUrl: url }),
  ],
])("sends %s images as data URLs", async (ref, at) => {
  const body = await sent(ref, at, ["lamp.png"]);
  const image_url = { url: `data:image/png;base64,${base64("lamp.png")}` };
  expect(body["messages"]).toEqual([
    { role: "user", content: [text, { type: "image_url", image_url }] },
  ]);
});

it("sends Ollama images in base64", async () => {
  const at = (url: string) => new ChatOllama({ model: "llava", baseUrl: url, maxRetries: 0 });
  const body = await sent("ollama:llava", at, ["lamp.png"]);
  expect(JSON.stringify(body["messages"])).toContain(`"images":["${base64("lamp.png")}"]`);
});
