/**
 * Finds out which service broke first. Shows the two tiers: the logs are parsed once a turn into `execution`, so an
 * attempt that is refused costs no second parse, while the notes of an attempt start anew. The next attempt reads a
 * preview of what is already parsed.
 *
 *   npm run stratagraph -- run examples/log-triage/agent.ts "Parse the logs: which service fails most, and since when?"
 */
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { defineAgent, ToolFailure } from "../../src/index.ts";
import {
  describeErrors,
  errorsByService,
  firstError,
  parseLogs,
  type ParsedLogs,
} from "./parse-logs.ts";

const folder = fileURLToPath(new URL("logs", import.meta.url));

export default defineAgent({
  name: "log-triage",
  version: "1.0.0",
  description:
    "Reads a folder of service logs and names the service that fails most, and since when.",
  system_prompt: {
    role: "You are an on-call engineer who triages logs.",
    instructions:
      "Parse the logs, count errors by service, and name the service with the most errors, how many, and the time of its first one.",
    examples: [],
  },
  context_config: { execution_view: "preview" },
  initialExecutionState: () => ({ logs: null as ParsedLogs | null, parses: 0, reuses: 0 }),
  initialAttemptState: () => ({ looked_at: [] as string[] }),
  tools: {
    parse_logs: {
      description: "Parses all logs of the folder and counts the errors of each service.",
      input_schema: z.object({}),
      persistence: "execution",
      handler: async ({ execution, attempt }) => {
        const logs = execution.logs ?? (await parseLogs(folder));
        const counted =
          execution.logs === null
            ? { ...execution, logs, parses: execution.parses + 1 }
            : { ...execution, reuses: execution.reuses + 1 };
        return {
          newState: { execution: counted, attempt },
          toolResult: `Parsed ${logs.lines} lines. Errors: ${describeErrors(logs)}.`,
        };
      },
    },
    first_error: {
      description: "Gives the time and message of the first error of one service.",
      input_schema: z.object({
        service: z
          .enum(["api-gateway", "auth", "orders", "payments"])
          .describe("name of the service"),
      }),
      persistence: "attempt",
      handler: ({ execution, attempt }, { service }) => {
        if (execution.logs === null) throw new ToolFailure("No logs yet: call parse_logs first.");
        const error = firstError(execution.logs, service);
        return {
          newState: {
            execution,
            attempt: { looked_at: [...attempt.looked_at, service] },
          },
          toolResult: error
            ? `The first error of ${service} came at ${error.time} from ${error.component}: ${error.message}`
            : `${service} has no errors.`,
        };
      },
    },
  },
  validate: (output, { execution }) => {
    if (execution.logs === null) return "the logs were not parsed: call parse_logs";
    const worst = errorsByService(execution.logs)[0]?.service ?? "";
    const since = firstError(execution.logs, worst)?.time ?? "";
    const problems: string[] = [];
    if (!output.message.includes(worst)) problems.push(`name the service "${worst}"`);
    if (!output.message.includes(since)) {
      problems.push(`give the time and message of the first error of the service "${worst}"`);
    }
    return problems;
  },
});
