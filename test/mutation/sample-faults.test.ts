import { expect, it } from "vitest";
import { listFaults } from "./faults.ts";
import { sampleFaults } from "./sample-faults.ts";

const file = (folder: string, name: string, source: string) => ({
  folder,
  path: `${folder}/${name}.ts`,
  faults: listFaults(source),
});

const files = [
  file("a", "long", "x = 1;\ny = 2 + z;\nf(b);"),
  file("a", "short", "x = 1;"),
  file("b", "other", "if (a) b();\nc();\nd();\ne();"),
  file("b", "empty", ""),
];

it("is the same for the same seed", () => {
  const sample = (seed: number) => sampleFaults(files, { count: 4, seed });
  expect(sample(1)).toEqual(sample(1));
  const other = [2, 3, 4].map((seed) => JSON.stringify(sample(seed)));
  expect(other.some((text) => text !== JSON.stringify(sample(1)))).toBe(true);
});

it.each([1, 2, 3])("takes as many of each folder and of each file first, by seed %i", (seed) => {
  const paths = sampleFaults(files, { count: 4, seed }).map(({ path }) => path);
  expect(paths).toEqual(["a/long.ts", "a/short.ts", "b/other.ts", "b/other.ts"]);
});

it("takes at most one fault a line, and what there is when more is asked for", () => {
  const sample = sampleFaults(files, { count: 99, seed: 1 });
  expect(sample.map(({ id, path, fault }) => `${id} ${path}:${fault.line}`)).toEqual([
    "1 a/long.ts:1",
    "2 a/long.ts:2",
    "3 a/long.ts:3",
    "4 a/short.ts:1",
    "5 b/other.ts:1",
    "6 b/other.ts:2",
    "7 b/other.ts:3",
    "8 b/other.ts:4",
  ]);
});
