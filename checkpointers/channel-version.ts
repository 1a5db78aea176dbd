import { randomInt } from "node:crypto";
import { StratagraphError } from "../src/errors.ts";

/** A stored thread holds a channel version that cannot be counted on. */
export class ChannelVersionError extends StratagraphError {
  readonly code = "channel_version";
  override readonly kind = "run";

  constructor(readonly version: unknown) {
    super(
      `Expected a channel version that is an integer or starts with digits, got ${JSON.stringify(version)}.`,
    );
  }
}

const COUNTER_DIGITS = 16;
/** Puts the counter after every integer of up to eight digits, whether the two are compared as numbers or as text. */
const AFTER_INTEGERS = "99999999";
/** Bound of the random part; the greatest that `randomInt` takes, 48 bits. */
const RANDOM_BOUND = 2 ** 48 - 1;
const RANDOM_DIGITS = 15;

/**
 * The version that follows `current`: a counter padded with zeros, a point, and digits at random, as in
 * `0000000000000007.048301945027781`. The counter orders versions, since LangGraph compares them as text; the random
 * part keeps the branches of a fork, which count on from the same number, from ever sharing a version.
 *
 * Threads of the stock saver have integers. Their channels change one by one, so integers and our text live side by
 * side, and LangGraph compares such pairs sometimes as numbers and sometimes as text. The counter of such a thread goes
 * on at 9999999900000000, where both agree; the random part is decimal so that the whole reads as a number.
 *
 * @throws {ChannelVersionError} for text that does not start with digits.
 */
export function nextChannelVersion(current: number | string | undefined): string {
  const random = randomInt(RANDOM_BOUND).toString().padStart(RANDOM_DIGITS, "0");
  return `${nextCounter(current)}.${random}`;
}

function nextCounter(current: number | string | undefined): string {
  if (current === undefined) return "1".padStart(COUNTER_DIGITS, "0");
  if (typeof current === "number") {
    if (!Number.isSafeInteger(Math.floor(current)) || current < 0)
      throw new ChannelVersionError(current);
    return (
      AFTER_INTEGERS +
      String(Math.floor(current) + 1).padStart(COUNTER_DIGITS - AFTER_INTEGERS.length, "0")
    );
  }
  const counter = /^\d+/.exec(current)?.[0];
  if (counter === undefined) throw new ChannelVersionError(current);
  return (BigInt(counter) + 1n).toString().padStart(counter.length, "0");
}
