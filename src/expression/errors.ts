import { StratagraphError } from "../errors.ts";
import { quoteExpression } from "./quote-expression.ts";

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
