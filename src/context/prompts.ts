import type { JsonSchema } from "../definition/json-schema.ts";
import { answersInText } from "./answer-form.ts";

/** The fixed texts that a model reads beside the definition's own prompt and the history. */

const outputSchemaLine = "Output JSON Schema: ";

export function answerInstructions(outputSchema: unknown): string {
  return (
    "When you have the answer, reply with one JSON value that fits this schema, and nothing else.\n" +
    outputSchemaLine +
    JSON.stringify(outputSchema)
  );
}

export const emptyReplyFeedback =
  "Your last reply held neither a tool call nor an answer. Call a tool, or give the final answer.";

export function attemptFeedback(errors: readonly string[]): string {
  const listed = errors.map((error) => `- ${error}`).join("\n");
  return `That answer was not accepted:\n${listed}\nMend these points and answer the request again.`;
}

export function finalAnswerRequest(outputSchema: JsonSchema): string {
  const how = answersInText(outputSchema)
    ? "and say what is missing."
    : "as one JSON value that fits the schema.";
  return `No more steps are left. Give the best final answer you can from what is known so far, without calling a tool, ${how}`;
}

export const approachRequest =
  "Before acting, state in a few sentences the approach you will take to this request. Do not call a tool yet.";

export const planningRequest =
  "State in one or two sentences what the next step should be and why. Do not call a tool yet.";

export const reflectionRequest =
  "Look back at the last step. Reply with one JSON object: " +
  '{"reflection": string, "synthesis": string (how the step advances the goal), ' +
  '"progress": "advancing" | "stuck" | "regressing", ' +
  '"hypothesis": {"belief": string, "test": string} | null, ' +
  '"approach": string (only when it should change)}';

export const judgementRequest =
  "Judge your last answer against the request. Reply with one JSON object: " +
  '{"accepted": boolean, "reasons": [string]} where reasons name what must change.';

export function deepNotes(notes: {
  approach: string;
  reflection: string;
  planning: string;
}): string {
  return [
    notes.approach && `Approach: ${notes.approach}`,
    notes.reflection && `Reflection on the last step: ${notes.reflection}`,
    notes.planning && `Plan for this step: ${notes.planning}`,
  ]
    .filter(Boolean)
    .join("\n");
}
