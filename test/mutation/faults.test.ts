import { readFileSync } from "node:fs";
import ts from "typescript";
import { expect, it } from "vitest";
import { applyFault, listFaults, type FaultKind } from "./faults.ts";

/** The texts that the faults of a kind make of a source. */
function faultsOf(kind: FaultKind, source: string): string[] {
  return listFaults(source)
    .filter((fault) => fault.kind === kind)
    .map((fault) => applyFault(source, fault));
}

it.each<[FaultKind, string, string[]]>([
  ["condition", "if (a.b) c();", ["if (false) c();", "if (true) c();", "if (!(a.b)) c();"]],
  ["condition", "x = a ? b : c;", ["x = false ? b : c;", "x = true ? b : c;", "x = !(a) ? b : c;"]],
  ["condition", "while (a) b();", ["while (false) b();"]],
  ["condition", "for (;;) b();", []],
  ["condition", "if (true) c();", []],
  ["comparison", "x = a < b;", ["x = a <= b;"]],
  ["comparison", "x = a >= b;", ["x = a > b;"]],
  ["comparison", "x = a === b;", ["x = a !== b;"]],
  ["comparison", "x = a != null;", ["x = a == null;"]],
  ["logic", "x = a && b || c;", ["x = a || b || c;", "x = a && b && c;"]],
  ["nullish", "x = a ?? b();", ["x = a;"]],
  ["optional chain", "a?.b.c;", ["a.b.c;"]],
  ["optional chain", "a?.[0]?.();", ["a[0]?.();", "a?.[0]();"]],
  ["arithmetic", "x = a + b - c;", ["x = a - b - c;", "x = a + b + c;"]],
  ["arithmetic", "x += 1;", ["x -= 1;"]],
  ["arithmetic", 'x = "a" + b;', []],
  ["number", "x = 1_000;", ["x = 1001;", "x = 999;"]],
  ["number", "x = -0;", ["x = -1;"]],
  ["boolean", "x = { a: true };", ["x = { a: false };"]],
  ["string", 'x = { "a": "b" };', ['x = { "a": "" };']],
  ["min max", "x = Math.min(a, b);", ["x = Math.max(a, b);"]],
  ["call statement", "a(); await b(c); d = e();", ["; await b(c); d = e();", "a(); ; d = e();"]],
  ["early exit", "for (const a of b) { if (a) continue; }", ["for (const a of b) { if (a) ; }"]],
  [
    "early exit",
    "function f() { if (a) { throw b; } return c; }",
    ["function f() { if (a) { ; } return c; }"],
  ],
  ["await", "x = await a();", ["x = a();"]],
  ["list call", "x = a.filter(b).map(c);", ["x = a.map(c);"]],
  ["spread", "x = [a, ...b];", ["x = [a, ...[]];"]],
  ["spread", "x = { ...a, b };", ["x = { ...{}, b };"]],
])("makes faults of the kind %s in %s", (kind, source, expected) => {
  expect(faultsOf(kind, source)).toEqual(expected);
});

it.each([
  'import { a } from "a";',
  'export * from "a";',
  'type A = "a" | 1 | true;',
  'interface A { a: "b" }',
  "let a: 1 | true;",
  "const a = b as 1;",
  'throw new RangeError("a" + b(1));',
  'console.log("a", 1);',
  'z.describe("a");',
  'const a = { description: "b", message: `c${1}` };',
  "class A extends B { constructor() { super(1); } }",
  'const a = () => import("a");',
])("makes no fault in %s", (source) => {
  expect(listFaults(source)).toEqual([]);
});

it("counts lines from 1", () => {
  expect(listFaults("a;\n\nx = 0;")).toEqual([
    { kind: "number", start: 8, end: 9, replacement: "1", line: 3 },
  ]);
});

it("makes texts that parse", () => {
  const source = readFileSync(new URL("test-order.ts", import.meta.url), "utf8");
  const faults = listFaults(source);
  expect(faults.length).toBeGreaterThan(30);
  const broken = faults.filter((fault) => !parses(applyFault(source, fault)));
  expect(broken).toEqual([]);
});

function parses(source: string): boolean {
  const options = { compilerOptions: { target: ts.ScriptTarget.Latest }, reportDiagnostics: true };
  return ts.transpileModule(source, options).diagnostics?.length === 0;
}
