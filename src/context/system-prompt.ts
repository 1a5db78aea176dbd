import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import type { AgentSpec } from "../definition/schema.ts";
import { answersInText } from "./answer-form.ts";
import { answerInstructions } from "./prompts.ts";

/**
 * The messages every call of an agent begins with: one system message, then the definition's examples as turns.
 * @param toolInstructions how to call tools in text, for models that do not take tools natively
 */
export function openingMessages(spec: AgentSpec, toolInstructions = ""): readonly BaseMessage[] {
  const { role, instructions, examples } = spec.system_prompt;
  const system = [
    role,
    instructions,
    toolInstructions,
    answersInText(spec.output_schema) ? "" : answerInstructions(spec.output_schema),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
  const turns = examples.flatMap(({ input, output }) => [
    new HumanMessage(input),
    new AIMessage(output),
  ]);
  return system === "" ? turns : [new SystemMessage(system), ...turns];
}
