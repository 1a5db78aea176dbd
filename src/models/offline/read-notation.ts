/** Reads what `compactNotation` writes, and JSON. A text that is neither is returned as it is. Never throws. */
export function readNotation(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
