import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toJson } from "../../src/values/bounded-json.ts";

const jsonOf = (value: unknown) => toJson(value, 10_000).value;

class Point {
  readonly x = 1;
  readonly #secret = 2;
  hidden() {
    return this.#secret;
  }
}

describe("toJson", () => {
  it.each<[string, unknown, unknown]>([
    ["undefined", undefined, null],
    ["a function", () => 1, null],
    ["a symbol", Symbol("s"), null],
    ["a big integer", 12345678901234567890n, "12345678901234567890"],
    ["NaN and infinities", [Number.NaN, Infinity, -Infinity], [null, null, null]],
    ["minus zero", [-0], [0]],
    [
      "what objects and lists leave out",
      { a: undefined, b: () => 1, c: [undefined] },
      { c: [null] },
    ],
    ["holes", [, 1], [null, 1]], // oxlint-disable-line no-sparse-arrays
    ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["a date that is none", new Date(Number.NaN), null],
    ["an address", new URL("https://example.org/a"), "https://example.org/a"],
    ["a buffer", Buffer.from("hi"), { type: "bytes", length: 2, base64: "aGk=" }],
    ["bytes", new Uint8Array([104, 105]), { type: "bytes", length: 2, base64: "aGk=" }],
    ["an array buffer", new ArrayBuffer(1), { type: "bytes", length: 1, base64: "AA==" }],
    ["numbers", new Float64Array([1, 2.5]), [1, 2.5]],
    ["a map of names", new Map([["a", { n: 1 }]]), { a: { n: 1 } }],
    ["a map of others", new Map<unknown, number>([[1, 2]]), [[1, 2]]],
    ["a set", new Set([1, "a"]), [1, "a"]],
    ["an error", new RangeError("too far"), { name: "RangeError", message: "too far" }],
    ["an instance", new Point(), { x: 1 }],
    ["an object without prototype", Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ["an object whose toJSON gives itself", selfish(), { a: 1 }],
  ])("has a rule for %s", (_, value, json) => {
    expect(jsonOf(value)).toEqual(json);
  });

  it("marks an object within itself, and only there", () => {
    const shared = { n: 1 };
    const value: Record<string, unknown> = { first: shared, second: shared };
    value["self"] = [value];
    expect(jsonOf(value)).toEqual({ first: { n: 1 }, second: { n: 1 }, self: ["[circular]"] });
  });

  it("ends at 200 levels", () => {
    let value: unknown = "bottom";
    for (let depth = 0; depth < 100_000; depth += 1) value = [value];
    expect(JSON.stringify(jsonOf(value))).toBe(`${"[".repeat(200)}"[too deep]"${"]".repeat(200)}`);
  });

  it("ends where toJSON never does", () => {
    const endless = (): unknown => ({ toJSON: endless });
    expect(jsonOf(endless())).toBe("[too deep]");
  });

  it("keeps a field named __proto__ as a field", () => {
    const value = JSON.parse('{"__proto__": {"polluted": true}}') as object;
    expect(JSON.stringify(jsonOf(value))).toBe('{"__proto__":{"polluted":true}}');
  });

  it("is bounded by the limit, not by the value", () => {
    let reads = 0;
    const endless = new Proxy([], {
      get(_, key) {
        if (key === "length") return 2 ** 32 - 1;
        reads += 1;
        return "x";
      },
    });
    const json = toJson(endless, 100);
    expect(json).toMatchObject({ whole: false, counted: false });
    expect(reads).toBeLessThan(1_000);
    const doubling = Array.from({ length: 60 }).reduce<unknown>((part) => [part, part], "x");
    expect(toJson(doubling, 100).counted).toBe(false);
  });

  it("shows what stands before the limit", () => {
    expect(toJson({ list: ["abc", "x".repeat(5_000)] }, 20)).toEqual({
      value: { list: ["abc", "x".repeat(3)] },
      bytes: 5_017,
      whole: false,
      counted: false,
    });
  });

  it("gives plain JSON of the size that it says, for anything", () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withSet: true,
          withTypedArray: true,
          withNullPrototype: true,
          withSparseArray: true,
          withObjectString: false,
        }),
        (value) => {
          const json = toJson(value, 1_000_000);
          const text = JSON.stringify(json.value);
          expect(JSON.parse(text)).toEqual(json.value);
          expect(json.bytes).toBe(Buffer.byteLength(text));
          expect(json).toMatchObject({ whole: true, counted: true });
        },
      ),
    );
  });

  it("keeps JSON as it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.stringify(jsonOf(value))).toBe(JSON.stringify(value));
      }),
    );
  });
});

function selfish() {
  const value = { a: 1, toJSON: () => value as unknown };
  return value;
}
