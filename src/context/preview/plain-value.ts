import { figure } from "./cut-middle.ts";

/**
 * A value of JavaScript as one of JSON, one level deep: the same for what is JSON already. What JSON has no word for is
 * named in brackets. Never throws.
 */
export function plainValue(value: unknown): unknown {
  switch (typeof value) {
    case "undefined":
      return null;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return bigintText(value);
    case "function":
      return "[function]";
    case "symbol":
      return "[symbol]";
    case "object":
      return value === null ? null : attempt(() => plainObject(value));
    default:
      return value;
  }
}

/** Reads of objects may run foreign code: getters, proxies, `toJSON`. */
export function attempt<T>(read: () => T): T | string {
  try {
    return read();
  } catch {
    return "[unreadable]";
  }
}

/** Longer ones take quadratic time to write. */
function bigintText(value: bigint): string {
  const limit = 10n ** 300n;
  return value < limit && value > -limit ? String(value) : "[big integer]";
}

function plainObject(value: object): unknown {
  if (Array.isArray(value)) return value;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return `[${value.constructor.name} of ${figure(value.byteLength)} bytes]`;
  }
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? "[invalid date]" : value.toISOString();
  }
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (value instanceof RegExp || value instanceof URL) return String(value);
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return value.valueOf();
  }
  if (isMessage(value)) return messageFields(value);
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON !== "function") return value;
  let given: unknown;
  try {
    given = toJSON.call(value, "");
  } catch {
    return { ...value };
  }
  return typeof given === "object" ? given : plainValue(given);
}

/** LangChain's messages, whose own JSON is that of their constructor. */
function isMessage(value: object): value is Record<string, unknown> & { getType: () => unknown } {
  return "content" in value && "getType" in value && typeof value.getType === "function";
}

function messageFields(message: Record<string, unknown> & { getType: () => unknown }): object {
  const { content, name, tool_calls: calls, tool_call_id: id } = message;
  return {
    type: message.getType(),
    content,
    ...(name === undefined ? {} : { name }),
    ...(Array.isArray(calls) && calls.length > 0 ? { tool_calls: calls } : {}),
    ...(id === undefined ? {} : { tool_call_id: id }),
  };
}
