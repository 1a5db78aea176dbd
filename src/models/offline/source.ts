import type { Outcome } from "./outcome.ts";

/** What arguments are read from. */
export interface Source {
  /** The part of the request that is being done. */
  readonly text: string;
  /** Results so far, oldest first, for "it", "that" and "the result". */
  readonly outcomes: readonly Outcome[];
}

/** Facts of the text are given to one argument only. */
export interface Search extends Source {
  readonly used: Set<string>;
}
