import type { GraphState } from "../../state/channels.ts";
import type { ToolResult } from "../../state/step-record.ts";
import { inspectGiven } from "./inspect-given.ts";
import type { NodeRun } from "./node-body.ts";

/** What a call gave as it may be read: known values redacted, withheld or marked where a guardrail says so. */
export async function inspectResult(
  given: ToolResult,
  at: { readonly state: GraphState; readonly run: NodeRun; readonly stepIndex: number },
): Promise<ToolResult> {
  const { id: callId, name: by, result, error } = given;
  const { stepIndex } = at;
  const { value, withheldBy, warning } = await inspectGiven(
    { result, error },
    { by, stepIndex, callId },
    at,
  );
  if (withheldBy !== null) {
    const problem = `The result of tool "${by}" was withheld by guardrail ${withheldBy}. Go on without it.`;
    return { ...given, outcome: "error", result: null, error: problem };
  }
  return { ...given, ...value, ...(warning !== null && { warning }) };
}
