import { errorMessage, StratagraphError } from "../errors.ts";
import { commandMessage } from "./command-message.ts";
import type { CliIo } from "./io.ts";
import { snakeCase } from "./snake-case.ts";
import { printJson } from "./print.ts";
import { labelledLines } from "./view/labelled-lines.ts";
import { plainText } from "./view/plain-text.ts";
import { viewOf } from "./view/view-of.ts";

export const exitCodes = { done: 0, runFailed: 1, wrongUse: 2, waits: 3 } as const;

/** Facts of an error that are said elsewhere, or mean nothing outside the process. */
const unsaid = new Set(["code", "kind", "transient", "name", "message", "cause", "stack"]);

/**
 * Tells what was thrown: as text on stderr, and as the one JSON document on stdout where that was asked for. Only what
 * nobody threw on purpose comes with its stack.
 * @returns the exit code
 */
export function reportError(thrown: unknown, io: CliIo, asJson: boolean): number {
  const known = thrown instanceof StratagraphError;
  if (asJson) {
    const message = known ? { message: commandMessage(thrown, io) } : {};
    printJson({ error: { ...errorJson(thrown), ...message } }, io);
  }
  if (!asJson || !known) {
    const { width, style } = viewOf({ stdout: io.stderr, env: io.env });
    const said = known ? commandMessage(thrown, io) : stackOf(thrown);
    const [first = "", ...others] = plainText(said).split("\n");
    const coded = known ? [`${first} [${thrown.code}]`, ...others] : [first, ...others];
    // The lines of a stack are read by programs.
    const lines = labelledLines("error:", coded.join("\n"), {
      width: known ? width : Number.POSITIVE_INFINITY,
      colour: style.red,
    });
    io.stderr.write(lines.map((line) => `${line}\n`).join(""));
  }
  return known && thrown.kind === "usage" ? exitCodes.wrongUse : exitCodes.runFailed;
}

/** An error as JSON: its code, its message, and the facts that it carries, in snake_case. */
export function errorJson(thrown: unknown): Record<string, unknown> {
  if (!(thrown instanceof StratagraphError)) {
    return { code: "internal", message: errorMessage(thrown) };
  }
  const facts = Object.entries(thrown).filter(
    ([name, value]) => !unsaid.has(name) && isData(value),
  );
  return {
    code: thrown.code,
    message: thrown.message,
    ...Object.fromEntries(facts.map(([name, value]) => [snakeCase(name), value])),
  };
}

function stackOf(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}

function isData(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value !== "function";
  if (Array.isArray(value)) return value.every(isData);
  return Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isData);
}
