import { expect, it } from "vitest";
import { planBatches, relativeImports, timeLimit, type Nearness } from "./test-order.ts";

const file = (path: string, seconds: number, nearness: Nearness = "far") => ({
  path,
  ms: seconds * 1000,
  nearness,
});

it("runs short and direct tests first, in runs that grow", () => {
  const files = [
    file("whole", 100),
    file("short", 1),
    file("direct", 20, "direct"),
    file("middle", 9),
    file("longer", 12, "room"),
  ];
  expect(planBatches(files).map((batch) => batch.map(({ path }) => path))).toEqual([
    ["short"],
    ["direct"],
    ["longer", "middle"],
    ["whole"],
  ]);
});

it("leaves out what comes after the budget, but never the first file", () => {
  const files = [file("a", 3), file("b", 4), file("c", 20)];
  const within = (seconds: number) => planBatches(files, seconds * 1000).flat();
  expect(within(7).map(({ path }) => path)).toEqual(["a", "b"]);
  expect(within(6).map(({ path }) => path)).toEqual(["a"]);
  expect(within(1).map(({ path }) => path)).toEqual(["a"]);
});

it("gives a run three times its duration and a minute", () => {
  expect(timeLimit([file("a", 10), file("b", 20)])).toBe(150_000);
});

it("resolves relative imports, of types and at run time too", () => {
  const source = `
    import { z } from "zod";
    import type { A } from "../../src/state/a.ts";
    const { b } = await import("./b.ts");`;
  expect(relativeImports("test/state/a.test.ts", source)).toEqual([
    "src/state/a.ts",
    "test/state/b.ts",
  ]);
});
