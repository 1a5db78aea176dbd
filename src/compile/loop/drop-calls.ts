import type { ToolMessage } from "@langchain/core/messages";
import type { GraphState, GraphUpdate } from "../../state/channels.ts";
import type { CurrentStep, StepRecord } from "../../state/step-record.ts";
import { refusedCall } from "../../tools/tool-result.ts";
import { toolMessage } from "./close-step.ts";
import type { NodeRun } from "./node-body.ts";

/** Closes steps of branches that an attempt has ended without. */
export function dropLeftOver(
  state: GraphState,
  run: NodeRun,
): Pick<GraphUpdate, "steps" | "messages"> {
  const open = state.branches.flatMap((branch) => branch.open);
  return open.length === 0 ? {} : dropCalls(open, run, "the attempt ended before");
}

/** Closes steps whose calls nobody will run, so that they leave their records. */
export function dropCalls(
  open: readonly CurrentStep[],
  run: NodeRun,
  why: string,
): { readonly steps: readonly StepRecord[]; readonly messages: readonly ToolMessage[] } {
  const steps = open.map((step): StepRecord => {
    const results = step.tool_predictions.map((call) => refusedCall(call, `Not run: ${why}.`));
    return { ...step, tool_results: results, concurrent_execution: false };
  });
  for (const step of steps) run.emit({ type: "step", step });
  const results = steps.flatMap((step) => step.tool_results);
  return { steps, messages: results.map((result) => toolMessage(result, run.parts.ids())) };
}
