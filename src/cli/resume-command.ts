import type { CliIo } from "./io.ts";
import { commandLine } from "./program-name.ts";
import type { AgentOptions } from "./run-arguments.ts";

/** The command line that goes on with a thread, under the same conditions. */
export function resumeCommand(
  given: AgentOptions & { readonly agent: string },
  threadId: string,
  io: Pick<CliIo, "env">,
): string {
  const options = {
    "--thread": threadId,
    "--model": given.model,
    "--temperature": given.temperature,
    "--tools": given.tools,
    "--root": given.root,
  };
  const words = Object.entries(options).flatMap(([option, value]) =>
    value === undefined ? [] : [option, String(value)],
  );
  const accept = [
    ...(given.acceptChanges === true ? ["--accept-changes"] : []),
    ...(given.acceptAgent === true ? ["--accept-agent"] : []),
  ];
  return commandLine(["run", given.agent, ...words, ...accept], io);
}
