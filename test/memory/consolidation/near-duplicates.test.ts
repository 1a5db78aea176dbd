import { describe, expect, it, test } from "vitest";
import { createReadTexts, isCovered } from "../../../src/memory/consolidation/near-duplicates.ts";
import { systemIds } from "../../../src/clock.ts";
import { createInMemoryMemory } from "../../../src/memory/in-memory-store.ts";
import { defaultTenant } from "../../../src/memory/store.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";

describe("isCovered", () => {
  test.each([
    ["Order 1234 was refunded.", "Order 1234 was refunded, at last.", true],
    ["Order 1234 was refunded.", "Order 1235 was refunded.", false],
    ["Error E1042.", "Error e1042!", true],
    ["On 2026-11-22.", "On 2026-11-23.", false],
    ["It costs 1,234.", "It costs 1,235 or 1.", false],
    ["Room 7.", "A room.", false],
    ["A room.", "Room 7.", true],
  ])("compares the figures of %j with those of %j: %j", (text, by, covered) => {
    expect(isCovered(text, by)).toBe(covered);
  });

  it("wants nine of ten words of a long text in the other one", () => {
    const words = Array.from(
      { length: 200 },
      (_, at) =>
        `w${"abcdefghij"[at % 10]}${"klmnopqrst"[Math.floor(at / 10) % 10]}${at < 100 ? "u" : "v"}`,
    );
    const text = words.join(" ");
    expect(text.length).toBeLessThan(1_000);
    expect(isCovered(text, "Another text.")).toBe(true);
    const long = `${text} ${"word ".repeat(100)}`;
    expect(long.length).toBeGreaterThan(1_000);
    expect(isCovered(long, "Another text.")).toBe(false);
    expect(isCovered(long, words.slice(0, 181).join(" "))).toBe(true);
    expect(isCovered(long, words.slice(0, 179).join(" "))).toBe(false);
  });
});

describe("texts compared by words", () => {
  const store = createInMemoryMemory({ clock: new ManualClock(), ids: systemIds }).forTenant(
    defaultTenant,
  );
  const read = createReadTexts({
    store,
    search: async () => [],
    embeddings: null,
    namespace: ["a"],
  });
  const many = Array.from({ length: 80 }, (_, at) => `word${String.fromCodePoint(97 + at)}`);

  test.each([
    ["Ann paid Bob.", "ann  paid — BOB", true],
    ["Ann paid Bob.", "Bob paid Ann.", false],
    ["She likes tea.", "She loves tea.", false],
    [many.join(" "), many.with(40, "other").join(" "), true],
    [many.slice(0, 20).join(" "), many.slice(0, 20).with(10, "other").join(" "), false],
    ["🎉", "🎉", false],
  ])("takes %j and %j for one: %j", async (a, b, same) => {
    const [one, other] = await read([a, b]);
    expect(one && other && one.isSameAs(other)).toBe(same);
  });
});

test("texts compared by vectors are not the same because their vectors are long", async () => {
  const store = createInMemoryMemory({ clock: new ManualClock(), ids: systemIds }).forTenant(
    defaultTenant,
  );
  const vectors: Readonly<Record<string, Float32Array>> = {
    tea: Float32Array.of(3, 0),
    coffee: Float32Array.of(1, 2),
    chai: Float32Array.of(4, 0.1),
  };
  const embeddings = {
    id: "test:long",
    dimensions: 2,
    embed: async (texts: readonly string[]) => texts.map((text) => vectors[text]!),
  };
  const read = createReadTexts({ store, search: async () => [], embeddings, namespace: ["a"] });
  const [tea, coffee, chai] = await read(["tea", "coffee", "chai"]);
  expect(tea!.isSameAs(coffee!)).toBe(false);
  expect(tea!.isSameAs(chai!)).toBe(true);
});
