/** US dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  /** Input that was read from the provider's cache. Default: `input`. */
  readonly cached_input?: number | undefined;
  /** Input that was written to the provider's cache. Default: `input`. */
  readonly cache_write?: number | undefined;
  /** Output that the model reasoned with. Default: `output`. */
  readonly reasoning?: number | undefined;
}

/** By `provider:model`. An entry also holds for dated and tagged variants of its model (`gpt-4o-mini-2024-07-18`). */
export type PriceTable = Readonly<Record<string, Price>>;

/** Year and month of {@link listPrices}. */
export const pricesAsOf = "2025-09";

/**
 * List prices on the providers' price pages as of {@link pricesAsOf}, without discounts for batches and surcharges for long
 * prompts. Cached input costs as much as other input where `cached_input` is left out.
 */
export const listPrices: PriceTable = Object.freeze({
  "openai:gpt-5": { input: 1.25, output: 10, cached_input: 0.125 },
  "openai:gpt-5-mini": { input: 0.25, output: 2, cached_input: 0.025 },
  "openai:gpt-5-nano": { input: 0.05, output: 0.4, cached_input: 0.005 },
  "openai:gpt-5-chat-latest": { input: 1.25, output: 10, cached_input: 0.125 },
  "openai:gpt-4.1": { input: 2, output: 8, cached_input: 0.5 },
  "openai:gpt-4.1-mini": { input: 0.4, output: 1.6, cached_input: 0.1 },
  "openai:gpt-4.1-nano": { input: 0.1, output: 0.4, cached_input: 0.025 },
  "openai:gpt-4o": { input: 2.5, output: 10, cached_input: 1.25 },
  "openai:gpt-4o-2024-05-13": { input: 5, output: 15 },
  "openai:gpt-4o-mini": { input: 0.15, output: 0.6, cached_input: 0.075 },
  "openai:gpt-4-turbo": { input: 10, output: 30 },
  "openai:gpt-4": { input: 30, output: 60 },
  "openai:gpt-3.5-turbo": { input: 0.5, output: 1.5 },
  "openai:gpt-3.5-turbo-1106": { input: 1, output: 2 },
  "openai:o1": { input: 15, output: 60, cached_input: 7.5 },
  "openai:o3": { input: 2, output: 8, cached_input: 0.5 },
  "openai:o3-mini": { input: 1.1, output: 4.4, cached_input: 0.55 },
  "openai:o4-mini": { input: 1.1, output: 4.4, cached_input: 0.275 },
  "anthropic:claude-3-haiku": { input: 0.25, output: 1.25, cached_input: 0.03, cache_write: 0.3 },
  "anthropic:claude-3-5-haiku": { input: 0.8, output: 4, cached_input: 0.08, cache_write: 1 },
  "anthropic:claude-3-5-sonnet": { input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 },
  "anthropic:claude-3-7-sonnet": { input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 },
  "anthropic:claude-3-opus": { input: 15, output: 75, cached_input: 1.5, cache_write: 18.75 },
  "anthropic:claude-sonnet-4": { input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 },
  "anthropic:claude-sonnet-4-0": { input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 },
  "anthropic:claude-opus-4": { input: 15, output: 75, cached_input: 1.5, cache_write: 18.75 },
  "anthropic:claude-opus-4-0": { input: 15, output: 75, cached_input: 1.5, cache_write: 18.75 },
  "anthropic:claude-opus-4-1": { input: 15, output: 75, cached_input: 1.5, cache_write: 18.75 },
  "google:gemini-2.5-pro": { input: 1.25, output: 10 },
  "google:gemini-2.5-flash": { input: 0.3, output: 2.5 },
  "google:gemini-2.5-flash-lite": { input: 0.1, output: 0.4 },
  "google:gemini-2.0-flash": { input: 0.1, output: 0.4 },
  "mistral:mistral-large": { input: 2, output: 6 },
  "mistral:mistral-small": { input: 0.1, output: 0.3 },
});

const free: Price = Object.freeze({ input: 0, output: 0 });

/** Models that Ollama's own servers run, also where the request goes through a local server. */
const ollamaCloud = /[-:]cloud$/;

/**
 * Returns the price of a model: its own entry, else that of the model it is a dated or `latest` variant of. Other models of
 * `offline` and `ollama` run locally and cost 0. Null where the price is not known.
 *
 * @param options `isHosted`: whether the model's server belongs to its provider, for `ollama`
 */
export function priceOf(
  ref: string,
  prices: PriceTable,
  { isHosted = false }: { readonly isHosted?: boolean } = {},
): Price | null {
  const name = ref.replace(/^google:models\//, "google:");
  for (const known of [ref, name, withoutVariant(name)]) {
    if (Object.hasOwn(prices, known)) return prices[known] ?? null;
  }
  if (ref.startsWith("offline:")) return free;
  const isLocal = ref.startsWith("ollama:") && !isHosted && !ollamaCloud.test(ref);
  return isLocal ? free : null;
}

function withoutVariant(ref: string): string {
  return ref.replace(/[-@:](\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest|\d{3})$/, "");
}

/** Tokens of one call, by how they are priced. */
export interface TokenCounts {
  /** All input: with cached and cache-writing tokens. */
  readonly input: number;
  readonly cached: number;
  readonly cacheWrites: number;
  /** All output: with reasoning. */
  readonly output: number;
  readonly reasoning: number;
}

/** Returns US dollars. */
export function costOf(price: Price, tokens: TokenCounts): number {
  const { input, output, cached_input = input, cache_write = input, reasoning = output } = price;
  const plainInput = tokens.input - tokens.cached - tokens.cacheWrites;
  const plainOutput = tokens.output - tokens.reasoning;
  const millionths =
    input * plainInput +
    cached_input * tokens.cached +
    cache_write * tokens.cacheWrites +
    output * plainOutput +
    reasoning * tokens.reasoning;
  return millionths / 1_000_000;
}
