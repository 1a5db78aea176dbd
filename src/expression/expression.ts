import type { CelInput } from "@bufbuild/cel";
import { withBudget } from "./budget.ts";
import { cel } from "./cel.ts";
import { checkExpression } from "./check.ts";
import type { Scope } from "./checking.ts";
import { describeFailure } from "./describe-failure.ts";
import { environment } from "./environment.ts";
import { ExpressionError } from "./errors.ts";
import { jsonOfCel } from "./json-result.ts";
import { celOfJson } from "./json-value.ts";
import { meterComprehensions } from "./meter-comprehensions.ts";
import { explainMinusNames } from "./minus-names.ts";
import type { Compiled } from "./problem.ts";
import { placeOfFailure } from "./place-of-failure.ts";
import { referencesOf } from "./references.ts";
import { mayBe, nameOf } from "./static-type.ts";
import { parseExpression, type Syntax } from "./syntax.ts";

export type { Scope } from "./checking.ts";

/** A compiled CEL expression. */
export interface Expression {
  readonly source: string;
  /**
   * Paths that are read, e.g. `["nodes", "classify", "choice"]`, each as far as it is literal (both `.field` and
   * `["field"]`).
   */
  readonly references: readonly (readonly string[])[];
  /**
   * Gives plain JSON: parts of `values` as they are (the same objects), ints as numbers. `values` holds JSON, which is
   * neither copied nor changed; `undefined` counts as absent.
   *
   * @throws ExpressionError
   */
  evaluate(values: Readonly<Record<string, unknown>>): unknown;
}

/**
 * Parses an expression and checks it against the variables it may read. With `expected: "bool"` it must give true or
 * false: what is known to give something else is refused here, the rest when it is evaluated. Never throws.
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
  if (problems.length > 0) return { ok: false, problems: explainMinusNames(source, problems) };
  if (expected === "bool" && !mayBe(type, "bool")) {
    const message = `this gives ${nameOf(type)}, not true or false`;
    return { ok: false, problems: [{ message, offset: 0 }] };
  }
  return { ok: true, value: expressionOf(source, syntax, { scope, expected }) };
}

function expressionOf(
  source: string,
  { root, offsetOf }: Syntax,
  { scope, expected }: { readonly scope: Scope; readonly expected: "bool" | undefined },
): Expression {
  const references = referencesOf(root).filter(([name = ""]) => Object.hasOwn(scope, name));
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
    const json = jsonOfCel(result);
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

/** Only what the scope names, so that no inherited property of `values` is ever a variable. */
function bindingsOf(
  variables: readonly string[],
  values: Readonly<Record<string, unknown>>,
): Record<string, CelInput> {
  const bindings = Object.create(null) as Record<string, CelInput>;
  for (const name of variables) {
    const value = Object.hasOwn(values, name) ? celOfJson(values[name]) : undefined;
    if (value !== undefined) bindings[name] = value;
  }
  return bindings;
}

function describeJson(json: unknown): string {
  if (json === null) return "null";
  if (Array.isArray(json)) return "a list";
  return typeof json === "object" ? "a map" : `a ${typeof json}`;
}
