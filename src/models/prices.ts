/** US dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
}

/** By `provider:model`. An entry also holds for dated and tagged variants of its model (`gpt-4o-mini-2024-07-18`). */
export type PriceTable = Readonly<Record<string, Price>>;

/**
 * List prices on the providers' price pages of September 2025, without discounts for cached or batched input. A model that
 * is not here costs 0.
 */
export const listPrices: PriceTable = Object.freeze({
  "openai:gpt-5": { input: 1.25, output: 10 },
  "openai:gpt-5-mini": { input: 0.25, output: 2 },
  "openai:gpt-5-nano": { input: 0.05, output: 0.4 },
  "openai:gpt-4.1": { input: 2, output: 8 },
  "openai:gpt-4.1-mini": { input: 0.4, output: 1.6 },
  "openai:gpt-4.1-nano": { input: 0.1, output: 0.4 },
  "openai:gpt-4o": { input: 2.5, output: 10 },
  "openai:gpt-4o-mini": { input: 0.15, output: 0.6 },
  "openai:gpt-4-turbo": { input: 10, output: 30 },
  "openai:gpt-4": { input: 30, output: 60 },
  "openai:gpt-3.5-turbo": { input: 0.5, output: 1.5 },
  "openai:o1": { input: 15, output: 60 },
  "openai:o3": { input: 2, output: 8 },
  "openai:o3-mini": { input: 1.1, output: 4.4 },
  "openai:o4-mini": { input: 1.1, output: 4.4 },
  "anthropic:claude-3-haiku": { input: 0.25, output: 1.25 },
  "anthropic:claude-3-5-haiku": { input: 0.8, output: 4 },
  "anthropic:claude-3-5-sonnet": { input: 3, output: 15 },
  "anthropic:claude-3-7-sonnet": { input: 3, output: 15 },
  "anthropic:claude-3-opus": { input: 15, output: 75 },
  "anthropic:claude-sonnet-4": { input: 3, output: 15 },
  "anthropic:claude-opus-4": { input: 15, output: 75 },
  "google:gemini-2.5-pro": { input: 1.25, output: 10 },
  "google:gemini-2.5-flash": { input: 0.3, output: 2.5 },
  "google:gemini-2.5-flash-lite": { input: 0.1, output: 0.4 },
  "google:gemini-2.0-flash": { input: 0.1, output: 0.4 },
  "mistral:mistral-large": { input: 2, output: 6 },
  "mistral:mistral-small": { input: 0.1, output: 0.3 },
});

const free: Price = Object.freeze({ input: 0, output: 0 });

/** The price of a model: its own entry, else that of the model it is a dated or `latest` variant of, else 0. */
export function priceOf(ref: string, prices: PriceTable): Price {
  return prices[ref] ?? prices[withoutVariant(ref)] ?? free;
}

function withoutVariant(ref: string): string {
  return ref.replace(/[-@:](\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest|\d{3})$/, "");
}

export function costOf(price: Price, tokensIn: number, tokensOut: number): number {
  return (price.input * tokensIn + price.output * tokensOut) / 1_000_000;
}
