import type { CheckResult, JsonSchema, SchemaCheck } from "../definition/schema/json-schema.ts";
import { parseJsonAnswer } from "../models/replies/json-answer.ts";

/** Whether an output schema is `{ message: string }`, so that an answer is plain text instead of JSON. */
export function answersInText(outputSchema: JsonSchema): boolean {
  const properties = outputSchema["properties"];
  if (typeof properties !== "object" || properties === null) return false;
  const names = Object.keys(properties);
  const message = (properties as Record<string, { type?: unknown } | undefined>)["message"];
  return names.length === 1 && message?.type === "string";
}

/** An answer's text as the value that the output schema describes; not yet checked against it. */
function readAnswer(
  text: string,
  outputSchema: JsonSchema,
): { readonly value: unknown } | { readonly problem: string } {
  if (answersInText(outputSchema)) return { value: { message: text } };
  const parsed = parseJsonAnswer(text);
  return parsed.ok ? { value: parsed.value } : { problem: parsed.problem };
}

/** The value of an answer's text that fits the schema, or what is wrong with it. */
export function checkAnswer<T>(text: string, schema: SchemaCheck<T>): CheckResult<T> {
  const read = readAnswer(text, schema.jsonSchema);
  return "problem" in read ? { ok: false, issues: [read.problem] } : schema.check(read.value);
}

/** A value as the text of an answer, so that {@link checkAnswer} gives the value back. */
export function toAnswerText(value: unknown, outputSchema: JsonSchema): string {
  if (typeof value === "string") return value;
  if (answersInText(outputSchema) && typeof value === "object" && value !== null) {
    const { message } = value as { message?: unknown };
    if (typeof message === "string") return message;
  }
  return JSON.stringify(value) ?? "null";
}

/** A turn's input as the person's message: `input.message` where that is all there is, else the input as JSON. */
export function inputText(input: unknown): string {
  if (typeof input === "string") return input;
  if (typeof input === "object" && input !== null) {
    const keys = Object.keys(input);
    const message = (input as { message?: unknown }).message;
    if (keys.length === 1 && typeof message === "string") return message;
  }
  return JSON.stringify(input);
}
