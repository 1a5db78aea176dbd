import { NotationReader, NotNotation } from "./notation-reader.ts";

/**
 * Reads what the context's `compactNotation` writes, and JSON. A text that is neither is returned as it is, and so is
 * one nested more than 150 levels deep that is not JSON. Never throws. Takes linear time.
 */
export function readNotation(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return notation(text);
  }
}

function notation(text: string): unknown {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed)) return text;
  try {
    const value = new NotationReader(trimmed).read();
    return isLabel(value) ? text : value;
  } catch (thrown) {
    if (thrown instanceof NotNotation) return text;
    throw thrown;
  }
}

/** `[truncated]`: a single string in brackets is never given as notation, since it would save next to nothing. */
function isLabel(value: unknown): boolean {
  return Array.isArray(value) && value.length === 1 && typeof value[0] === "string";
}
