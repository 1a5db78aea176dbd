import type { CliIo } from "./io.ts";

/** Prints one document of JSON. */
export function printJson(document: unknown, { stdout }: Pick<CliIo, "stdout">): void {
  stdout.write(`${JSON.stringify(document, null, 2)}\n`);
}

export function printLines(lines: readonly string[], { stdout }: Pick<CliIo, "stdout">): void {
  stdout.write(lines.map((line) => `${line}\n`).join(""));
}
