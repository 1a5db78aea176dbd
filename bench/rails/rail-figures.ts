/** How well one rail finds one thing, on public data. */
export interface RailFigures {
  readonly rail: string;
  /** What is looked for, such as `EMAIL`. */
  readonly label: string;
  /** What there was to find. */
  readonly cases: number;
  /** 0 to 1; null where nothing was found, or where the data has no marks to count against. */
  readonly precision: number | null;
  /** 0 to 1; null where there was nothing to find. */
  readonly recall: number | null;
  /** Harmonic mean of both; null where either is. */
  readonly f1: number | null;
  /** Median time per text, in milliseconds. */
  readonly msPerText: number;
  /** Share of ordinary requests, 0 to 1, in which something was found. */
  readonly falseAlarms?: number;
}
