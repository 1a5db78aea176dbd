import type { FileHandle } from "node:fs/promises";
import { ToolFailure } from "../tool-result.ts";
import type { Location, RootFolder } from "./root-folder.ts";

export type TextFile =
  | { readonly kind: "text"; readonly text: string; readonly bytes: number }
  | { readonly kind: "binary" }
  | { readonly kind: "too_large"; readonly bytes: number };

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Reads an open file as UTF-8, at most `maxBytes` of it; a byte order mark is left out. Does not close it. */
export async function readText(file: FileHandle, maxBytes: number): Promise<TextFile> {
  const { size } = await file.stat();
  if (size > maxBytes) return { kind: "too_large", bytes: size };
  const buffer = Buffer.alloc(size);
  let filled = 0;
  while (filled < size) {
    const { bytesRead } = await file.read(buffer, filled, size - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  const content = buffer.subarray(0, filled);
  if (content.includes(0)) return { kind: "binary" };
  try {
    return { kind: "text", text: decoder.decode(content), bytes: filled };
  } catch {
    return { kind: "binary" };
  }
}

/**
 * The text of a file in the root folder.
 * @throws ToolFailure when it is no UTF-8 text, or has more than `maxBytes`
 */
export async function textOfFile(
  root: RootFolder,
  location: Location,
  maxBytes: number,
): Promise<string> {
  const file = await root.open(location);
  try {
    const read = await readText(file, maxBytes);
    if (read.kind === "text") return read.text;
    if (read.kind === "binary") {
      throw new ToolFailure(`"${location.shown}" is not UTF-8 text, and cannot be read as such.`);
    }
    throw new ToolFailure(
      `"${location.shown}" has ${read.bytes.toLocaleString("en")} bytes; files of up to ${maxBytes.toLocaleString("en")} are read.`,
    );
  } finally {
    await file.close();
  }
}

/** Without line ends; a line end at the end of the text begins no further line. */
export function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
