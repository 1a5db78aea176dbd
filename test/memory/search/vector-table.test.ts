import { describe, expect, it } from "vitest";
import { VectorTable } from "../../../src/memory/search/vector-table.ts";
import { randomNumbers } from "../../../bench/helpers/random-numbers.ts";

const dimensions = 64;

function randomVector(random: () => number, centre?: Float32Array): Float32Array {
  const own = Float32Array.from(
    { length: dimensions },
    (_, at) => random() - 0.5 + 2 * (centre?.[at] ?? 0),
  );
  const length = Math.hypot(...own);
  return own.map((value) => value / length);
}

describe("VectorTable with more than 5,000 vectors", () => {
  const random = randomNumbers(3);
  const centres = Array.from({ length: 50 }, () => randomVector(random));
  const vectors = Array.from({ length: 11_000 }, (_, at) =>
    randomVector(random, centres[at % centres.length]),
  );
  const table = new VectorTable();
  for (const [entry, vector] of vectors.entries()) table.add(entry, vector);
  const exact = (query: Float32Array, isWanted: (entry: number) => boolean = () => true) =>
    vectors
      .map((vector, entry) => ({
        entry,
        similarity: vector.reduce((sum, value, at) => sum + value * (query[at] ?? 0), 0),
      }))
      .filter(({ entry }) => isWanted(entry))
      .toSorted((a, b) => b.similarity - a.similarity);

  it("finds nearly all of the nearest by their signs first", () => {
    const query = randomVector(random, centres[7]);
    const wanted = new Set(
      exact(query)
        .slice(0, 100)
        .map(({ entry }) => entry),
    );
    const found = table.nearest(query, 100, () => true);
    expect(found).toHaveLength(100);
    expect(found.filter(({ entry }) => wanted.has(entry)).length).toBeGreaterThanOrEqual(95);
    expect(found[0]?.entry).toBe(exact(query)[0]?.entry);
  });

  it("compares all wanted entries where a filter leaves few", () => {
    const query = randomVector(random, centres[3]);
    const isWanted = (entry: number) => entry % 1_000 === 5;
    const found = table.nearest(query, 20, isWanted);
    expect(found.map(({ entry }) => entry).toSorted((a, b) => a - b)).toEqual(
      vectors.flatMap((_, entry) => (isWanted(entry) ? [entry] : [])),
    );
  });
});
