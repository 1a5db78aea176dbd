import { expect, it } from "vitest";
import { planBatches, relativeImports, timeLimit } from "./test-order.ts";

const file = (path: string, seconds: number, isDirect = false) => ({
  path,
  ms: seconds * 1000,
  isDirect,
});

it("runs short and direct tests first, in runs that grow", () => {
  const files = [
    file("whole", 100),
    file("short", 1),
    file("direct", 20, true),
    file("middle", 9),
    file("longer", 12),
  ];
  expect(planBatches(files).map((batch) => batch.map(({ path }) => path))).toEqual([
    ["short"],
    ["direct", "middle"],
    ["longer"],
    ["whole"],
  ]);
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
