import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cleanText } from "../../../src/context/clean-text.ts";
import { previewText } from "../../../src/context/preview/preview.ts";
import { anyCharacter } from "../../helpers/any-character.ts";

const orders = Array.from({ length: 50 }, (_, i) => ({
  order_id: `W-${100 + i}`,
  total: i,
  state: "open",
}));

describe("previewText", () => {
  it("is the preview, then the identifiers that it does not show", () => {
    expect(previewText(orders.slice(0, 5))).toBe(
      "[order_id,total,state=open; W-100,0; W-101,1; W-102,2; … 2 more items]\nalso in it: (order_id, total, state=open): W-103, 3 | W-104, 4",
    );
  });

  it("names as many identifiers as asked for, and says how many more there are", () => {
    expect(previewText(orders, { keepValues: 2 })).toMatch(
      /\nalso in it: \(order_id, total, state=open\): W-103, 3 \| W-104, 4; … 45 more$/,
    );
    expect(previewText(orders).match(/W-\d+/g)).toHaveLength(43);
    expect(previewText(orders, { keepValues: 0 })).not.toContain("also in it");
  });

  it("says that there are more than it counts where not every row was looked at", () => {
    const many = Array.from({ length: 2000 }, (_, i) => ({
      order_id: `W-${1000 + i}`,
      parcel: `PX${70_000 + i}`,
    }));
    expect(previewText(many)).toMatch(/; … more than \d+ more$/);
  });

  it("adds nothing where all is shown", () => {
    expect(previewText({ order_id: "W-1" })).toBe('{"order_id":"W-1"}');
    expect(previewText("Done.")).toBe("Done.");
  });

  it("finds what is in the middle of a text", () => {
    const words = "some words here ".repeat(50);
    expect(previewText(`${words}order W-777 ${words}`)).toMatch(/truncated.*\nalso in it: W-777$/s);
  });

  it("is clean and bounded, whatever the value", () => {
    const anything = fc.oneof(
      fc.anything({
        withBigInt: true,
        withMap: true,
        withSet: true,
        withDate: true,
        withSparseArray: true,
      }),
      fc.string({ unit: anyCharacter, size: "max", maxLength: 3000 }),
    );
    fc.assert(
      fc.property(anything, (value) => {
        const text = previewText(value);
        expect(text.length).toBeLessThan(10_000);
        expect(cleanText(text)).toBe(text);
      }),
    );
  });
});
