import { rounded } from "./numbers.ts";

/** Numbers that are looked up as they round; a look-up does not go through all of them. */
export class RoundedNumbers {
  readonly #numbers: readonly number[];
  readonly #byDecimals = new Map<number, ReadonlySet<number>>();

  constructor(numbers: Iterable<number>) {
    this.#numbers = [...numbers].filter(Number.isFinite);
  }

  /** Whether one of the numbers rounds to `value`. */
  has(value: number, decimals: number): boolean {
    const known = this.#byDecimals.get(decimals);
    const all = known ?? new Set(this.#numbers.map((number) => rounded(number, decimals)));
    if (known === undefined) this.#byDecimals.set(decimals, all);
    return all.has(value);
  }
}

/** The numbers of the evidence. */
export class NumberIndex {
  readonly #all: ReadonlySet<number>;
  readonly #sorted: Float64Array;
  readonly #fractions: RoundedNumbers;

  constructor(numbers: Iterable<number>) {
    this.#all = new Set(numbers);
    this.#sorted = Float64Array.from(this.#all).toSorted();
    this.#fractions = new RoundedNumbers(
      [...this.#all].filter((number) => !Number.isInteger(number)),
    );
  }

  has(value: number): boolean {
    return this.#all.has(value);
  }

  /** Whether a number that is not whole rounds to `value`. */
  hasRounded(value: number, decimals: number): boolean {
    return this.#fractions.has(value, decimals);
  }

  /** Whether a number differs from `value` by at most `difference`. */
  hasNear(value: number, difference: number): boolean {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#sorted[middle] ?? Infinity) < value) low = middle + 1;
      else high = middle;
    }
    // The nearest number stands on one side or the other.
    return [low - 1, low].some((at) => Math.abs((this.#sorted[at] ?? NaN) - value) <= difference);
  }
}
