import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { limitResult } from "../../src/tools/call-value.ts";

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

describe("limitResult", () => {
  it("leaves what fits", () => {
    expect(limitResult("x".repeat(98), 100)).toBe("x".repeat(98));
    expect(limitResult({ a: 1 }, 7)).toEqual({ a: 1 });
  });

  it("cuts a text and says so", () => {
    const cut = limitResult("x".repeat(150), 100) as string;
    expect(cut).toMatch(/^x+… \[cut: 152 bytes, the limit is 100\]$/);
    expect(bytesOf(cut)).toBe(100);
  });

  it("puts a preview in place of anything else", () => {
    const cut = limitResult({ list: Array.from({ length: 100 }, (_, n) => n) }, 150);
    expect(cut).toEqual({
      truncated: true,
      original_bytes: 300,
      preview: expect.stringMatching(/^\{"list":\[0,1,2,3,/),
    });
    expect(bytesOf(cut)).toBeLessThanOrEqual(150);
  });

  it("says when it gave up counting", () => {
    expect(limitResult("x".repeat(10_000), 100)).toContain("[cut: more than 10,000 bytes");
    const cut = limitResult(
      Array.from({ length: 10_000 }, () => "x"),
      100,
    );
    expect(cut).toMatchObject({ truncated: true, original_bytes_counted: false });
  });

  it("never gives more than the limit, and never half a character", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: "grapheme", minLength: 60 }), fc.array(fc.jsonValue())),
        fc.integer({ min: 120, max: 400 }),
        (value, limit) => {
          const cut = limitResult(value, limit);
          expect(bytesOf(cut)).toBeLessThanOrEqual(limit);
          expect(JSON.stringify(cut)).not.toMatch(/\\ud[89a-f]/);
        },
      ),
    );
  });
});
