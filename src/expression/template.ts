import { compileExpression, type Expression, type Scope } from "./expression.ts";
import { type Compiled, ExpressionError, type ExpressionProblem, limits } from "./problem.ts";
import { findStringEnd } from "./syntax.ts";
import { jsonText } from "./values.ts";

/** A text with embedded expressions: `${nodes.a.text} and more`. */
export interface Template {
  readonly source: string;
  /** Distinct paths that the expressions read: see `Expression`. */
  readonly references: readonly (readonly string[])[];
  /** Whether the text contains no expression. */
  readonly isConstant: boolean;
  /**
   * Renders the template. A text that is exactly one `${…}` returns the value itself. Otherwise the result is a string,
   * with strings verbatim, null as the empty string, and other values as JSON.
   *
   * @throws ExpressionError
   */
  render(values: Readonly<Record<string, unknown>>): unknown;
}

type Part = string | Expression;

/** Compiles a template. `$${` escapes `${`. Never throws; offsets refer to `text`. */
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

/** Removes duplicate paths. */
function withoutRepetitions(paths: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return [...new Map(paths.map((path) => [JSON.stringify(path), path])).values()];
}

/** A part of a template: literal text, or an expression and its offset. */
export type TemplatePart =
  | { readonly text: string }
  | { readonly expression: string; readonly offset: number };

/**
 * Splits a template into parts. `${…}` ends at the first `}` that is not in a string literal of the expression and does
 * not close one of its `{`. `$${` escapes `${`.
 */
function templateParts(text: string): Compiled<readonly TemplatePart[]> {
  const parts: TemplatePart[] = [];
  let from = 0;
  let written = "";
  for (let at = text.indexOf("${"); at >= 0; at = text.indexOf("${", from)) {
    written += text.slice(from, at);
    if (written.endsWith("$") && at > from) {
      written = `${written.slice(0, -1)}\${`;
      from = at + 2;
      continue;
    }
    const end = endOfExpression(text, at + 2);
    if (end === undefined)
      return { ok: false, problems: [{ message: '"${" has no closing "}"', offset: at }] };
    if (written !== "") parts.push({ text: written });
    written = "";
    parts.push({ expression: text.slice(at + 2, end), offset: at + 2 });
    from = end + 1;
  }
  written += text.slice(from);
  if (written !== "") parts.push({ text: written });
  return { ok: true, value: parts };
}

function endOfExpression(text: string, start: number): number | undefined {
  let open = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"' || character === "'") {
      const end = findStringEnd(text, at);
      if (end === undefined) return undefined;
      at = end - 1;
    } else if (character === "{") open += 1;
    else if (character === "}") {
      if (open === 0) return at;
      open -= 1;
    }
  }
  return undefined;
}

/** A JSON value whose strings are templates. */
export interface TemplateValue {
  /** Distinct paths that the expressions read: see `Expression`. */
  readonly references: readonly (readonly string[])[];
  /** Whether no string contains an expression. */
  readonly isConstant: boolean;
  /**
   * Renders every template in the value. Parts without expressions are returned by reference, unless they contain an
   * escaped `$${`.
   *
   * @throws ExpressionError
   */
  render(values: Readonly<Record<string, unknown>>): unknown;
}

export interface TemplateValueProblem extends ExpressionProblem {
  /** Path of the string in the value: keys and indexes from the top level. */
  readonly path: readonly (string | number)[];
  /** The string that `offset` refers to. */
  readonly source: string;
}

type Values = Readonly<Record<string, unknown>>;

interface Node {
  readonly templates: readonly Template[];
  readonly render: (values: Values) => unknown;
}

/** Compiles a nested JSON value in which every string is a template; keys are not. Never throws. */
export function compileTemplateValue(
  value: unknown,
  scope: Scope,
): Compiled<TemplateValue, TemplateValueProblem> {
  const problems: TemplateValueProblem[] = [];
  const { templates, render } = compileNode(value, [], { scope, problems });
  if (problems.length > 0) return { ok: false, problems };
  return {
    ok: true,
    value: Object.freeze({
      references: withoutRepetitions(templates.flatMap(({ references }) => references)),
      isConstant: templates.every(({ isConstant }) => isConstant),
      render,
    }),
  };
}

interface Compiling {
  readonly scope: Scope;
  readonly problems: TemplateValueProblem[];
}

type Path = readonly (string | number)[];

function compileNode(value: unknown, path: Path, compiling: Compiling): Node {
  if (typeof value === "string") return compileText(value, path, compiling);
  const plain: Node = { templates: [], render: () => value };
  if (typeof value !== "object" || value === null) return plain;
  if (path.length >= limits.templateDepth) {
    const message = `the value is nested more than ${limits.templateDepth} deep`;
    compiling.problems.push({ message, offset: 0, path, source: "" });
    return plain;
  }
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(
    ([key, part]) =>
      [key, compileNode(part, [...path, isList ? Number(key) : key], compiling)] as const,
  );
  const templates = parts.flatMap(([, part]) => part.templates);
  if (templates.length === 0) return plain;
  const render = (values: Values) =>
    isList
      ? parts.map(([, part]) => part.render(values))
      : Object.fromEntries(parts.map(([key, part]) => [key, part.render(values)]));
  return { templates, render };
}

function compileText(source: string, path: Path, { scope, problems }: Compiling): Node {
  const plain: Node = { templates: [], render: () => source };
  if (!source.includes("${")) return plain;
  const compiled = compileTemplate(source, scope);
  if (!compiled.ok) {
    for (const problem of compiled.problems) problems.push({ ...problem, path, source });
    return plain;
  }
  const template = compiled.value;
  return { templates: [template], render: (values) => template.render(values) };
}
