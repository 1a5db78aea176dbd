import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { createMemoryBlobs } from "../../../src/compile/attachments/memory-blobs.ts";
import { type Attachment, createRuntime, defineAgent, executeAgent } from "../../../src/index.ts";
import { inputsOf, type ModelInput, readsType } from "../../../src/models/model-inputs.ts";
import { fromChatModel } from "../../../src/models/calls/from-chat-model.ts";
import { withAttachments } from "../../../src/models/calls/with-attachments.ts";
import { attachmentReference } from "../../../src/state/attachment.ts";
import { attached, contentSent, lampPng, visionAgent } from "../../helpers/attachments.ts";
import { openAIServer } from "../../helpers/openai-server.ts";

const pdf = Buffer.from("%PDF-1.7 lamp");
const wav = Buffer.from("RIFF\u0010\0\0\0WAVEfmt ");
const mp3 = Buffer.from("ID3\u0004");

async function run(
  attachments: readonly Attachment[],
  { model, inputs }: { model?: string; inputs?: Record<string, readonly ModelInput[]> } = {},
) {
  const server = await openAIServer({ text: "Seen." });
  onTestFinished(() => server.close());
  const runtime = await createRuntime({
    checkpointer: false,
    env: { OPENAI_API_KEY: "sk-test-not-a-key" },
    modelOptions: { maxRetries: 0, ...(inputs && { inputs }) },
  });
  const agent = visionAgent(server, model);
  const result = await executeAgent(agent, { message: "Look" }, { runtime, attachments });
  return { server, result };
}

const base64 = (bytes: Buffer) => bytes.toString("base64");

describe("the request to an OpenAI-compatible server", () => {
  it("has images as data URLs, PDF as files and texts under their names", async () => {
    const { server, result } = await run([
      attached(lampPng, "lamp.png", "image/png"),
      attached(pdf, "lamp.pdf", "application/pdf"),
      attached(Buffer.from("on, off"), "states.csv", "text/csv"),
    ]);
    expect(result.output).toEqual({ message: "Seen." });
    expect(contentSent(server, 0)).toEqual([
      { type: "text", text: "Look" },
      { type: "image_url", image_url: { url: `data:image/png;base64,${base64(lampPng)}` } },
      {
        type: "file",
        file: { filename: "lamp.pdf", file_data: `data:application/pdf;base64,${base64(pdf)}` },
      },
      { type: "text", text: "[File states.csv, text/csv]\non, off" },
    ]);
  });

  it("has sounds with their format", async () => {
    const { server } = await run(
      [attached(wav, "a.wav", "audio/wav"), attached(mp3, "a.mp3", "audio/mpeg")],
      { model: "openai:gpt-4o-audio-preview" },
    );
    expect(contentSent(server, 0)).toEqual([
      { type: "text", text: "Look" },
      { type: "input_audio", input_audio: { format: "wav", data: base64(wav) } },
      { type: "input_audio", input_audio: { format: "mp3", data: base64(mp3) } },
    ]);
  });

  it("is one text where only texts are attached, whatever the model is", async () => {
    const { server } = await run([attached(Buffer.from("on"), "state.txt", "text/plain")], {
      model: "openai:some-model",
    });
    expect(contentSent(server, 0)).toBe("Look\n\n[File state.txt, text/plain]\non");
  });
});

describe("a model that cannot read an attachment", () => {
  it("is not asked: the turn fails and says what the model reads", async () => {
    const { server, result } = await run([attached(pdf, "lamp.pdf", "application/pdf")], {
      model: "openai:gpt-4-turbo",
    });
    expect([result.status, server.requests.length]).toEqual(["FAILED", 0]);
    expect(result.failure).toEqual({
      cause: "unsupported_attachment",
      message:
        'Model "openai:gpt-4-turbo" cannot read the attached PDF lamp.pdf (application/pdf): it reads text, image. ' +
        "Use a model that reads this type, attach the content as text, or, if the model does read it, " +
        'set modelOptions.inputs["openai:gpt-4-turbo"].',
    });
  });

  it("is asked when the runtime says that it reads the type", async () => {
    const model = "openai:served-model";
    const inputs = { [model]: ["image"] } as const;
    const { result } = await run([attached(lampPng, "lamp.png", "image/png")], { model, inputs });
    expect(result.status).toBe("COMPLETED");
  });

  it("fails the turn of the offline model too", async () => {
    const runtime = await createRuntime({ checkpointer: false, env: {} });
    const { failure } = await executeAgent(
      defineAgent({ name: "offline", llm_config: { default_model: "offline:rules" } }),
      { message: "Look" },
      { runtime, attachments: [attached(lampPng, "lamp.png", "image/png")] },
    );
    expect(failure?.cause).toBe("unsupported_attachment");
  });
});

it.each<[string, string, boolean]>([
  ["openai:gpt-4o-mini", "image/webp", true],
  ["openai:ft:gpt-4o-mini:lamps::1", "application/pdf", true],
  ["openai:gpt-3.5-turbo", "image/png", false],
  ["openai:o3-mini", "image/png", false],
  ["openai:gpt-4o-audio-preview", "audio/ogg", false],
  ["anthropic:claude-3-haiku-20240307", "application/pdf", false],
  ["anthropic:claude-sonnet-4-5", "application/pdf", true],
  ["google:gemini-2.5-flash", "audio/ogg", true],
  ["mistral:mistral-tiny", "image/png", false],
  ["ollama:llava", "image/png", true],
  ["ollama:gemma3:1b", "image/png", false],
  ["offline:rules", "image/png", false],
])("%s reads %s: %j", (model, type, expected) => {
  expect(readsType(inputsOf(model), type)).toBe(expected);
});

it("fails when the bytes of a reference are not stored for the thread", async () => {
  const ref = "openai:gpt-4o";
  const model = fromChatModel(new FakeListChatModel({ responses: ["Seen."] }), { ref });
  const blobs = createMemoryBlobs();
  const sha256 = await blobs.put("own", { bytes: lampPng, mimeType: "image/png" });
  const source = withAttachments({ resolve: async () => model }, blobs);
  const reading = await source.resolve({});
  const reference = attachmentReference({
    sha256,
    mimeType: "image/png",
    name: "lamp.png",
    bytes: 70,
  });
  const messages = [new HumanMessage({ content: [{ ...reference }] }), new AIMessage("")];
  const ask = (thread_id: string) => reading.call({ messages }, { configurable: { thread_id } });
  await expect(ask("other")).rejects.toThrow(
    'Expected the bytes of the attached image lamp.png in thread "other", but they are not stored.',
  );
  await expect(ask("own")).resolves.toMatchObject({ model: ref });
});
