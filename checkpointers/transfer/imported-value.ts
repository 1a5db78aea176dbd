import { DamagedValue } from "../elements/load-value.ts";
import type { DataSerializer } from "../elements/revive.ts";

/** Levels of lists and objects. JSON that is much deeper overflows the stack of what reads it, the database's too. */
const MAX_LEVELS = 1_000;

/** How the elements of a list or an object can be made of a unit. */
export interface UnitShape {
  readonly length: number;
  /** Whether it can be keys and values in turn. */
  readonly hasKeys: boolean;
  /** The last item of an odd number: as the key of an object, that of a value stored by its own elements. */
  readonly lastKey: unknown;
}

/** Looks at a value without reviving it. */
export type InspectValue = (type: string | null, bytes: Uint8Array) => unknown;

/**
 * Returns a function that gives the JSON of bytes, and undefined for plain bytes. It throws a {@link DamagedValue} for what
 * could not be read after the import, and for what reading would construct by its name: any class of LangChain that is
 * no message. A file must not choose what code runs. Undefined for another serializer than LangGraph's: what that makes
 * of bytes is not known here.
 */
export function valueInspector({ isStock }: DataSerializer): InspectValue | undefined {
  if (!isStock) return undefined;
  return (type, bytes) => {
    if (type === null || type === "json") return parseJson(bytes);
    if (type === "bytes") return undefined;
    throw new DamagedValue(
      type === "langchain"
        ? "a value is a LangChain object other than a message, which is not imported"
        : "a value is of a type that no export has",
    );
  };
}

/** @throws {DamagedValue} */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return parseBounded(decoder.decode(bytes));
  } catch (cause) {
    if (cause instanceof DamagedValue) throw cause;
    throw new DamagedValue("a value is not JSON", { cause });
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @throws {DamagedValue} when it is nested too deep; SyntaxError */
export function parseBounded(text: string): unknown {
  if (isDeeper(text, MAX_LEVELS)) {
    throw new DamagedValue(
      `JSON is nested more than ${MAX_LEVELS.toLocaleString("en")} levels deep`,
    );
  }
  return JSON.parse(text);
}

export function unitShape(value: unknown): UnitShape | undefined {
  if (!Array.isArray(value)) return undefined;
  const { length } = value;
  return {
    length,
    hasKeys: value.every(
      (item, at) => at % 2 === 1 || (typeof item === "string" && item !== "__proto__"),
    ),
    lastKey: length % 2 === 1 ? value[length - 1] : undefined,
  };
}

/** Counts brackets outside of strings, which needs no stack. */
function isDeeper(json: string, levels: number): boolean {
  if (json.length <= levels) return false;
  const token = /["[\]{}]/g;
  let level = 0;
  for (let found = token.exec(json); found !== null; found = token.exec(json)) {
    const [bracket] = found;
    if (bracket === '"') token.lastIndex = endOfString(json, token.lastIndex);
    else level += bracket === "[" || bracket === "{" ? 1 : -1;
    if (level > levels) return true;
  }
  return false;
}

/** Where a string that begins before `from` is over. */
function endOfString(json: string, from: number): number {
  for (let quote = json.indexOf('"', from); quote !== -1; quote = json.indexOf('"', quote + 1)) {
    let slashes = 0;
    while (json.charCodeAt(quote - slashes - 1) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
  }
  return json.length;
}

const BACKSLASH = 0x5c;
