import { z } from "zod";
import { StratagraphError } from "../../errors.ts";
import { nearestName } from "../../nearest-name.ts";
import { builtinTool } from "./builtin-tool.ts";
import {
  add,
  constants,
  divide,
  functions,
  multiply,
  negate,
  power,
  type Quantity,
  real,
  remainder,
  subtract,
  toResult,
} from "./calculator-functions.ts";

const input = z.strictObject({
  expression: z
    .string()
    .min(1)
    .max(1_000)
    .describe("For example: 17.5% of 2340, (3 + 4) * 2^10, round(sqrt(2), 3)"),
});

/** Evaluates arithmetic with a parser of its own: no code is run. */
export const calculator = builtinTool({
  name: "calculator",
  display_name: "Calculator",
  description:
    "Evaluates an arithmetic expression. Operators: + - * / % (remainder) ^ (power), parentheses, and percent (17.5% of 2340; 10% alone is 0.1). Functions: sqrt cbrt abs sign round(x, digits) floor ceil trunc min max mod pow exp ln log(x, base 10) log2 log10 sin cos tan asin acos atan atan2 hypot (radians). Constants: pi, tau, e. Whole numbers are exact; those beyond 2^53 come as a string of digits.",
  input_schema: input,
  handler: ({ expression }) => ({ result: toResult(evaluate(expression)) }),
});

/** How deep parentheses, signs and powers may be nested. */
const maxDepth = 100;

/**
 * The value of an arithmetic expression. From loose to tight: `+ -`; `* / %` and `of`; signs; `^` (from the right);
 * a percent sign after an operand.
 * @throws ExpressionSyntaxError with a position; ToolFailure where there is no result.
 */
function evaluate(expression: string): Quantity {
  return new Evaluator(tokenize(expression)).value();
}

/** Recursive descent that computes on its way. */
class Evaluator {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  value(): Quantity {
    const value = this.#sum();
    const { kind, text } = this.#next;
    if (kind === "end") return value;
    if (text === ",") throw this.#wrong('"," separates arguments only; write 1000 for 1,000');
    throw this.#wrong(`expected an operator and found "${text}"`);
  }

  get #next(): Token {
    return this.#peek(0);
  }

  #peek(offset: number): Token {
    const last = this.#tokens.length - 1;
    // The list is never empty: it ends with an "end".
    return this.#tokens[Math.min(this.#at + offset, last)] as Token;
  }

  #take(text: string): boolean {
    if (this.#next.kind === "number" || this.#next.text !== text) return false;
    this.#at += 1;
    return true;
  }

  #wrong(problem: string, token = this.#next): ExpressionSyntaxError {
    return new ExpressionSyntaxError(problem, token.start + 1);
  }

  #nested(parse: () => Quantity): Quantity {
    this.#depth += 1;
    if (this.#depth > maxDepth) throw this.#wrong(`it is nested more than ${maxDepth} levels deep`);
    const value = parse();
    this.#depth -= 1;
    return value;
  }

  #sum(): Quantity {
    let value = this.#product();
    for (;;) {
      if (this.#take("+")) value = add(value, this.#product());
      else if (this.#take("-")) value = subtract(value, this.#product());
      else return value;
    }
  }

  #product(): Quantity {
    let value = this.#signed();
    for (;;) {
      if (this.#take("*")) value = multiply(value, this.#signed());
      else if (this.#take("/")) value = divide(value, this.#signed());
      else if (this.#take("%")) value = remainder(value, this.#signed());
      else return value;
    }
  }

  #signed(): Quantity {
    if (this.#take("-")) return this.#nested(() => negate(this.#signed()));
    if (this.#take("+")) return this.#nested(() => this.#signed());
    return this.#power();
  }

  #power(): Quantity {
    const base = this.#percent();
    return this.#take("^") ? this.#nested(() => power(base, this.#signed())) : base;
  }

  #percent(): Quantity {
    let value = this.#operand();
    while (this.#next.text === "%" && this.#isPercentSign()) {
      this.#at += 1;
      value = divide(value, 100n);
      if (this.#take("of")) return this.#nested(() => multiply(value, this.#signed()));
    }
    return value;
  }

  /** `%` before an operand is a remainder; before a minus the spaces tell: `10% - 3`, and `10 % -3`. */
  #isPercentSign(): boolean {
    const sign = this.#next;
    const after = this.#peek(1);
    if (after.text === "-") {
      const percent = !sign.spaceBefore && after.spaceBefore && this.#peek(2).spaceBefore;
      const modulo = sign.spaceBefore && !this.#peek(2).spaceBefore;
      if (percent !== modulo) return percent;
      throw this.#wrong(
        "% before - can be a percent or a remainder; write (10%) - 3 or mod(10, -3)",
      );
    }
    if (after.kind === "number" || after.text === "(") return false;
    return after.kind !== "name" || after.text === "of";
  }

  #operand(): Quantity {
    const token = this.#next;
    if (token.kind === "number") {
      this.#at += 1;
      return literal(token.text);
    }
    if (token.kind === "name") {
      this.#at += 1;
      return this.#named(token);
    }
    if (this.#take("(")) return this.#nested(() => this.#closed(this.#sum()));
    const found = token.kind === "end" ? "the end" : `"${token.text}"`;
    throw this.#wrong(`expected a number and found ${found}`);
  }

  #closed<T>(value: T): T {
    if (this.#take(")")) return value;
    const { kind, text } = this.#next;
    throw this.#wrong(`expected ")" and found ${kind === "end" ? "the end" : `"${text}"`}`);
  }

  #named(token: Token): Quantity {
    const name = token.text.toLowerCase();
    const constant = constants.get(name);
    if (constant !== undefined) return constant;
    const called = functions.get(name);
    if (called === undefined) {
      const meant = nearestName(name, [...functions.keys(), ...constants.keys()]);
      const hint = meant === undefined ? "" : `; did you mean "${meant}"?`;
      throw this.#wrong(`there is no function or constant "${token.text}"${hint}`, token);
    }
    if (!this.#take("(")) throw this.#wrong(`expected "(" after "${token.text}"`);
    const args: Quantity[] = [];
    this.#nested(() => {
      do args.push(this.#sum());
      while (this.#take(","));
      return this.#closed(0n);
    });
    if (args.length < called.min || args.length > called.max) {
      const wanted = called.min === called.max ? called.min : `${called.min} to ${called.max}`;
      throw this.#wrong(`${token.text} takes ${wanted} arguments and got ${args.length}`, token);
    }
    return called.apply(args);
  }
}

/** Whole literals are exact, whatever their size. */
function literal(text: string): Quantity {
  if (/^\d+$/.test(text)) return BigInt(text);
  const value = real(Number(text));
  return Number.isSafeInteger(value) ? BigInt(value) : value;
}

/** An expression that the calculator cannot read. */
class ExpressionSyntaxError extends StratagraphError {
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

interface Token {
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
function tokenize(expression: string): readonly Token[] {
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
