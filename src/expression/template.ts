import { ExpressionError } from "./errors.ts";
import { compileExpression, type Expression, type Scope } from "./expression.ts";
import { jsonText } from "./json-text.ts";
import { limits } from "./limits.ts";
import type { Compiled, ExpressionProblem } from "./problem.ts";
import { templateParts } from "./template-parts.ts";

/** A text with expressions in it: `${nodes.a.text} and more`. */
export interface Template {
  readonly source: string;
  /** What the expressions read, without repetitions: see `Expression`. */
  readonly references: readonly (readonly string[])[];
  /** The text holds no expression. */
  readonly isConstant: boolean;
  /**
   * A text that is exactly one `${…}` gives the value itself. Any other gives a string: strings stand in it as they are,
   * null as nothing, other values as JSON.
   *
   * @throws ExpressionError
   */
  render(values: Readonly<Record<string, unknown>>): unknown;
}

type Part = string | Expression;

/** Compiles a template. `$${` is the text `${`. Never throws; offsets are in the text. */
export function compileTemplate(text: string, scope: Scope): Compiled<Template> {
  const split = templateParts(text);
  if (!split.ok) return split;
  const problems: ExpressionProblem[] = [];
  const parts: Part[] = [];
  for (const part of split.value) {
    if ("text" in part) {
      parts.push(part.text);
      continue;
    }
    const compiled = compileExpression(part.expression, scope);
    if (compiled.ok) parts.push(compiled.value);
    else
      for (const problem of compiled.problems)
        problems.push({ ...problem, offset: part.offset + problem.offset });
  }
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, value: templateOf(text, parts) };
}

function templateOf(source: string, parts: readonly Part[]): Template {
  const expressions = parts.filter((part) => typeof part !== "string");
  const [only] = parts;
  const whole = parts.length === 1 && typeof only === "object" ? only : undefined;
  return Object.freeze({
    source,
    references: withoutRepetitions(expressions.flatMap(({ references }) => references)),
    isConstant: expressions.length === 0,
    render: (values: Readonly<Record<string, unknown>>) =>
      whole === undefined ? renderText(parts, values) : whole.evaluate(values),
  });
}

function renderText(parts: readonly Part[], values: Readonly<Record<string, unknown>>): string {
  let text = "";
  for (const part of parts) {
    if (typeof part === "string") {
      text += part;
      continue;
    }
    text += textOf(part, values, limits.stringLength - text.length);
  }
  return text;
}

function textOf(
  part: Expression,
  values: Readonly<Record<string, unknown>>,
  limit: number,
): string {
  const value = part.evaluate(values);
  let text: string | undefined;
  try {
    text = jsonText(value, limit);
  } catch (cause) {
    throw new ExpressionError(part.source, 0, "this cannot be written as JSON", { cause });
  }
  if (text !== undefined) return text;
  const problem = `the text would have more than ${limits.stringLength} characters with this`;
  throw new ExpressionError(part.source, 0, problem);
}

/** Paths without those that stand there already. */
export function withoutRepetitions(
  paths: readonly (readonly string[])[],
): readonly (readonly string[])[] {
  return [...new Map(paths.map((path) => [JSON.stringify(path), path])).values()];
}
