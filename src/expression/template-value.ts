import type { Scope } from "./expression.ts";
import { limits } from "./limits.ts";
import type { Compiled, ExpressionProblem } from "./problem.ts";
import { compileTemplate, withoutRepetitions, type Template } from "./template.ts";

/** A JSON value whose strings are templates. */
export interface TemplateValue {
  /** What the expressions read, without repetitions: see `Expression`. */
  readonly references: readonly (readonly string[])[];
  /** No string holds an expression. */
  readonly isConstant: boolean;
  /**
   * The value with every template rendered. Parts without expressions are given as they are, the same objects, unless
   * they hold an escaped `$${`.
   *
   * @throws ExpressionError
   */
  render(values: Readonly<Record<string, unknown>>): unknown;
}

export interface TemplateValueProblem extends ExpressionProblem {
  /** Where the string stands in the value: keys and indexes from the top. */
  readonly path: readonly (string | number)[];
  /** The string, in which `offset` is. */
  readonly source: string;
}

type Values = Readonly<Record<string, unknown>>;

interface Node {
  readonly templates: readonly Template[];
  readonly render: (values: Values) => unknown;
}

/** Every string in a nested JSON value is a template; keys are not. Never throws. */
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
