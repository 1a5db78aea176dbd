import type { CliIo } from "./io.ts";
import { jsonText } from "./view/values.ts";

/** Prints one document of JSON. */
export function printJson(document: unknown, { stdout }: Pick<CliIo, "stdout">): void {
  stdout.write(`${jsonText(document)}\n`);
}

export function printLines(lines: readonly string[], { stdout }: Pick<CliIo, "stdout">): void {
  stdout.write(lines.map((line) => `${line}\n`).join(""));
}

/** `threadId` as `thread_id`, as JSON documents of the command line say it. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** An object with its keys in snake_case. What its values hold stays as it is. */
export function snakeKeys(object: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [snakeCase(key), value]));
}
