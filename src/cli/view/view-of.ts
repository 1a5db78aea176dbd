import type { CliIo } from "../io.ts";
import { createStyle, wantsColour, type Style } from "./style.ts";

/** How what goes to standard output is laid out: lines of unbounded width where it is no terminal. */
export function viewOf({ stdout, env }: Pick<CliIo, "stdout" | "env">): {
  readonly width: number;
  readonly style: Style;
} {
  return {
    width: stdout.isTerminal ? (stdout.columns ?? 80) : Number.POSITIVE_INFINITY,
    style: createStyle(wantsColour(stdout.isTerminal, env)),
  };
}
