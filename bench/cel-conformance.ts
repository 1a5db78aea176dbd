/**
 * Runs the published CEL conformance cases on our configuration of CEL and prints, for each file of the suite, how many
 * pass. `npm run bench:cel -- logic` also lists what fails in the file `logic`.
 *
 * A case passes when compiling and evaluating give the JSON of the expected value, or when an error is expected and one
 * of both refuses. Numbers are compared as JSON has them: an int and a double of the same value are the same. Cases are
 * set aside when JSON cannot state them: what they are given or what they give is bytes, a time, a type, a message, a
 * number that is not finite or not exact.
 */
import { isDeepStrictEqual } from "node:util";
import { tests as suite } from "@bufbuild/cel-spec/testdata/conformance.js";
import { compileExpression, type Scope } from "../src/expression/expression.ts";

type Suite = typeof suite;
type Case = NonNullable<Suite["tests"]>[number]["original"];
type Outcome = "passed" | "failed" | "aside";

/** What is no JSON. */
const aside = Symbol("aside");

const shown = process.argv[2];
const total = { passed: 0, failed: 0, aside: 0 };

console.log("| file | passed | of | set aside |\n|---|---:|---:|---:|");
for (const file of suite.suites ?? []) {
  const count = { passed: 0, failed: 0, aside: 0 };
  for (const test of casesOf(file)) {
    const { outcome, got } = run(test);
    count[outcome] += 1;
    total[outcome] += 1;
    if (outcome === "failed" && file.name === shown) console.error(`${test.expr}\n    ${got}`);
  }
  printRow(file.name, count);
}
printRow("all", total);

function printRow(name: string, { passed, failed, aside: notJson }: typeof total): void {
  console.log(`| ${name} | ${passed} | ${passed + failed} | ${notJson} |`);
}

function casesOf(part: Suite): Case[] {
  const own = (part.tests ?? []).map(({ original }) => original);
  return [...own, ...(part.suites ?? []).flatMap(casesOf)];
}

function run(test: Case): { outcome: Outcome; got: string } {
  const values: Record<string, unknown> = {};
  for (const [name, binding] of Object.entries(field(test, "bindings") ?? {})) {
    const value = jsonOf(field(binding, "value"));
    if (value === aside) return { outcome: "aside", got: "" };
    values[name] = value;
  }
  const declared = asList(test["typeEnv"]).map((entry) => String(Reflect.get(entry, "name")));
  const names = [...Object.keys(values), ...declared];
  const scope: Scope = Object.fromEntries(names.map((name) => [name, { kind: "any" }]));
  const expected = expectedOf(test);
  if (expected === aside || test["checkOnly"] === true) return { outcome: "aside", got: "" };
  const compiled = compileExpression(test.expr, scope);
  let got: unknown;
  try {
    got = compiled.ok
      ? compiled.value.evaluate(values)
      : new Error(compiled.problems.map(({ message }) => message).join("; "));
  } catch (thrown) {
    got = thrown;
  }
  const right =
    got instanceof Error
      ? expected === undefined
      : isDeepStrictEqual(normal(got), normal(expected)) && expected !== undefined;
  const text = got instanceof Error ? got.message : JSON.stringify(got);
  return { outcome: right ? "passed" : "failed", got: text };
}

/** Undefined when an error is expected. */
function expectedOf(test: Case): unknown {
  if (test["evalError"] !== undefined) return undefined;
  const typed = field(test, "typedResult");
  const value = field(test, "value") ?? (typed && field(typed, "result"));
  return value === undefined ? true : jsonOf(value);
}

/** `cel.expr.Value`, in protobuf's JSON form, as plain JSON. */
function jsonOf(value: object | undefined): unknown {
  const [[kind, inner] = ["nullValue", null]] = Object.entries(value ?? {}) as [string, unknown][];
  switch (kind) {
    case "nullValue":
      return null;
    case "boolValue":
    case "stringValue":
      return inner;
    case "doubleValue":
      return typeof inner === "number" ? inner : aside;
    case "int64Value":
    case "uint64Value":
      return Number.isSafeInteger(Number(inner)) ? Number(inner) : aside;
    case "listValue":
      return allOf(
        asList(field({ inner }, "inner") && Reflect.get(Object(inner), "values")).map(jsonOf),
      );
    case "mapValue": {
      const entries = asList(Reflect.get(Object(inner), "entries"));
      const keys = allOf(entries.map((entry) => jsonOf(field(entry, "key"))));
      const values = allOf(entries.map((entry) => jsonOf(field(entry, "value"))));
      if (!Array.isArray(keys) || !Array.isArray(values)) return aside;
      return Object.fromEntries(keys.map((key, index) => [String(key), values[index] as unknown]));
    }
    default:
      return aside;
  }
}

function allOf(values: unknown[]): unknown {
  return values.includes(aside) ? aside : values;
}

function asList(value: unknown): object[] {
  return Array.isArray(value) ? (value as object[]) : [];
}

function field(value: object, name: string): object | undefined {
  const found: unknown = Reflect.get(value, name);
  return typeof found === "object" && found !== null ? found : undefined;
}

/** Without what strict equality would see besides JSON: prototypes and -0. */
function normal(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}
