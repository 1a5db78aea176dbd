import type { CliIo } from "../io.ts";
import { UsageError } from "../usage-error.ts";

/**
 * Asks on the terminal whether to do what cannot be undone; `--yes` says so beforehand.
 * @returns whether to go on
 * @throws UsageError where nobody can be asked
 */
export async function confirmed(
  question: string,
  given: { readonly yes?: boolean; readonly json?: boolean },
  io: Pick<CliIo, "openPrompt" | "onStop">,
): Promise<boolean> {
  if (given.yes === true) return true;
  if (given.json === true || io.openPrompt === null) {
    throw new UsageError(`${question} That cannot be undone: say so with --yes.`, "not_confirmed");
  }
  const leave = new AbortController();
  const release = io.onStop(() => leave.abort());
  const prompt = io.openPrompt();
  try {
    const line = await prompt.line(`${question} That cannot be undone. y/N › `, {
      signal: leave.signal,
    });
    return ["y", "yes"].includes(line?.trim().toLowerCase() ?? "");
  } finally {
    prompt.close();
    release();
  }
}
