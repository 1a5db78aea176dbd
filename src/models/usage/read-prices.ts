import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { z } from "zod";
import { errorMessage, StratagraphError } from "../../errors.ts";
import type { PriceTable } from "./prices.ts";

/** A table of prices cannot be read, or has an entry that is no price. */
export class InvalidPricesError extends StratagraphError {
  readonly code = "invalid_prices";
  /** The path of the file, or `modelOptions.prices`. */
  readonly source: string;

  constructor(source: string, problem: string, options?: { cause?: unknown }) {
    super(
      `Invalid prices in ${source}: ${problem}. Expected an object of provider:model → ` +
        "{ input, output, cached_input?, cache_write?, reasoning? }, in US dollars for a million tokens.",
      options,
    );
    this.source = source;
  }
}

/** Maximum bytes of a file of prices. */
const maxBytes = 1_048_576;

const amount = z.number().nonnegative();

const priceTable = z.record(
  z.string().regex(/^[^\s:]+:\S/),
  z.strictObject({
    input: amount,
    output: amount,
    cached_input: amount.optional(),
    cache_write: amount.optional(),
    reasoning: amount.optional(),
  }),
);

/**
 * @param source the name of the table in errors
 * @throws InvalidPricesError
 */
export function checkPrices(prices: unknown, source: string): PriceTable {
  const read = priceTable.safeParse(prices);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const message =
    issue?.code === "invalid_key" ? "expected provider:model" : (issue?.message ?? "invalid");
  const place = issue?.path.map((key) => JSON.stringify(String(key)).slice(0, 200)).join(" → ");
  throw new InvalidPricesError(source, `${place ? `${place}: ` : ""}${message}`);
}

/**
 * Reads a JSON file of prices by `provider:model`, at most 1 MiB.
 *
 * @throws InvalidPricesError
 */
export function readPrices(path: string): PriceTable {
  let json: unknown;
  try {
    json = JSON.parse(readBounded(path));
  } catch (thrown) {
    if (thrown instanceof InvalidPricesError) throw thrown;
    const isMissing = (thrown as { code?: unknown }).code === "ENOENT";
    const problem = isMissing ? "there is no such file" : errorMessage(thrown);
    throw new InvalidPricesError(path, problem, { cause: thrown });
  }
  return checkPrices(json, path);
}

/** @throws InvalidPricesError, and errors of the file system */
function readBounded(path: string): string {
  const file = openSync(path, "r");
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw new InvalidPricesError(path, "it is not a file");
    if (stat.size > maxBytes) {
      const [bytes, limit] = [stat.size, maxBytes].map((size) => size.toLocaleString("en"));
      throw new InvalidPricesError(path, `it has ${bytes} bytes, the limit is ${limit}`);
    }
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}
