import type { parse } from "@bufbuild/cel";
import { bracketProblem } from "./brackets.ts";
import { cel } from "./cel.ts";
import { limits } from "./limits.ts";
import type { Compiled, ExpressionProblem } from "./problem.ts";

/** A node of a parsed expression: the standard CEL syntax tree, macros already expanded. */
export type Expr = NonNullable<ReturnType<typeof parse>["expr"]>;

export interface Syntax {
  readonly root: Expr;
  /** 0-based places of the nodes by their id. Operators stand at their sign, fields at their dot. */
  readonly offsetOf: (id: bigint) => number;
}

/** Parses an expression, within the bounds of `limits`. Never throws. */
export function parseExpression(source: string): Compiled<Syntax> {
  const problem = lengthProblem(source) ?? bracketProblem(source);
  if (problem !== undefined) return { ok: false, problems: [problem] };
  try {
    const { expr, sourceInfo } = cel().parse(source);
    if (expr === undefined) return refuse("the expression is empty", 0);
    const positions = sourceInfo?.positions ?? {};
    return {
      ok: true,
      value: {
        root: expr,
        offsetOf: (id) => afterSpace(source, positions[id.toString()] ?? 0),
      },
    };
  } catch (thrown) {
    if (thrown instanceof RangeError) return refuse("the expression is nested too deeply", 0);
    return { ok: false, problems: [syntaxProblem(source, thrown)] };
  }
}

/** The library lets an operator begin at the space before it. */
function afterSpace(source: string, offset: number): number {
  return offset + (/^\s*/.exec(source.slice(offset))?.[0].length ?? 0);
}

function refuse(message: string, offset: number): Compiled<never> {
  return { ok: false, problems: [{ message, offset }] };
}

function lengthProblem(source: string): ExpressionProblem | undefined {
  if (source.length > limits.sourceLength)
    return {
      message: `the expression is longer than ${limits.sourceLength} characters`,
      offset: limits.sourceLength,
    };
  if (source.trim() === "") return { message: "the expression is empty", offset: 0 };
  return undefined;
}

/** What people write from other languages, by how the rest of the source begins. */
const hints: readonly (readonly [RegExp, string])[] = [
  [/^\.\?|^\[\?/, "optional fields are not supported, write has(a.b) ? a.b : other"],
  [/^===/, 'write "==" to compare'],
  [/^!==/, 'write "!=" to compare'],
  [/^=(?!=)/, '"=" does not compare, write "=="'],
  [/^and\b|^&(?!&)/i, 'write "&&" for and'],
  [/^or\b|^\|(?!\|)/i, 'write "||" for or'],
  [/^not\b/i, 'write "!" for not'],
  [/^\$\{/, "an expression is written without ${}"],
  [/^\?\?/, '"??" is not supported, write has(a.b) ? a.b : other'],
  [/^\.?`/, 'write the name in quotes and brackets, as in nodes["my-node"]'],
];

function syntaxProblem(source: string, thrown: unknown): ExpressionProblem {
  const { offset, reason } = placeOf(thrown);
  const rest = source.slice(offset);
  const hint = hints.find(([start]) => start.test(rest));
  if (hint !== undefined) return { message: hint[1], offset };
  const token = /^(?:\w+|[^\w\s()[\]{}"']+|\S)/u.exec(rest)?.[0];
  if (token === undefined) return { message: "the expression ends too early", offset };
  if (reason.startsWith("reserved")) return { message: `"${token}" is a reserved word`, offset };
  if (/surrogate/.test(reason))
    return { message: "a string holds half a character (a lone surrogate)", offset };
  if (/\W$/.test(token) && rest.slice(token.length).trim() === "")
    return { message: `the expression ends after "${token}"`, offset };
  return { message: `unexpected "${token.slice(0, 20)}"`, offset };
}

function placeOf(thrown: unknown): { offset: number; reason: string } {
  if (!(thrown instanceof Error)) return { offset: 0, reason: "" };
  const { location, rawMessage } = thrown as {
    readonly location?: { readonly start?: { readonly offset?: number } };
    readonly rawMessage?: string;
  };
  return { offset: location?.start?.offset ?? 0, reason: rawMessage ?? thrown.message };
}
