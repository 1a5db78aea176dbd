import { isRecord } from "../state/is-record.ts";
import { defaultExecution } from "./tool-execution.ts";
import type { ToolDefinition } from "./tool.ts";

/**
 * A tool that comes with its definition, as it is hashed there: without the defaults of keys that came later than the first
 * hashes.
 */
export function hashedTool(tool: ToolDefinition): Record<string, unknown> {
  const { transport, permissions, execution, ...rest } = tool;
  const { retry, sandbox, repeatable, ...limits } = execution;
  const usual = defaultExecution.retry;
  const isUsual = retry.max_retries === usual.max_retries && retry.backoff_ms === usual.backoff_ms;
  return {
    ...rest,
    ...(transport.type !== typeOfOlder(tool.is_builtin) && { transport }),
    ...(permissions.length > 0 && { permissions }),
    execution: {
      ...limits,
      ...(!isUsual && { retry }),
      ...(sandbox && { sandbox }),
      ...(repeatable && { repeatable }),
    },
  };
}

/** A tool as an earlier version stored it, with the keys that it did not know as they were meant. */
export function toolOfToday(stored: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { execution, is_builtin } = stored;
  const { retry, sandbox, repeatable } = defaultExecution;
  return {
    transport: { type: typeOfOlder(is_builtin) },
    permissions: [],
    ...stored,
    ...(isRecord(execution) && { execution: { retry, sandbox, repeatable, ...execution } }),
  };
}

/** What the calls of all tools went through before there were others. */
function typeOfOlder(isBuiltin: unknown): "builtin" | "function" {
  return isBuiltin === true ? "builtin" : "function";
}
