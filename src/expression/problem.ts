import { StratagraphError } from "../errors.ts";

/** One thing that is wrong with an expression or a template. */
export interface ExpressionProblem {
  /** A sentence without its full stop. */
  readonly message: string;
  /** 0-based, in the source that was compiled. */
  readonly offset: number;
  /** The nearest valid name. */
  readonly suggestion?: string;
}

/** What compiling gives: the compiled value, or at least one problem. */
export type Compiled<T, Problem extends ExpressionProblem = ExpressionProblem> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** An expression could not be evaluated on the values it was given. */
export class ExpressionError extends StratagraphError {
  readonly code = "expression";
  override readonly kind = "run";

  constructor(
    /** The source of the expression. */
    readonly expression: string,
    /** 0-based, in the expression. */
    readonly offset: number,
    /** What went wrong, as a sentence without its full stop. */
    readonly problem: string,
    options?: { cause?: unknown },
  ) {
    super(`Cannot evaluate ${quoteExpression(expression, offset)}: ${problem}.`, options);
  }
}

/** Characters of an expression shown before and after the place. */
const shownBefore = 60;
const shownAfter = 60;

/**
 * The expression and a place in it for a message: `'nodes.clasify.choice == "x"' at character 7`. Long sources are cut
 * around the place; what could change how a terminal shows the message is escaped.
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

/** Names that a message lists. */
const maxShown = 12;

/** `a, b and 3 more`. */
export function listNames(names: readonly string[]): string {
  const more = names.length - maxShown;
  if (more <= 0) return names.join(", ");
  return `${names.slice(0, maxShown).join(", ")} and ${more} more`;
}

/** Bounds on what is compiled and evaluated. They are far above what a condition or a prompt needs. */
export const limits = {
  /** Characters of an expression. */
  sourceLength: 4000,
  /** Brackets inside brackets. */
  nesting: 32,
  /** Levels of the syntax tree: `a + b + c` has three. */
  depth: 200,
  /** Nodes of the syntax tree: `a + b` has three. */
  nodes: 1000,
  /** `all`, `exists`, `map` and so on inside one another. */
  comprehensions: 3,
  /** Characters of a regular expression. */
  patternLength: 1000,
  /** Parts of a JSON Schema's pattern, those in repetitions as often as they may repeat: `^a{3}$` has seven. */
  patternSize: 2000,
  /** Work of all patterns in one check of a value: a part of a pattern for each character of a text costs 1. */
  patternWork: 20_000_000,
  /**
   * Work of one evaluation: an item gone through, a call, 16 characters handled or a part of the result each cost 1.
   */
  work: 500_000,
  /** Characters of a string that an evaluation makes. */
  stringLength: 1_000_000,
  /** Levels of a value that holds templates. */
  templateDepth: 64,
} as const;

/** An evaluation was ended by a limit of ours. The message is a sentence without its full stop. */
export class LimitReached extends Error {}

/** Work that the evaluation in progress may still do. Evaluation is synchronous, so there is one at a time. */
let left = 0;

/**
 * Takes `work` from what the evaluation in progress may still do.
 *
 * @throws LimitReached also from then on, whatever the expression makes of the first refusal (`… || true`)
 */
export function spend(work: number): void {
  left -= work;
  if (left < 0) throw new LimitReached(`this takes more than ${limits.work} steps`);
}

/** Runs an evaluation with a full budget. The budget being spent ends it, even where the expression hid that. */
export function withBudget<T>(evaluate: () => T): T {
  const outer = left;
  left = limits.work;
  try {
    const value = evaluate();
    spend(0);
    return value;
  } finally {
    left = outer;
  }
}
