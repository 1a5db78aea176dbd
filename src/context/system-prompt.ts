import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import type { JsonSchema } from "../definition/json-schema.ts";
import type { AgentSpec } from "../definition/schema.ts";
import { answersInText } from "./answer-form.ts";
import { answerInstructions, toolDataNote } from "./prompts.ts";

/** The messages every call of an agent begins with: one system message, then the definition's examples as turns. */
export function openingMessages(
  spec: AgentSpec,
  options: {
    /** How to call tools in text, for models that do not take tools natively. */
    readonly toolInstructions?: string;
    /** What an answer has to look like; null for free text. Default: the agent's `output_schema`. */
    readonly answerSchema?: JsonSchema | null;
  } = {},
): readonly BaseMessage[] {
  const { toolInstructions = "", answerSchema = spec.output_schema } = options;
  const { role, instructions, examples } = spec.system_prompt;
  const isText = answerSchema === null || answersInText(answerSchema);
  const system = [
    role,
    instructions,
    toolInstructions,
    marksToolData(spec) ? toolDataNote : "",
    isText ? "" : answerInstructions(answerSchema),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
  const turns = examples.flatMap(({ input, output }) => [
    new HumanMessage(input),
    new AIMessage(output),
  ]);
  return system === "" ? turns : [new SystemMessage(system), ...turns];
}

/** Whether the agent is guarded against instructions in what its tools give. */
function marksToolData({ guardrail_config: { input_rails: rails } }: AgentSpec): boolean {
  return rails.some(({ type, config }) => type === "injection" && config.tool_results);
}
