import type { AgentTool } from "../definition/tool.ts";
import type { JsonSchema } from "../definition/json-schema.ts";
import { StratagraphError } from "../errors.ts";

/** The arguments of a call do not fit the tool's `input_schema`. Costs this call only; the model reads the message. */
class ToolInputError extends StratagraphError {
  readonly code = "tool_input";
  override readonly kind = "run";

  constructor(
    readonly tool: string,
    readonly issues: readonly string[],
    inputSchema: JsonSchema,
  ) {
    super(
      `Bad arguments for tool "${tool}": ${issues.join("; ")}. ${describeProperties(inputSchema)}`,
    );
  }
}

/**
 * A call's arguments as its handler gets them: checked, and a copy, so that the record of the call stays as it was.
 * @throws ToolInputError
 */
export function checkInput(tool: AgentTool, args: unknown): unknown {
  const checked = tool.input.check(args);
  if (checked.ok) return copyPlain(checked.value);
  const { name, input_schema } = tool.definition;
  throw new ToolInputError(name, checked.issues, input_schema);
}

/** What an object schema takes, in one sentence: `It takes: path (string), limit (integer, optional).` */
function describeProperties(schema: JsonSchema): string {
  const properties = Object.entries(asRecord(schema.properties));
  if (properties.length === 0) return "It takes no named arguments.";
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const words = properties.map(([name, property]) => {
    const notes = [typeWords(asRecord(property)), required.includes(name) ? "" : "optional"];
    const said = notes.filter((note) => note !== "").join(", ");
    return said === "" ? name : `${name} (${said})`;
  });
  return `It takes: ${words.join(", ")}.`;
}

function typeWords({ enum: values, type }: Record<string, unknown>): string {
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(type)) return type.join(" | ");
  return typeof type === "string" ? type : "";
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** A copy of arrays and plain objects; anything else, such as what a zod transform made, is passed on. */
function copyPlain(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyPlain);
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyPlain(item)]));
}
