import type { Usage } from "../../state/usage.ts";
import type { LogEntry } from "./log-entry.ts";

/** What a log says of the cost of a model's answer. */
export type LoggedUsage = NonNullable<
  Extract<LogEntry, { event_type: "LLM_INVOCATION" }>["payload"]["usage"]
>;

/** Without how often the model was asked, which may differ from run to run. */
export function loggedUsage({ tokens_in, tokens_out, cost_usd }: Usage): LoggedUsage {
  return { tokens_in, tokens_out, cost_usd };
}
