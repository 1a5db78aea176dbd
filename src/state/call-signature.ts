import { cutMark, headOf } from "./cut-text.ts";
import { jsonHead } from "./json-head.ts";

/** Characters of one argument's value that a line shows. */
const shownValue = 80;

/** A call in one line: `search(query="python tutorial", limit=3)`, long values cut and marked. */
export function callSignature({
  name,
  args,
}: {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}): string {
  const shown = Object.entries(args).map(([key, value]) => `${key}=${shortValue(value)}`);
  return inOneLine(`${name}(${shown.join(", ")})`);
}

function shortValue(value: unknown): string {
  if (typeof value === "string") {
    const head = headOf(value, shownValue);
    const quoted = JSON.stringify(head);
    return head === value ? quoted : quoted + cutMark(value.length - head.length);
  }
  const json = jsonHead(value, 20 * shownValue);
  const head = headOf(json.text, shownValue);
  if (json.whole && head === json.text) return head;
  return head + cutMark(json.text.length - head.length, !json.whole);
}

/** Lines of a text, trimmed, with a space between them. */
export function inOneLine(text: string): string {
  const lines = text.split(/[\r\n\u2028\u2029]/).map((line) => line.trim());
  return lines.filter((line) => line !== "").join(" ");
}
