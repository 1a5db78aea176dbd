import { StratagraphError } from "../errors.ts";

/** One problem of an expression or a template. */
export interface ExpressionProblem {
  /** A sentence without its full stop. */
  readonly message: string;
  /** 0-based offset in the compiled source. */
  readonly offset: number;
  /** The nearest valid name. */
  readonly suggestion?: string;
}

/** The result of compiling: the compiled value, or at least one problem. */
export type Compiled<T, Problem extends ExpressionProblem = ExpressionProblem> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** An expression could not be evaluated on the given values. */
export class ExpressionError extends StratagraphError {
  readonly code = "expression";
  override readonly kind = "run";

  constructor(
    /** The source of the expression. */
    readonly expression: string,
    /** 0-based offset in the expression. */
    readonly offset: number,
    /** The problem, as a sentence without its full stop. */
    readonly problem: string,
    options?: { cause?: unknown },
  ) {
    super(`Cannot evaluate ${quoteExpression(expression, offset)}: ${problem}.`, options);
  }
}

/** Characters of an expression shown before and after the offset. */
const shownBefore = 60;
const shownAfter = 60;

/**
 * Renders an expression and an offset in it: `'nodes.clasify.choice == "x"' at character 7`. Long sources are truncated
 * around the offset. Characters that could change how a terminal displays the message are escaped.
 */
export function quoteExpression(source: string, offset: number): string {
  const place = Math.min(Math.max(0, offset), source.length);
  let start = place > shownBefore ? place - shownBefore : 0;
  let end = Math.min(source.length, place + shownAfter);
  if (isLowSurrogate(source, start)) start += 1;
  if (isLowSurrogate(source, end)) end -= 1;
  const text = source.slice(start, end).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, escapeCharacter);
  const shown = `${start > 0 ? "…" : ""}${text}${end < source.length ? "…" : ""}`;
  return `'${shown}' at character ${place + 1}`;
}

function escapeCharacter(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  return `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`;
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Maximum number of names listed in a message. */
const maxShown = 12;

/** Renders `a, b and 3 more`. */
export function listNames(names: readonly string[]): string {
  const more = names.length - maxShown;
  if (more <= 0) return names.join(", ");
  return `${names.slice(0, maxShown).join(", ")} and ${more} more`;
}

/** Limits on compilation and evaluation, far above the needs of a condition or a prompt. */
export const limits = {
  /** Characters of an expression. */
  sourceLength: 4000,
  /** Nesting depth of brackets. */
  nesting: 32,
  /** Levels of the syntax tree: `a + b + c` has three. */
  depth: 200,
  /** Nodes of the syntax tree: `a + b` has three. */
  nodes: 1000,
  /** Nesting depth of `all`, `exists`, `map` and so on. */
  comprehensions: 3,
  /** Characters of a regular expression. */
  patternLength: 1000,
  /** Parts of a JSON Schema pattern, those in repetitions counted as often as they may repeat: `^a{3}$` has seven. */
  patternSize: 2000,
  /** Work of all patterns in one validation: 1 per part of a pattern and character of a text. */
  patternWork: 20_000_000,
  /**
   * Work of one evaluation: each item iterated, call, 16 characters processed and part of the result costs 1.
   */
  work: 500_000,
  /** Characters of a string that an evaluation creates. */
  stringLength: 1_000_000,
  /** Nesting depth of a value that contains templates. */
  templateDepth: 64,
} as const;

/** Thrown when an evaluation exceeds a limit. The message is a sentence without its full stop. */
export class LimitReached extends Error {}

/** Remaining budget of the current evaluation. Evaluation is synchronous, so there is only one at a time. */
let left = 0;

/**
 * Charges `work` to the budget of the current evaluation.
 *
 * @throws LimitReached once the budget is spent, on every further call too: an expression cannot hide it (`… || true`)
 */
export function chargeBudget(work: number): void {
  left -= work;
  if (left < 0) throw new LimitReached(`this takes more than ${limits.work} steps`);
}

/** Runs an evaluation with a full budget. It fails if the budget is exceeded, even if the expression hides that. */
export function withBudget<T>(evaluate: () => T): T {
  const outer = left;
  left = limits.work;
  try {
    const value = evaluate();
    chargeBudget(0);
    return value;
  } finally {
    left = outer;
  }
}
