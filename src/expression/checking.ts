import type { Expr } from "./syntax.ts";
import type { ValueType } from "./value-type.ts";

/** Variables of an expression by name. */
export interface Scope {
  readonly [variable: string]: ValueType;
}

/** What the parts of the checker share. */
export interface Checking {
  readonly report: (expr: Expr, message: string, suggestion?: string) => void;
  /** The type of a part, which is checked by this. */
  readonly typeOf: (expr: Expr | undefined) => ValueType;
}
