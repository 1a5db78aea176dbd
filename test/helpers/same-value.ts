import { types } from "node:util";
import { MemorySaver } from "@langchain/langgraph";
import { keepData } from "../../checkpointers/elements/revive.ts";

const stock = new MemorySaver().serde;
/** Asked as a serializer of somebody else's would be. */
const keeping = keepData({
  dumpsTyped: (value) => stock.dumpsTyped(value),
  loadsTyped: (type, bytes) => stock.loadsTyped(type, bytes),
});

/** What LangGraph's own serializer makes of a value that is stored and read, where plain data stays as it is. */
export async function roundTrip(value: unknown): Promise<unknown> {
  const [type, bytes] = await keeping.dumpsTyped(value);
  // A database gives bytes as a Buffer of its own.
  return keeping.loadsTyped(type, type === "json" ? bytes : Buffer.from(bytes));
}

/**
 * Where two values differ, or null: in prototypes, own keys and their order, holes, minus zeros, or in what is inside maps, sets and
 * expressions. Unlike `firstDifference` it does not mind what is frozen, nor which objects are one and the same.
 */
export function contentDifference(
  actual: unknown,
  expected: unknown,
  path = "value",
): string | null {
  if (!isObject(actual) || !isObject(expected)) return Object.is(actual, expected) ? null : path;
  const [one, other]: unknown[] = [actual, expected].map(
    (of) => Object.getPrototypeOf(of) as object,
  );
  // Data may serve as a prototype, where it had a key of that name.
  if (one !== other && contentDifference(one, other) !== null) return `${path}: prototype`;
  if (Array.isArray(actual) !== Array.isArray(expected)) return `${path}: kind`;
  if (types.isRegExp(actual) && !(types.isRegExp(expected) && `${actual}` === `${expected}`))
    return path;
  if (types.isMap(actual) || types.isSet(actual)) {
    if (!types.isMap(expected) && !types.isSet(expected)) return path;
    const difference = contentDifference([...actual], [...expected], `${path} contents`);
    if (difference !== null) return difference;
  }
  const keysOf = (of: object) =>
    Reflect.ownKeys(of).filter((key) => !(key === "stack" && types.isNativeError(of)));
  const keys = keysOf(actual);
  const listed = [keys, keysOf(expected)].map((all) => all.map(String).join());
  if (listed[0] !== listed[1]) return `${path}: keys ${listed[0]}, expected ${listed[1]}`;
  for (const key of keys) {
    const difference = contentDifference(
      Reflect.get(actual, key),
      Reflect.get(expected, key),
      `${path}.${String(key)}`,
    );
    if (difference !== null) return difference;
  }
  return null;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
