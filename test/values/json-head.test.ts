import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonHead } from "../../src/values/bounded-json.ts";

describe("jsonHead", () => {
  it("is the JSON of any JSON value that has room", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(jsonHead(value, 1_000_000)).toEqual({ text: JSON.stringify(value), whole: true });
      }),
    );
  });

  it("begins as the JSON does, and soon stops, whatever the room", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(60), (value, room) => {
        const json = JSON.stringify(value);
        const head = jsonHead(value, room);
        // A string that was cut within a surrogate pair shows an escaped half of it.
        const shown = head.text.slice(0, room).replace(/\\u?[0-9a-f]*$/, "");
        expect(json.startsWith(shown) || json.includes("\\ud")).toBe(true);
        expect(head.whole).toBe(head.text === json);
        expect(head.whole || head.text.length < room * 6 + 30).toBe(true);
      }),
    );
  });

  it("leaves out what JSON leaves out", () => {
    const value = { a: undefined, b: () => 1, c: [undefined], d: new Date(0), e: 2n };
    expect(jsonHead(value, 100).text).toBe('{"c":[null],"d":"1970-01-01T00:00:00.000Z","e":"2"}');
  });

  it("stops at cycles and at great depth", () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    expect(jsonHead(cycle, 10_000).text).toBe(`${"[".repeat(200)}"[too deep]"${"]".repeat(200)}`);
  });

  it("does not read what it does not show", () => {
    let reads = 0;
    const item = {
      get field() {
        reads += 1;
        return "x".repeat(100);
      },
    };
    const head = jsonHead(
      Array.from({ length: 1_000_000 }, () => item),
      1000,
    );
    expect(head.whole).toBe(false);
    expect(reads).toBeLessThan(12);
  });
});
