import { headOf } from "./cut-text.ts";
import { isRecord } from "./is-record.ts";
import { jsonHead } from "./json-head.ts";

/** Characters of a value's short form. */
export const maxWords = 80;

/** A value in a few words for people: a message by who says what, a step by what it did, anything else as JSON. */
export function valueWords(value: unknown): string {
  return cut(messageWords(value) ?? stepWords(value) ?? plainWords(value));
}

function cut(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= maxWords ? line : `${headOf(line, maxWords - 1)}…`;
}

function plainWords(value: unknown): string {
  if (value === undefined) return "nothing";
  return jsonHead(plain(value), maxWords + 1).text;
}

/** A message of LangChain, or what {@link plain} makes of it. */
function messageWords(value: unknown): string | null {
  const message = plain(value);
  if (!isRecord(message) || !("content" in message) || typeof message["type"] !== "string") {
    return null;
  }
  const { type, content, tool_calls: calls } = message;
  const said = typeof content === "string" ? content : jsonHead(content, maxWords).text;
  const names = (Array.isArray(calls) ? calls : []).map((call: unknown) =>
    isRecord(call) ? String(call["name"]) : "?",
  );
  const asks = names.length === 0 ? "" : ` calls ${names.join(", ")}`;
  return `${type}:${said === "" ? "" : ` ${JSON.stringify(headOf(said, maxWords))}`}${asks}`;
}

function stepWords(value: unknown): string | null {
  if (!isRecord(value) || typeof value["step_index"] !== "number") return null;
  const { step_index, turn_number, next_action, tool_predictions, thought } = value;
  const calls = (Array.isArray(tool_predictions) ? tool_predictions : []).map((call: unknown) =>
    isRecord(call) ? String(call["name"]) : "?",
  );
  const did =
    calls.length > 0
      ? `calls ${calls.join(", ")}`
      : typeof next_action === "string"
        ? next_action
        : "";
  const thinks = typeof thought === "string" && thought !== "" ? `: ${headOf(thought, 40)}` : "";
  return `step ${step_index} of turn ${String(turn_number)} ${did}${thinks}`;
}

/**
 * A value as plain data, one level deep: a message as its fields, a date as its text, sets and maps as lists. What is
 * plain already is given back as it is.
 */
export function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return value;
  const { toDict, toJSON } = value as { toDict?: unknown; toJSON?: unknown };
  if (typeof toDict === "function") {
    const dict = toDict.call(value) as { type: string; data: Record<string, unknown> };
    return { type: dict.type, ...dict.data };
  }
  if (value instanceof Map || value instanceof Set) return [...value];
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  return typeof toJSON === "function" ? (toJSON.call(value, "") as unknown) : { ...value };
}
