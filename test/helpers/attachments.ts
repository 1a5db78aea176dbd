import { randomBytes } from "node:crypto";
import { defineAgent } from "../../src/index.ts";
import type { OpenAIServer } from "./openai-server.ts";

/** A PNG of one pixel. */
export const lampPng = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** Bytes that begin like a PNG. */
export function pngOf(bytes: number): Buffer {
  return Buffer.concat([lampPng.subarray(0, 8), randomBytes(bytes - 8)]);
}

/** Bytes as an attachment of `executeAgent`. */
export function attached(bytes: Buffer, name: string, mime_type: string) {
  return { data: bytes.toString("base64"), name, mime_type };
}

/** An agent whose model reads images and PDF. */
export function visionAgent(server: OpenAIServer, model = "openai:gpt-4o-mini") {
  return defineAgent({
    name: "vision",
    llm_config: { default_model: model, base_url: server.url },
  });
}

/** The content of a request's last message of the user. */
export function contentSent(server: OpenAIServer, request: number): unknown {
  const messages = server.requests[request]?.body.messages ?? [];
  return messages.findLast(({ role }) => role === "user")?.["content"];
}

/** The URLs of the images in a request. */
export function imagesSent(server: OpenAIServer, request: number): readonly string[] {
  const messages = server.requests[request]?.body.messages ?? [];
  return messages.flatMap(({ content }) =>
    Array.isArray(content)
      ? content.flatMap((block: { image_url?: { url: string } }) => block.image_url?.url ?? [])
      : [],
  );
}
