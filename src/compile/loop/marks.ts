/** From the marks of what was redacted to the values that they stand for, and back. */
export interface Marks {
  /** A value with what stands for its marks; `own` without those of the agents around. */
  reveal<T>(value: T, own?: "own"): T;
  /** A value with the mark of everything that was ever redacted in the thread; what only looks like a mark is reserved. */
  hide<T>(value: T): T;
}
