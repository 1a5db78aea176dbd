import { describe, expect, it } from "vitest";
import { DeepJsonFailure } from "../../../../src/tools/builtins/http/addresses.ts";
import { jsonValue } from "../../../../src/tools/builtins/http/http-get.ts";

describe("jsonValue", () => {
  it("takes 200 levels and no more", () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    expect(JSON.stringify(jsonValue(nested(200)))).toBe(nested(200));
    expect(() => jsonValue(nested(201))).toThrow(DeepJsonFailure);
    expect(() => jsonValue(nested(500_000))).toThrow("more than 200 levels deep");
  });

  it("leaves the prototype of what it gives alone", () => {
    const value = jsonValue('{"a":{"__proto__":{"b":1},"c":2}}') as { a: object };
    expect(Object.getOwnPropertyNames(value.a)).toEqual(["c"]);
    expect(Object.getPrototypeOf(value.a)).toBe(Object.prototype);
  });

  it("gives what is no JSON as it is", () => {
    expect(jsonValue("{a")).toBe("{a");
    expect(jsonValue("null")).toBeNull();
  });
});
