import type { BaseMessage } from "@langchain/core/messages";
import { openingMessages } from "../../context/system-prompt.ts";
import type { ToolForm } from "../../context/step-messages.ts";
import type { JsonSchema } from "../../definition/json-schema.ts";
import type { AgentSpec } from "../../definition/schema.ts";
import type { ModelTool } from "../../models/agent-model.ts";
import { renderTextFormInstructions } from "../../models/text-form.ts";
import type { Thinker } from "./parts.ts";

/**
 * What the calls of a thinker begin with. Models that are told of their tools in text are told of all of them, or where
 * there are too many for that, of those that the request offers.
 */
export function openings(
  spec: AgentSpec,
  of: { readonly answerSchema: JsonSchema | null; readonly modelTools: readonly ModelTool[] },
): Thinker["opening"] {
  const { answerSchema, modelTools } = of;
  const inText = (tools: readonly ModelTool[]) =>
    openingMessages(spec, { answerSchema, toolInstructions: renderTextFormInstructions(tools) });
  const isChosen = modelTools.length > spec.tool_selection.above;
  const whole: Record<ToolForm, readonly BaseMessage[]> = {
    native: openingMessages(spec, { answerSchema }),
    text: inText(isChosen ? [] : modelTools),
  };
  const made = new WeakMap<readonly ModelTool[], readonly BaseMessage[]>();
  return (form, offered = []) => {
    if (form === "native" || !isChosen || offered.length === 0) return whole[form];
    const known = made.get(offered) ?? inText(offered);
    made.set(offered, known);
    return known;
  };
}
