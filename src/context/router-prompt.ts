import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { StructuredAnswer } from "../models/agent-model.ts";
import { cutText } from "../state/cut-text.ts";
import { attemptFeedback } from "./prompts.ts";

/** One of the ways on that a model chooses among. */
export interface DescribedChoice {
  readonly name: string;
  readonly description: string;
}

/** Characters of an unusable reply that the model is shown again. */
const shownCharacters = 2000;

/** What a router asks of a model, said last. The form is in it as well, for models that no schema reaches. */
export function routerRequest(choices: readonly DescribedChoice[]): string {
  const listed = choices.map(({ name, description }) => `- ${name}: ${oneLine(description)}`);
  return `Choose the one of these that fits best:\n${listed.join("\n")}\n${answerForm(choices)}`;
}

/** The same as a schema. */
export function routerAnswer(choices: readonly DescribedChoice[]): StructuredAnswer {
  return {
    name: "choose",
    description: "Gives the choice and the reason for it.",
    schema: {
      type: "object",
      properties: {
        choice: { type: "string", enum: [...new Set(choices.map(({ name }) => name))] },
        reason: { type: "string", description: "Why, in one sentence." },
      },
      required: ["choice", "reason"],
    },
  };
}

/** Asks once more, after a reply that chose nothing. */
export function routerRetry(
  choices: readonly DescribedChoice[],
  { said, problem }: { readonly said: string; readonly problem: string },
): readonly BaseMessage[] {
  const request = new HumanMessage(`${attemptFeedback([problem])}\n${answerForm(choices)}`);
  return said === "" ? [request] : [new AIMessage(cutText(said, shownCharacters)), request];
}

function answerForm(choices: readonly DescribedChoice[]): string {
  const names = choices.map(({ name }) => JSON.stringify(name)).join(" | ");
  return `Reply with one JSON object: {"choice": ${names}, "reason": string (why, in one sentence)}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
