import type { CelInput } from "@bufbuild/cel";
import { cel } from "./cel.ts";
import type { Scope } from "./check-call.ts";
import { checkExpression, explainHyphenatedNames } from "./check.ts";
import { environment, meterComprehensions } from "./environment.ts";
import { operators } from "./functions.ts";
import { type Compiled, ExpressionError, withBudget } from "./problem.ts";
import { formatLiteral, findReferences } from "./references.ts";
import { getChildren, type Expr, parseExpression, type Syntax } from "./syntax.ts";
import { mayBe, describeType } from "./types.ts";
import { toCelValue, fromCelValue } from "./values.ts";
export type { Scope } from "./check-call.ts";

/** A compiled CEL expression. */
export interface Expression {
  readonly source: string;
  /**
   * Paths that the expression reads, such as `["nodes", "classify", "choice"]`, up to the first non-literal part (both
   * `.field` and `["field"]` are literal).
   */
  readonly references: readonly (readonly string[])[];
  /**
   * Evaluates to plain JSON: parts of `values` are returned by reference, ints as numbers. `values` must be JSON and is
   * neither copied nor modified; `undefined` counts as absent.
   *
   * @throws ExpressionError
   */
  evaluate(values: Readonly<Record<string, unknown>>): unknown;
}

/**
 * Parses an expression and checks it against the variables in scope. With `expected: "bool"` it must return a boolean.
 * A statically known other type is rejected here, all else during evaluation. Never throws.
 */
export function compileExpression(
  source: string,
  scope: Scope,
  expected?: "bool",
): Compiled<Expression> {
  const parsed = parseExpression(source);
  if (!parsed.ok) return parsed;
  const syntax = parsed.value;
  const { type, problems } = checkExpression(syntax, scope);
  if (problems.length > 0) return { ok: false, problems: explainHyphenatedNames(source, problems) };
  if (expected === "bool" && !mayBe(type, "bool")) {
    const message = `this gives ${describeType(type)}, not true or false`;
    return { ok: false, problems: [{ message, offset: 0 }] };
  }
  return { ok: true, value: expressionOf(source, syntax, { scope, expected }) };
}

function expressionOf(
  source: string,
  { root, offsetOf }: Syntax,
  { scope, expected }: { readonly scope: Scope; readonly expected: "bool" | undefined },
): Expression {
  const references = findReferences(root).filter(([name = ""]) => Object.hasOwn(scope, name));
  const run = cel().plan(environment(), meterComprehensions(root));
  const variables = Object.keys(scope);
  const fail = (problem: string, id: bigint | undefined, cause?: unknown) =>
    new ExpressionError(source, id === undefined ? 0 : offsetOf(id), problem, { cause });

  const evaluate: Expression["evaluate"] = (values) => {
    const result = run(bindingsOf(variables, values));
    if (cel().isCelError(result)) {
      const { message, exprId } = result;
      const place = exprId === undefined ? undefined : placeOfFailure(root, exprId, message);
      throw fail(describeFailure(message), place, result);
    }
    const json = fromCelValue(result);
    if (expected === "bool" && typeof json !== "boolean")
      throw fail(`this gives ${describeJson(json)}, not true or false`, undefined);
    return json;
  };
  return Object.freeze({
    source,
    references,
    evaluate: (values: Readonly<Record<string, unknown>>) => {
      try {
        return withBudget(() => evaluate(values));
      } catch (thrown) {
        if (thrown instanceof ExpressionError) throw thrown;
        throw fail(
          thrown instanceof Error ? describeFailure(thrown.message) : "it failed",
          undefined,
          thrown,
        );
      }
    },
  });
}

/** Binds only the variables in scope, so that inherited properties of `values` are never variables. */
function bindingsOf(
  variables: readonly string[],
  values: Readonly<Record<string, unknown>>,
): Record<string, CelInput> {
  const bindings = Object.create(null) as Record<string, CelInput>;
  for (const name of variables) {
    const value = Object.hasOwn(values, name) ? toCelValue(values[name]) : undefined;
    if (value !== undefined) bindings[name] = value;
  }
  return bindings;
}

function describeJson(json: unknown): string {
  if (json === null) return "null";
  if (Array.isArray(json)) return "a list";
  return typeof json === "object" ? "a map" : `a ${typeof json}`;
}

const names: ReadonlyMap<string, string> = new Map([
  ["int", "a number"],
  ["uint", "a number"],
  ["double", "a number"],
  ["string", "a string"],
  ["bool", "true or false"],
  ["bytes", "bytes"],
  ["list", "a list"],
  ["map", "a map"],
  ["null_type", "null"],
  ["null", "null"],
  ["google.protobuf.Timestamp", "a time"],
  ["google.protobuf.Duration", "a duration"],
]);

