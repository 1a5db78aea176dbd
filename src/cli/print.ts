import type { CliIo } from "./io.ts";
import { jsonText } from "./view/json-text.ts";

/** Prints one document of JSON. */
export function printJson(document: unknown, { stdout }: Pick<CliIo, "stdout">): void {
  stdout.write(`${jsonText(document)}\n`);
}

export function printLines(lines: readonly string[], { stdout }: Pick<CliIo, "stdout">): void {
  stdout.write(lines.map((line) => `${line}\n`).join(""));
}
