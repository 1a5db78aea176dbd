import { expect, it } from "vitest";
import { listFaults } from "./faults.ts";
import { insertProbes, testsByFault } from "./reach-probes.ts";

/** The source with a probe at its first numeric literal, without the function that is added after it. */
function probed(source: string): string {
  const fault = listFaults(source).find(({ kind }) => kind === "number");
  if (fault === undefined) throw new Error(`No number in ${source}`);
  const [text = ""] = insertProbes(source, [{ id: 7, fault }], "/reached").split("\nfunction");
  return text;
}

it.each([
  ["const a = b(1);", "__reached(7); const a = b(1);"],
  ["function f() { return 1; }", "function f() { __reached(7); return 1; }"],
  ["if (a) b(1);\nelse c();", "if (a) { __reached(7); b(1); }\nelse c();"],
  ["if (a) {} else if (b > 1) c();", "if (a) {} else { __reached(7); if (b > 1) c(); }"],
  ["switch (a) { case b: c(1); }", "switch (a) { case b: __reached(7); c(1); }"],
  ["a: for (const b of c(1)) continue a;", "__reached(7); a: for (const b of c(1)) continue a;"],
  ["const f = () => ({ a: 1 });", "const f = () => (__reached(7), ({ a: 1 }));"],
  ["function f(a = 1) {}", "function f(a = (__reached(7), 1)) {}"],
  ["class A { a = 1; }", "class A { a = (__reached(7), 1); }"],
  ["const { a = 1 } = b;", "const { a = (__reached(7), 1) } = b;"],
])("probes what runs as a whole in %s", (source, expected) => {
  expect(probed(source)).toBe(expected);
});

it("probes several faults at one place", () => {
  const source = "if (a) b(1, 2);";
  const probes = listFaults(source)
    .filter(({ kind, replacement }) => kind === "number" && replacement > "1")
    .map((fault, id) => ({ id, fault }));
  expect(insertProbes(source, probes, "/reached")).toMatch(
    "if (a) { __reached(1); { __reached(0); b(1, 2); } }\n",
  );
});

it("attributes what a process of a test reached to the test files of the time", () => {
  const ran = (path: string, begin: number, end: number) => ({ path, begin, end, ok: true });
  const files = [ran("test/a.test.ts", 0, 10), ran("test/b.test.ts", 5, 20), ran("c", 15, 30)];
  const reached = [
    { id: 1, file: "/copy/test/a.test.ts", time: 99 },
    { id: 1, file: "", time: 12 },
    { id: 2, file: "", time: 7 },
    { id: 3, file: "", time: 40 },
  ];
  expect(testsByFault(reached, files, "/copy")).toEqual(
    new Map([
      [1, new Set(["test/a.test.ts", "test/b.test.ts"])],
      [2, new Set(["test/a.test.ts", "test/b.test.ts"])],
      [3, new Set()],
    ]),
  );
});
