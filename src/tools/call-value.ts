import type { JsonSchema } from "../definition/schema/json-schema.ts";
import type { AgentTool } from "../definition/tool/tool.ts";
import { StratagraphError } from "../errors.ts";
import { cutToJsonBytes, type JsonCopy, jsonStringBytes, toJson } from "../values/bounded-json.ts";

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

/** What a handler returned does not fit the tool's `output_schema`. Costs this call only. */
class ToolOutputError extends StratagraphError {
  readonly code = "tool_output";
  override readonly kind = "run";

  constructor(
    readonly tool: string,
    readonly issues: readonly string[],
  ) {
    super(`Tool "${tool}" returned what does not fit its output_schema: ${issues.join("; ")}.`);
  }
}

/** UTF-8 bytes of JSON up to which an output is checked, where the tool allows no more itself. */
const maxCheckedBytes = 16 * 1024 * 1024;

/**
 * What a handler returned, as a call's result: as JSON, checked by the tool's `output_schema`, then cut to its
 * `max_result_bytes`.
 * @param clean see {@link limitResult}
 * @throws ToolOutputError; what a getter, a proxy or `toJSON` of the output throws.
 */
export function checkOutput(
  tool: AgentTool,
  output: unknown,
  clean?: (json: unknown) => unknown,
): unknown {
  const { name, execution } = tool.definition;
  if (tool.output === undefined) return limitResult(output, execution.max_result_bytes, clean);
  const limit = Math.max(execution.max_result_bytes, maxCheckedBytes);
  const json = toJson(output, limit);
  if (!json.whole) {
    throw new ToolOutputError(name, [
      `it has more than ${limit.toLocaleString("en")} bytes, too many to be checked`,
    ]);
  }
  const checked = tool.output.check(json.value);
  if (!checked.ok) throw new ToolOutputError(name, checked.issues);
  return limitResult(checked.value, execution.max_result_bytes, clean);
}

/** What stands in place of a result that is no text and has more bytes than its tool's `max_result_bytes`. */
export interface CutResult {
  readonly truncated: true;
  /** UTF-8 bytes of the whole result's JSON; a minimum if `original_bytes_counted` is false. */
  readonly original_bytes: number;
  /** Left out when the bytes are exact. */
  readonly original_bytes_counted?: false;
  /** The beginning of the result's JSON, as text. */
  readonly preview: string;
}

/**
 * Any handler's result as JSON of at most `maxBytes`, the mark of a cut included (a limit smaller than the mark gives
 * the mark alone). A text that is too long is cut and says so at its end; anything else becomes a {@link CutResult}.
 * @param clean removes confidential values from a result that is cut. It gets more than is kept, since the cut
 * may leave a beginning that it would not know.
 * @throws what a getter, a proxy or `toJSON` of the value throws.
 */
export function limitResult(
  result: unknown,
  maxBytes: number,
  clean?: (json: unknown) => unknown,
): unknown {
  const json = toJson(result, maxBytes);
  if (json.whole) return json.value;
  if (clean === undefined) return cut(json, maxBytes);
  const { value, bytes, whole, counted } = toJson(result, maxBytes * cleanedFactor);
  const cleaned = toJson(clean(value), maxBytes);
  return whole && cleaned.whole ? cleaned.value : cut({ ...cleaned, bytes, counted }, maxBytes);
}

/** How much more than what is kept is cleaned, as a factor. */
const cleanedFactor = 16;

function cut(json: JsonCopy, maxBytes: number): string | CutResult {
  if (typeof json.value === "string") {
    const size = `${json.counted ? "" : "more than "}${json.bytes.toLocaleString("en")}`;
    const mark = `… [cut: ${size} bytes, the limit is ${maxBytes.toLocaleString("en")}]`;
    return cutToJsonBytes(json.value, maxBytes - jsonStringBytes(mark)) + mark;
  }
  const mark: CutResult = {
    truncated: true,
    original_bytes: json.bytes,
    ...(json.counted ? {} : { original_bytes_counted: false }),
    preview: "",
  };
  const room = maxBytes - JSON.stringify(mark).length;
  return { ...mark, preview: cutToJsonBytes(JSON.stringify(json.value), room) };
}
