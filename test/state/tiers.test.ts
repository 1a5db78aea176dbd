import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkJson } from "../../src/state/tiers.ts";

class Order {
  id = 1;
}
class List extends Array<number> {}

function problem(value: unknown) {
  const json = checkJson(value, "execution");
  return json.ok ? null : [json.path, json.found];
}

function nested(levels: number): unknown {
  let value: unknown = {};
  for (let level = 1; level < levels; level += 1) value = { in: value };
  return value;
}

describe("checkJson", () => {
  it("takes whatever JSON can say", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        fc.pre(!JSON.stringify(value).includes('"__proto__"'));
        expect(problem(value)).toBeNull();
      }),
    );
  });

  it.each<[string, unknown, string, string]>([
    ["a date", { items: [0, 1, 2, { when: new Date(0) }] }, "execution.items[3].when", "a Date"],
    ["a map", { m: new Map() }, "execution.m", "a Map"],
    ["a set", { s: new Set() }, "execution.s", "a Set"],
    ["bytes", { b: Buffer.from("a") }, "execution.b", "a Buffer"],
    ["an instance", { order: new Order() }, "execution.order", "an Order"],
    [
      "an instance without a name",
      {
        o: new (class {
          id = 1;
        })(),
      },
      "execution.o",
      "an instance of a class",
    ],
    ["the state itself as an instance", new Order(), "execution", "an Order"],
    ["an instance of a list's class", { l: List.of(1) }, "execution.l", "a List"],
    ["an error", { e: new Error("x") }, "execution.e", "an Error"],
    ["a function", { f: () => 1 }, "execution.f", "a function"],
    ["a symbol", { s: Symbol("s") }, "execution.s", "a symbol"],
    [
      "a symbol as key",
      { a: { [Symbol("s")]: 1 } },
      "execution.a",
      "an object with a symbol as key",
    ],
    ["a big integer", { n: 10n }, "execution.n", "a bigint"],
    ["NaN", { n: NaN }, "execution.n", "NaN"],
    ["infinity", { n: -Infinity }, "execution.n", "-Infinity"],
    // oxlint-disable-next-line no-sparse-arrays
    ["a hole in a list", { l: [1, , 3] }, "execution.l[1]", "a hole in a list"],
    ["undefined in a list", { l: [undefined] }, "execution.l[0]", "undefined"],
    ["an odd key", { "a b": { n: 1n } }, 'execution["a b"].n', "a bigint"],
    [
      "the key __proto__",
      JSON.parse('{"a": {"__proto__": {}}}'),
      "execution.a.__proto__",
      "a key that readers take for the prototype",
    ],
  ])("names the place of %s", (_, value, path, found) => {
    expect(problem(value)).toEqual([path, found]);
  });

  it("names the place where a value leads back to itself", () => {
    const list: unknown[] = [1];
    list.push({ back: list });
    expect(problem({ list })).toEqual(["execution.list[1].back", "a circular reference"]);
  });

  it("takes data that looks like a record of LangGraph's serializer", () => {
    const id = ["langchain_core", "messages", "AIMessage"];
    expect(problem({ a: { lc: 1, type: "constructor", id, kwargs: {} } })).toBeNull();
    expect(problem({ a: { lc: 2, type: "undefined" } })).toBeNull();
  });

  it("takes one object in two places", () => {
    const shared = { n: 1 };
    expect(problem({ a: shared, b: [shared] })).toBeNull();
  });

  it("walks shared objects once", () => {
    let value: unknown = {};
    for (let level = 0; level < 100; level += 1) value = [value, value];
    expect(problem(value)).toBeNull();
  });

  it("takes a member that is undefined, and minus zero", () => {
    expect(problem({ left: undefined, zero: -0 })).toBeNull();
  });

  it("takes objects of other realms and without a prototype", () => {
    expect(problem(runInNewContext("({ list: [{ n: 1 }] })"))).toBeNull();
    expect(problem(Object.assign(Object.create(null), { n: 1 }))).toBeNull();
    expect(problem(runInNewContext("({ when: new Date(0) })"))).toEqual([
      "execution.when",
      "a Date",
    ]);
  });

  it("refuses more than 500 levels without running out of stack", () => {
    expect(problem(nested(500))).toBeNull();
    const path = `execution${".in".repeat(8)}…${".in".repeat(3)}`;
    expect(problem(nested(501))).toEqual([path, "more than 500 levels deep"]);
    expect(problem(nested(100_000))).toEqual([path, "more than 500 levels deep"]);
  });

  it("does not walk again what it checked and froze before", () => {
    let reads = 0;
    const old = {
      get part() {
        reads += 1;
        return 1;
      },
    };
    const first = checkJson({ old }, "execution");
    if (first.ok) first.freeze();
    expect(Object.isFrozen(old)).toBe(true);
    reads = 0;
    expect(problem({ old, more: 1 })).toBeNull();
    expect(reads).toBe(0);
  });

  it("walks again what was checked and not frozen", () => {
    const state: { when: unknown } = { when: 1 };
    expect(problem(state)).toBeNull();
    state.when = new Date(0);
    expect(problem(state)).toEqual(["execution.when", "a Date"]);
  });

  it("counts the levels of what it does not walk again", () => {
    let state: unknown = nested(499);
    for (const expected of [null, "more than 500 levels deep"]) {
      const json = checkJson(state, "execution");
      if (json.ok) json.freeze();
      expect(problem({ before: state })?.[1] ?? null).toBe(expected);
      state = { before: state };
    }
  });
});
