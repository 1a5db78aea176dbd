import { StratagraphError } from "../../../errors.ts";

/** An expression that the calculator cannot read. */
export class ExpressionSyntaxError extends StratagraphError {
  readonly code = "expression_syntax";
  override readonly kind = "run";

  constructor(
    problem: string,
    /** 1-based, in UTF-16 units. */
    readonly position: number,
  ) {
    super(`The expression is wrong at position ${position}: ${problem}.`);
  }
}

export interface Token {
  readonly kind: "number" | "name" | "operator" | "end";
  readonly text: string;
  /** 0-based. */
  readonly start: number;
  readonly spaceBefore: boolean;
}

const pattern =
  /(?<space>\s*)(?:(?<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?<name>[A-Za-z_][A-Za-z0-9_]*|π)|(?<operator>\*\*|[-+*/^%(),×·÷−]))/uy;

/** Other ways to write the same operator. */
const sameAs: ReadonlyMap<string, string> = new Map([
  ["×", "*"],
  ["·", "*"],
  ["÷", "/"],
  ["−", "-"],
  ["**", "^"],
]);

/** @throws ExpressionSyntaxError */
export function tokenize(expression: string): readonly Token[] {
  const tokens: Token[] = [];
  const end = expression.trimEnd().length;
  let at = 0;
  while (at < end) {
    pattern.lastIndex = at;
    const groups = pattern.exec(expression)?.groups;
    if (groups === undefined) {
      const start = at + (/^\s*/.exec(expression.slice(at))?.[0].length ?? 0);
      const character = String.fromCodePoint(expression.codePointAt(start) ?? 0);
      throw new ExpressionSyntaxError(`"${character}" means nothing here`, start + 1);
    }
    const { space = "", number, name, operator } = groups;
    const text = number ?? name ?? operator ?? "";
    const kind = number !== undefined ? "number" : name !== undefined ? "name" : "operator";
    const start = at + space.length;
    tokens.push({ kind, text: sameAs.get(text) ?? text, start, spaceBefore: space !== "" });
    at = start + text.length;
  }
  tokens.push({ kind: "end", text: "the end", start: end, spaceBefore: false });
  return tokens;
}
