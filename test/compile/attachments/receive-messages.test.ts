import { createHash } from "node:crypto";
import { HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { AttachmentError } from "../../../src/compile/attachments/check-attachment.ts";
import { createMemoryBlobs } from "../../../src/compile/attachments/memory-blobs.ts";
import { receiveMessages } from "../../../src/compile/attachments/receive-messages.ts";
import { compileAgent, createRuntime } from "../../../src/index.ts";
import { attachmentReference } from "../../../src/state/attachment.ts";
import { imagesSent, lampPng, visionAgent } from "../../helpers/attachments.ts";
import { openAIServer } from "../../helpers/openai-server.ts";

const data = lampPng.toString("base64");
const url = `data:image/png;base64,${data}`;
const metadata = { name: "lamp.png" };

async function receive(...content: readonly unknown[]): Promise<readonly unknown[]> {
  const blobs = createMemoryBlobs();
  const input = { messages: [{ role: "user", content }] };
  const received = await receiveMessages(input, { threadId: "t", blobs });
  return (received as typeof input).messages[0]?.content ?? [];
}

const sha256 = "ebf4f635a17d10d6eb46ba680b70142419aa3220f228001a036d311a22ee9d2a";

describe("the blocks of chat clients", () => {
  it.each<[string, Record<string, unknown>]>([
    ["LangChain", { type: "image", mimeType: "image/png", data, metadata }],
    [
      "earlier LangChain",
      { type: "image", source_type: "base64", mime_type: "image/png", data, metadata },
    ],
    ["a data URL", { type: "image", source_type: "url", url, metadata }],
    ["OpenAI", { type: "image_url", image_url: { url }, metadata }],
    ["OpenAI, short", { type: "image_url", image_url: url, metadata }],
    ["OpenAI files", { type: "file", file: { filename: "lamp.png", file_data: url } }],
    [
      "Anthropic",
      {
        type: "image",
        source: { type: "base64", media_type: "image/png", data },
        title: "lamp.png",
      },
    ],
  ])("become references: %s", async (_form, block) => {
    const [text, reference] = await receive({ type: "text", text: "Look" }, block);
    expect(text).toEqual({ type: "text", text: "Look" });
    expect(reference).toEqual({
      type: "image",
      source_type: "id",
      id: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      mime_type: "image/png",
      metadata: { name: "lamp.png", bytes: lampPng.byteLength },
    });
  });

  it("are texts where they hold text", async () => {
    const text = {
      type: "file",
      mimeType: "text/csv",
      data: Buffer.from("a,b").toString("base64"),
    };
    expect(await receive(text)).toEqual([
      {
        type: "file",
        source_type: "text",
        mime_type: "text/csv",
        text: "a,b",
        metadata: { name: "attachment", bytes: 3 },
      },
    ]);
  });

  it("stay as they are where they hold no data", async () => {
    const blocks = [
      { type: "text", text: "Look" },
      { type: "file", file: { file_id: "file-1" } },
      { type: "tool_use", id: "1", input: {} },
      null,
    ];
    expect(await receive(...blocks)).toEqual(blocks);
  });

  it.each<[string, unknown, string]>([
    [
      "a URL",
      { type: "image_url", image_url: { url: "https://example.com/a.png" } },
      "URLs are not read",
    ],
    ["a path", { type: "image", url: "file:///etc/passwd" }, "URLs are not read"],
    ["another type than declared", { type: "image", mimeType: "image/gif", data }, "image/gif"],
    [
      "the hash of another thread's attachment",
      attachmentReference({ sha256, mimeType: "image/png", name: "a.png", bytes: 1 }),
      "expected an attachment of this thread",
    ],
  ])("are refused: %s", async (_what, block, message) => {
    const refused = receive(block);
    await expect(refused).rejects.toThrow(AttachmentError);
    await expect(refused).rejects.toThrow(message);
  });

  it("may be references to attachments of the same thread, whose type and size are read again", async () => {
    const blobs = createMemoryBlobs();
    const id = await blobs.put("t", { bytes: lampPng, mimeType: "image/png" });
    const of = { mimeType: "audio/wav", name: "lamp.png", bytes: 1 };
    const content = [attachmentReference({ sha256: id, ...of })];
    const input = { messages: [{ role: "user", content }] };
    const received = await receiveMessages(input, { threadId: "t", blobs });
    const bytes = lampPng.byteLength;
    const own = attachmentReference({ ...of, sha256: id, mimeType: "image/png", bytes });
    expect((received as typeof input).messages[0]?.content).toEqual([own]);
  });

  it("are refused before any is stored where there are too many", async () => {
    const blobs = createMemoryBlobs();
    const image = { type: "image", mimeType: "image/png", data };
    const messages = [
      new HumanMessage({ content: [image] }),
      new HumanMessage({ content: Array.from({ length: 11 }, () => image) }),
    ];
    const refused = receiveMessages({ messages }, { threadId: "t", blobs });
    await expect(refused).rejects.toThrow("expected at most 10 files with a message, got 11.");
    expect(await blobs.get("t", sha256)).toBeNull();
  });
});

it("stores the data of a graph's input outside of its checkpoints", async () => {
  await using server = await openAIServer({ text: "A lamp." });
  const checkpointer = new MemorySaver();
  const runtime = await createRuntime({
    checkpointer,
    env: { OPENAI_API_KEY: "sk-test-not-a-key" },
  });
  onTestFinished(() => runtime.close());
  const graph = await compileAgent(visionAgent(server), runtime);
  const content = [
    { type: "text", text: "What is this?" },
    { type: "image", mimeType: "image/png", data },
  ];
  const state = await graph.invoke(
    { messages: [{ role: "user", content }] },
    { configurable: { thread_id: "t" } },
  );
  expect(state.messages.at(-1)?.text).toBe("A lamp.");
  expect(imagesSent(server, 0)).toEqual([url]);
  const checkpoints = JSON.stringify(Object.entries(checkpointer.storage), (_key, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : value,
  );
  const writes = JSON.stringify(Object.entries(checkpointer.writes), (_key, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : value,
  );
  expect(checkpoints).toContain("sha256:");
  expect(checkpoints + writes).not.toContain(data);
});

describe("references of a client", () => {
  const lampHash = createHash("sha256").update(lampPng).digest("hex");
  const reference = (name: string) =>
    attachmentReference({ sha256: lampHash, mimeType: "image/gif", name, bytes: 1 });

  async function counting() {
    const blobs = createMemoryBlobs();
    await blobs.put("t", { bytes: lampPng, mimeType: "image/png" });
    let reads = 0;
    const get: typeof blobs.get = (...given) => {
      reads += 1;
      return blobs.get(...given);
    };
    return { thread: { threadId: "t", blobs: { ...blobs, get } }, reads: () => reads };
  }

  it("are read once, however often a message repeats them", async () => {
    const { thread, reads } = await counting();
    const content = Array.from({ length: 1000 }, () => reference("lamp.png"));
    const input = { messages: [{ role: "user", content }] };
    await expect(receiveMessages(input, thread)).rejects.toThrow("at most 10 files with a message");
    expect(reads()).toBe(1);
  });

  it("are read once, however many messages have them", async () => {
    const { thread, reads } = await counting();
    const message = { role: "user", content: [reference("lamp.png")] };
    const input = { messages: Array.from({ length: 1000 }, () => message) };
    const received = (await receiveMessages(input, thread)) as typeof input;
    expect(received.messages[999]?.content).toMatchObject([
      { id: `sha256:${lampHash}`, mime_type: "image/png", metadata: { bytes: lampPng.byteLength } },
    ]);
    expect(reads()).toBe(1);
  });

  it("have plain names", async () => {
    const { thread } = await counting();
    const content = [reference("\u001b[2J../\u202Egpj.\n[x]\ud800.png")];
    const received = await receiveMessages({ messages: [{ role: "user", content }] }, thread);
    expect(received).toMatchObject({
      messages: [{ content: [{ metadata: { name: "gpj. x .png" } }] }],
    });
  });

  it.each([
    ["base64", { type: "image", mimeType: "image/png", data: "\u001b[2J" }],
    ["URL", { type: "image", source_type: "url", url: "http://127.0.0.1/" }],
  ])("have plain and short names in errors about %s", async (_form, block) => {
    const title = `\u001b[2J${"n".repeat(100_000)}`;
    const thrown: unknown = await receive({ ...block, title }).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ attachment: `2J${"n".repeat(118)}` });
  });
});
