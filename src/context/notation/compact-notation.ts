/**
 * A JSON value with fewer tokens than JSON has, and without loss: `readNotation` reads it back. A string is returned as
 * it is; what is small or would hardly be shorter is plain JSON.
 */
export function compactNotation(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
}
