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
