import { z } from "zod";

/** Stored bytes in a line of an export: as the JSON that they are the text of, else as text, else as base64. */
export const readableBytes = z.union([
  z.strictObject({ base64: z.base64() }),
  z.strictObject({ text: z.string() }),
  z.strictObject({ json: z.unknown().refine((value): boolean => value !== undefined) }),
]);
export type ReadableBytes = z.infer<typeof readableBytes>;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function toReadable(bytes: Uint8Array): ReadableBytes {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return { base64: Buffer.from(bytes).toString("base64") };
  }
  try {
    const json: unknown = JSON.parse(text);
    // Spaces, and ways to write a number or a letter, would be lost: the bytes have a hash to keep.
    if (JSON.stringify(json) === text) return { json };
  } catch {
    // Other text, or JSON nested deeper than can be written again.
  }
  return { text };
}

export function fromReadable(readable: ReadableBytes): Buffer {
  if ("base64" in readable) return Buffer.from(readable.base64, "base64");
  return Buffer.from("json" in readable ? JSON.stringify(readable.json) : readable.text, "utf8");
}