/** Messages of the CEL library with their user-facing versions. */
const known: readonly (readonly [RegExp, (...groups: string[]) => string])[] = [
  [/^field not found: (.*)$/s, (name) => `no field ${JSON.stringify(name)}`],
  [/^index (.*) out of bounds/s, (index) => `index ${index} is out of range`],
  // Thrown by the library's own lists for an invalid index.
  [/^unsupported input undefined$/, () => "a list is read by a whole number"],
  [/^unresolved attribute$/, () => "this has no value"],
  [/^found no matching overload for '?(\S+?)'? applied to '(.*)'$/s, describeOverload],
  [
    /^type mismatch: expected bool, got (.*)$/s,
    (type) => `"&&" and "||" need true or false, not ${nameOfCel(type)}`,
  ],
  [
    /^type mismatch: iterable vs (.*)$/s,
    (type) => `all, exists, map and filter go through a list or a map, not ${nameOfCel(type)}`,
  ],
  [/divide by zero$|modulus by zero$/, () => "division by zero"],
  [/overflow/, () => "the whole number is too large"],
  [/^Failed to parse timestamp/, () => "the string is not a time, such as 2026-01-31T08:00:00Z"],
  [/^Unable to convert string '.*' to bool/s, () => "the string is neither true nor false"],
  [
    /^Error converting .* to IANA timezone (.*)$/s,
    (zone) => `${JSON.stringify(zone)} is not a time zone`,
  ],
  [/^unsupported key type$/, () => "a key is a string, a whole number or a boolean"],
  [/^map key conflict: (.*)$/s, (key) => `the key ${JSON.stringify(key)} is there twice`],
  [/^error parsing regexp: (.*)$/s, (reason) => `the regular expression is not valid: ${reason}`],
];

const maxLength = 200;

/** Describes an evaluation failure, as a sentence without its full stop. */
function describeFailure(message: string): string {
  for (const [pattern, describe] of known) {
    const found = pattern.exec(message);
    if (found !== null) return shorten(describe(...found.slice(1)));
  }
  return shorten(message);
}

function shorten(message: string): string {
  const line = message.replaceAll(/\s+/g, " ").trim().replace(/\.$/, "");
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
}

function describeOverload(name: string, types: string): string {
  const [, target, listed] = /^(?:(.*)\.)?\((.*)\)$/s.exec(types) ?? [undefined, undefined, types];
  const args = splitTypes(listed ?? "").map(nameOfCel);
  if (name === "_?_:_") return `the condition is ${args.join(", ")}, not true or false`;
  const symbol = operators.get(name);
  if (symbol !== undefined) return `"${symbol}" does not take ${args.join(" and ")}`;
  const taken = args.length === 0 ? "no arguments" : args.join(" and ");
  const owner = target === undefined ? "" : ` of ${nameOfCel(target)}`;
  return `${name}()${owner} does not take ${taken}`;
}

function splitTypes(types: string): string[] {
  return types
    .replaceAll(/\([^)]*\)/g, "")
    .split(", ")
    .filter((type) => type !== "");
}

function nameOfCel(type: string): string {
  const name = type.replace(/\(.*/s, "");
  return names.get(name) ?? name;
}

/**
 * Returns the id of the subexpression that failed. For `a.b["c"]` the library reports only the root `a` of the chain;
 * the index in its message identifies the part.
 */
function placeOfFailure(root: Expr, id: bigint, message: string): bigint {
  const wanted = /^(?:field not found: |index )(.*?)(?: out of bounds .*)?$/s.exec(message)?.[1];
  if (wanted === undefined) return id;
  const indexes = indexesOf(root, id);
  const literal = indexes.find(({ key }) => key === wanted);
  const computed = indexes.find(({ key }) => key === undefined);
  return (literal ?? computed)?.id ?? id;
}

interface Index {
  readonly id: bigint;
  /** Undefined if computed. */
  readonly key: string | undefined;
}

/** Returns every `[…]` of the chain that starts at the node `id`, outermost first. */
function indexesOf(expr: Expr, id: bigint): Index[] {
  const found = getChildren(expr).flatMap((child) => indexesOf(child, id));
  const { case: kind, value } = expr.exprKind;
  const [target, index] = kind === "callExpr" && value.function === "_[_]" ? value.args : [];
  if (target === undefined || index === undefined || beginningOf(target).id !== id) return found;
  return [{ id: expr.id, key: formatLiteral(index) }, ...found];
}

function beginningOf(expr: Expr): Expr {
  const { case: kind, value } = expr.exprKind;
  const from =
    kind === "selectExpr"
      ? value.operand
      : kind === "callExpr" && value.function === "_[_]"
        ? value.args[0]
        : undefined;
  return from === undefined ? expr : beginningOf(from);
}
