import type { Template } from "../../expression/template.ts";
import type { ExpressionValues } from "./values.ts";

/** A prompt as the text it is for people and models; a template that gives another value is written as JSON. */
export function promptText(prompt: Template | null, values: ExpressionValues): string {
  if (prompt === null) return "";
  const rendered = prompt.render(values);
  if (rendered === null || rendered === undefined) return "";
  return typeof rendered === "string" ? rendered : JSON.stringify(rendered);
}
