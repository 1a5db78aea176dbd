import type { CliIo } from "./io.ts";
import { plainText } from "./view/terminal.ts";

/** Quotes words for a POSIX shell, which reads the same words back. The result holds no control characters. */
export function shellCommand(words: readonly string[]): string {
  return words.map(quoteWord).join(" ");
}

function quoteWord(word: string): string {
  const shown = plainText(word);
  return /^[\w@%+=:,./-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`;
}

/**
 * How this program was called: `npx stratagraph`, `npm run SCRIPT --` if the npm script runs only this program, and
 * `stratagraph` otherwise. Read from the environment variables that npm sets.
 */
export function programName(env: CliIo["env"]): string {
  const { npm_lifecycle_event: event = "", npm_lifecycle_script: script = "" } = env;
  const words = script.split(/\s+/).map((word) => word.replace(/^(["'])(.*)\1$/, "$2"));
  if (event === "npx") return words.some(isBinary) ? "npx stratagraph" : "stratagraph";
  const last = words.at(-1) ?? "";
  if (isBinary(last) || isSource(last)) return `npm run ${shellCommand([event])} --`;
  // A script with options of its own cannot be called with others, but its package has the program.
  return words.some(isBinary) ? "npx stratagraph" : "stratagraph";
}

/** A command line of this program, called the way the current process was. */
export function commandLine(words: readonly string[], { env }: Pick<CliIo, "env">): string {
  return `${programName(env)} ${shellCommand(words)}`;
}

function isBinary(word: string): boolean {
  return /(?:^|[/\\])stratagraph(?:\.cmd)?$/.test(word);
}

/** Tests for the program's source file, as a script of its repository runs it. */
function isSource(word: string): boolean {
  return /(?:^|[/\\])cli[/\\]main\.[jt]s$/.test(word);
}
