import type { CliIo } from "./io.ts";
import { shellCommand } from "./shell-command.ts";

/**
 * How this program was called: `npx stratagraph`, `npm run SCRIPT --` where an npm script is nothing but this program,
 * and `stratagraph` otherwise. npm tells by the environment.
 */
export function programName(env: CliIo["env"]): string {
  const { npm_lifecycle_event: event = "", npm_lifecycle_script: script = "" } = env;
  const words = script.split(/\s+/).map((word) => word.replace(/^(["'])(.*)\1$/, "$2"));
  if (event === "npx") return words.some(isBinary) ? "npx stratagraph" : "stratagraph";
  const last = words.at(-1) ?? "";
  if (isBinary(last) || isSource(last)) return `npm run ${shellCommand([event])} --`;
  // A script of its own options cannot be called with others, but its package has the program.
  return words.some(isBinary) ? "npx stratagraph" : "stratagraph";
}

/** A command line of this program, to be typed as the present one was. */
export function commandLine(words: readonly string[], { env }: Pick<CliIo, "env">): string {
  return `${programName(env)} ${shellCommand(words)}`;
}

function isBinary(word: string): boolean {
  return /(?:^|[/\\])stratagraph(?:\.cmd)?$/.test(word);
}

/** The program's own file, as a script of its repository runs it. */
function isSource(word: string): boolean {
  return /(?:^|[/\\])cli[/\\]main\.[jt]s$/.test(word);
}
