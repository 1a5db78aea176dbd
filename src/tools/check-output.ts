import type { AgentTool } from "../definition/tool.ts";
import { StratagraphError } from "../errors.ts";
import { limitResult } from "./cut-result.ts";
import { toJson } from "./json-value.ts";

/** What a handler returned does not fit the tool's `output_schema`. Costs this call only. */
class ToolOutputError extends StratagraphError {
  readonly code = "tool_output";
  override readonly kind = "run";

  constructor(
    readonly tool: string,
    readonly issues: readonly string[],
  ) {
    super(`Tool "${tool}" returned what does not fit its output_schema: ${issues.join("; ")}.`);
  }
}

/** UTF-8 bytes of JSON up to which an output is checked, where the tool allows no more itself. */
const maxCheckedBytes = 16 * 1024 * 1024;

/**
 * What a handler returned, as a call's result: as JSON, checked by the tool's `output_schema`, then cut to its
 * `max_result_bytes`.
 * @param clean see {@link limitResult}
 * @throws ToolOutputError; what a getter, a proxy or `toJSON` of the output throws.
 */
export function checkOutput(
  tool: AgentTool,
  output: unknown,
  clean?: (json: unknown) => unknown,
): unknown {
  const { name, execution } = tool.definition;
  if (tool.output === undefined) return limitResult(output, execution.max_result_bytes, clean);
  const limit = Math.max(execution.max_result_bytes, maxCheckedBytes);
  const json = toJson(output, limit);
  if (!json.whole) {
    throw new ToolOutputError(name, [
      `it has more than ${limit.toLocaleString("en")} bytes, too many to be checked`,
    ]);
  }
  const checked = tool.output.check(json.value);
  if (!checked.ok) throw new ToolOutputError(name, checked.issues);
  return limitResult(checked.value, execution.max_result_bytes, clean);
}
