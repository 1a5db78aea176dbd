/** A turn's input as the person's message: `input.message` where that is all there is, else the input as JSON. */
export function inputText(input: unknown): string {
  if (typeof input === "string") return input;
  if (typeof input === "object" && input !== null) {
    const keys = Object.keys(input);
    const message = (input as { message?: unknown }).message;
    if (keys.length === 1 && typeof message === "string") return message;
  }
  return JSON.stringify(input);
}
