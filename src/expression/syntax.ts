import type { parse } from "@bufbuild/cel";
import { cel } from "./cel.ts";
import { type Compiled, type ExpressionProblem, limits } from "./problem.ts";

/** A node of the standard CEL syntax tree, with macros expanded. */
export type Expr = NonNullable<ReturnType<typeof parse>["expr"]>;

export interface Syntax {
  readonly root: Expr;
  /** Returns the 0-based offset of a node: of its symbol for operators, of its dot for fields. */
  readonly offsetOf: (id: bigint) => number;
}

/** Parses an expression within `limits`. Never throws. */
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

/** Skips white space, since the library's operator positions include the preceding space. */
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

/** Hints for syntax of other languages, matched against the source from the error on. */
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

/** Returns the written children of a node: for a comprehension the range and the step, without generated parts. */
export function getChildren(expr: Expr): Expr[] {
  const { case: kind, value } = expr.exprKind;
  switch (kind) {
    case "selectExpr":
      return present(value.operand);
    case "callExpr":
      return present(value.target, ...value.args);
    case "listExpr":
      return value.elements;
    case "structExpr":
      return value.entries.flatMap((entry) =>
        present(entry.keyKind.case === "mapKey" ? entry.keyKind.value : undefined, entry.value),
      );
    case "comprehensionExpr":
      return present(value.iterRange, value.loopStep);
    default:
      return [];
  }
}

function present(...parts: readonly (Expr | undefined)[]): Expr[] {
  return parts.filter((part) => part !== undefined);
}

const closing: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/**
 * Returns the end offset of a string literal, including its closing quote, or undefined if it is not closed.
 *
 * @param start offset of the opening quote; a prefix such as `r` precedes it
 */
export function findStringEnd(source: string, start: number): number | undefined {
  const quote = source.charAt(start);
  const raw = /(?:^|\W)[bB]?[rR][bB]?$/.test(source.slice(Math.max(0, start - 3), start));
  const mark = source.startsWith(quote.repeat(3), start) ? quote.repeat(3) : quote;
  for (let at = start + mark.length; at < source.length; at += 1) {
    if (source.startsWith(mark, at)) return at + mark.length;
    if (source[at] === "\\" && !raw) at += 1;
    else if (mark.length === 1 && (source[at] === "\n" || source[at] === "\r")) return undefined;
  }
  return undefined;
}

/**
 * Returns the first problem of brackets and quotes. Runs before the parser, which reports poor positions and recurses
 * for each level.
 */
function bracketProblem(source: string): ExpressionProblem | undefined {
  const open: number[] = [];
  for (let at = 0; at < source.length; at += 1) {
    const character = source.charAt(at);
    if (character === '"' || character === "'") {
      const end = findStringEnd(source, at);
      if (end === undefined) return { message: "the string has no closing quote", offset: at };
      at = end - 1;
    } else if (source.startsWith("//", at)) {
      const end = source.indexOf("\n", at);
      at = end < 0 ? source.length : end;
    } else if (closing[character] !== undefined) {
      open.push(at);
      if (open.length > limits.nesting)
        return {
          message: `brackets are nested more than ${limits.nesting} deep`,
          offset: at,
        };
    } else if (character === ")" || character === "]" || character === "}") {
      const opened = open.pop();
      if (opened === undefined) return { message: `"${character}" closes nothing`, offset: at };
      const expected = closing[source.charAt(opened)];
      if (expected !== character)
        return {
          message: `"${source.charAt(opened)}" is closed by "${character}", not by "${expected}"`,
          offset: at,
        };
    }
  }
  const unclosed = open.at(-1);
  if (unclosed === undefined) return undefined;
  const bracket = source.charAt(unclosed);
  return { message: `"${bracket}" has no closing "${closing[bracket]}"`, offset: unclosed };
}

interface Found {
  readonly expr: Expr;
  readonly message: string;
}

/** Returns the first node of a syntax tree that exceeds `limits`, if any. */
export function treeProblem(root: Expr): Found | undefined {
  let nodes = 0;
  const visit = (expr: Expr, depth: number, loops: number): Found | undefined => {
    nodes += 1;
    if (nodes > limits.nodes || depth > limits.depth)
      return { expr, message: "the expression is too large" };
    const inside = expr.exprKind.case === "comprehensionExpr" ? loops + 1 : loops;
    if (inside > limits.comprehensions)
      return {
        expr,
        message: `all, exists, map and filter are nested more than ${limits.comprehensions} deep`,
      };
    for (const child of getChildren(expr)) {
      const found = visit(child, depth + 1, inside);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return visit(root, 1, 0);
}
