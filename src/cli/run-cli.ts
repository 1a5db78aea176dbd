import { type CliIo, UsageError } from "./io.ts";
import { CommanderError } from "commander";
import { createProgram } from "./program.ts";
import { exitCodes, reportError } from "./report-error.ts";

/**
 * Runs one command line. `argv` is without the program's own name.
 * @returns the exit code: 0 done, 1 the run failed, 2 wrong use, 3 it waits for a person
 */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  let exitCode: number = exitCodes.done;
  const program = createProgram(io, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) {
      return reportError(thrown, io, wantsJson(argv));
    }
    if (thrown.exitCode === 0) return exitCodes.done;
    // Commander has printed the help already: no command was given.
    if (thrown.code === "commander.help") return exitCodes.wrongUse;
    return reportError(usageErrorOf(thrown), io, wantsJson(argv));
  }
}

function usageErrorOf({ message }: CommanderError): UsageError {
  return new UsageError(message.replace(/^error: /, "").replace(/\n\((.*)\)$/s, ". $1"));
}

function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? argv.length : end).includes("--json");
}
