import { AIMessage, HumanMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { anyMessage, anyStorable } from "./arbitrary-storable.ts";

class Instance {
  private readonly hidden: unknown;

  constructor(
    readonly shown: unknown,
    hidden: unknown,
  ) {
    this.hidden = hidden;
  }
}

function circular(text: string): object {
  const object: Record<string, unknown> = { text };
  object["self"] = { object };
  return object;
}

function listWithin(length: number): unknown[] {
  const list: unknown[] = Array.from({ length }, (_, at) => ({ at, text: "x".repeat(99) }));
  list.splice(length / 2, 0, { list });
  return list;
}

const pad = fc.nat(400).map((length) => "x".repeat(length));
const nullObject = (entries: Record<string, unknown>) =>
  Object.assign(Object.create(null) as object, entries);

/** What is found in states, of all sizes, and what is not but could be. */
const anyItem: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: pad.map((text) => ({ text })) },
  { weight: 3, arbitrary: fc.oneof(fc.integer(), pad, fc.boolean(), fc.constant(null)) },
  { weight: 3, arbitrary: anyStorable },
  { weight: 2, arbitrary: anyMessage },
  {
    weight: 2,
    arbitrary: pad.map((text) => new HumanMessage({ id: text.slice(0, 3), content: text })),
  },
  {
    weight: 1,
    arbitrary: pad.map(
      (text) =>
        new AIMessage({
          id: "a",
          content: text,
          tool_calls: [{ id: "c", name: "search", args: { for: [text] } }],
        }),
    ),
  },
  { weight: 1, arbitrary: pad.map((text) => nullObject({ text, of: nullObject({}) })) },
  { weight: 1, arbitrary: pad.map((text) => new Instance(text, { text })) },
  { weight: 1, arbitrary: pad.map(circular) },
  { weight: 1, arbitrary: fc.nat(4).map((half) => listWithin(2 * half)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(NaN, -0, Infinity, undefined, "[Circular]") },
  { weight: 1, arbitrary: pad.map((text) => ({ toJSON: () => ({ text }) })) },
  {
    weight: 1,
    arbitrary: fc.nat(9).map((hole) => Object.assign(["first"], { [hole + 2]: 1 })),
  },
  {
    weight: 1,
    arbitrary: pad.map((text) => {
      const shared = { text };
      return { one: shared, other: [shared, shared] };
    }),
  },
);

const anyKey = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom("a", "b", "c", "d", "1", "0", "messages") },
  { weight: 2, arbitrary: fc.string({ maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom("__proto__", "lc", "toJSON", "constructor", "lg_name") },
);

function objectOf(value: fc.Arbitrary<unknown>, maxLength: number): fc.Arbitrary<object> {
  return fc
    .array(fc.tuple(anyKey, value), { maxLength })
    .map((entries) => Object.fromEntries(entries));
}

/** Lists and objects of all sizes, in each other. */
export const anyValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", maxDepth: 3 },
    anyItem,
    fc.array(anyItem, { maxLength: 30 }),
    fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 300, maxLength: 1200 }),
    fc.array(fc.record({ n: fc.nat(9) }), { minLength: 100, maxLength: 300 }),
    objectOf(tie("value"), 6),
    fc
      .nat(300)
      .map((n) => Object.fromEntries(Array.from({ length: n }, (_, at) => [`k${at}`, at]))),
    fc.nat(9).map((n) => "long ".repeat(n * 1000)),
    fc.array(tie("value"), { maxLength: 4 }),
  ),
})).value;

/** A change of a value, which is left as it was. */
export interface Edit {
  readonly kind: (typeof kinds)[number];
  /** Where, as parts of the length. */
  readonly at: number;
  readonly to: number;
  readonly item: unknown;
  readonly items: readonly unknown[];
  readonly key: string;
  readonly whole: unknown;
  /** How many lists and objects to go down first. */
  readonly down: readonly number[];
}

const kinds = [
  "append",
  "append",
  "append",
  "replace last",
  "replace",
  "replace",
  "remove",
  "insert",
  "trim head",
  "trim tail",
  "reverse",
  "move",
  "equal copy",
  "whole",
  "same",
] as const;

const anyPlace = fc.double({ min: 0, max: 0.999, noNaN: true });

export const anyEdit: fc.Arbitrary<Edit> = fc.record({
  kind: fc.constantFrom(...kinds),
  at: anyPlace,
  to: anyPlace,
  item: fc.oneof({ weight: 5, arbitrary: anyItem }, { weight: 1, arbitrary: anyValue }),
  items: fc.array(anyItem, { minLength: 1, maxLength: 5 }),
  key: anyKey,
  whole: anyValue,
  down: fc.array(anyPlace, { maxLength: 2 }),
});

export function applyEdit(value: unknown, edit: Edit): unknown {
  const { down, ...here } = edit;
  if (edit.kind === "whole") return edit.whole;
  if (edit.kind === "equal copy") return equalCopy(value);
  if (Array.isArray(value)) {
    const list: unknown[] = value.slice();
    const inner = Math.floor((down[0] ?? 0) * list.length);
    if (down.length > 0 && isContainer(list[inner])) {
      list[inner] = applyEdit(list[inner], { ...here, down: down.slice(1) });
      return list;
    }
    return editList(list, edit);
  }
  if (!isContainer(value)) return edit.kind === "same" ? value : edit.whole;
  const entries = Object.entries(value);
  const inner = Math.floor((down[0] ?? 0) * entries.length);
  const entry = entries[inner];
  if (down.length > 0 && entry && isContainer(entry[1])) {
    entries[inner] = [entry[0], applyEdit(entry[1], { ...here, down: down.slice(1) })];
    return Object.fromEntries(entries);
  }
  if (edit.kind === "replace" && entry) {
    entries[Math.floor(edit.at * entries.length)]![1] = edit.item;
    return Object.fromEntries(entries);
  }
  const added = edit.items.map((item, at) => [at === 0 ? edit.key : `${edit.key}${at}`, item]);
  return Object.fromEntries(
    editList(entries, { ...edit, item: added[0], items: added }) as [string, unknown][],
  );
}

function editList(list: unknown[], { kind, at, to, item, items }: Edit): unknown[] {
  const place = Math.floor(at * list.length);
  const end = Math.floor(to * list.length);
  switch (kind) {
    case "append":
      return [...list, ...items];
    case "replace last":
      return [...list.slice(0, -1), item];
    case "replace":
      if (list.length > 0) list[place] = item;
      return list;
    case "remove":
      list.splice(place, 1 + Math.floor(to * 3));
      return list;
    case "insert":
      list.splice(place, 0, ...items);
      return list;
    case "trim head":
      return list.slice(place);
    case "trim tail":
      return list.slice(0, place);
    case "reverse":
      return list.toReversed();
    case "move":
      list.splice(end, 0, ...list.splice(place, 2));
      return list;
    default:
      return list;
  }
}

function isContainer(value: unknown): value is object {
  if (Array.isArray(value)) return true;
  return (
    typeof value === "object" &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype &&
    !Object.hasOwn(value, "toJSON")
  );
}

/** Other lists and objects with the same contents, as after a restart. */
function equalCopy(value: unknown, depth = 0): unknown {
  if (!isContainer(value) || depth > 3) return value;
  if (Array.isArray(value)) return value.map((item) => equalCopy(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, equalCopy(inner, depth + 1)]),
  );
}
