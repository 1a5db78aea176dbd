import type { ExecuteOptions } from "../runtime/execute-agent.ts";
import type { AgentOptions } from "./run-arguments.ts";
import type { RunReport } from "./run-report.ts";

/** How a turn is run, as the options of the command line say, and told of by a report. */
export function turnOptions(
  { model, temperature, acceptChanges, acceptAgent }: AgentOptions,
  { report, signal }: { readonly report: RunReport; readonly signal: AbortSignal },
): Pick<
  ExecuteOptions,
  "signal" | "onEvent" | "model" | "temperature" | "acceptChanges" | "acceptAgent"
> {
  return {
    signal,
    onEvent: (event) => report.event(event),
    ...(model !== undefined && { model }),
    ...(temperature !== undefined && { temperature }),
    ...(acceptChanges !== undefined && { acceptChanges }),
    ...(acceptAgent !== undefined && { acceptAgent }),
  };
}
