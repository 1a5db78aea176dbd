import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../src/values/json.ts";

describe("deepFreeze", () => {
  it("freezes plain objects and arrays all the way down", () => {
    const value = deepFreeze({
      list: [{ n: 1 }],
      bare: Object.assign(Object.create(null), { n: {} }),
    });
    const frozen = [value, value.list, value.list[0], value.bare, value.bare.n];
    expect(frozen.map((part) => Object.isFrozen(part))).toEqual([true, true, true, true, true]);
  });

  it("goes on below what was frozen by others", () => {
    const inner = { n: 1 };
    deepFreeze(Object.freeze({ inner }));
    expect(Object.isFrozen(inner)).toBe(true);
  });

  it("leaves dates, maps and instances as they are", () => {
    class Counter {
      n = 1;
    }
    const value = deepFreeze({ at: new Date(0), map: new Map(), counter: new Counter() });
    value.counter.n = 2;
    expect(value.counter.n).toBe(2);
    expect(Object.isFrozen(value.map)).toBe(false);
  });

  it("ends at cycles", () => {
    const value: { self?: unknown } = {};
    value.self = value;
    expect(Object.isFrozen(deepFreeze(value))).toBe(true);
  });

  it("does not run out of stack", () => {
    let value: unknown = {};
    for (let depth = 0; depth < 50_000; depth += 1) value = { value };
    expect(Object.isFrozen(deepFreeze(value))).toBe(true);
  });

  it("does not walk again what it froze before", () => {
    let reads = 0;
    const known = deepFreeze({
      get part() {
        reads += 1;
        return {};
      },
    });
    deepFreeze({ known });
    expect(reads).toBe(1);
  });

  it("passes other values through", () => {
    expect([deepFreeze(1), deepFreeze("a"), deepFreeze(null), deepFreeze(undefined)]).toEqual([
      1,
      "a",
      null,
      undefined,
    ]);
  });
});
