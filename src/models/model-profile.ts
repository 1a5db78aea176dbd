import type { ModelInput } from "./model-inputs.ts";
import { listPrices, type Price, priceOf } from "./usage/prices.ts";
import { encodingOf, tokenCounter, type TokenCounter } from "./usage/tokens.ts";

/** What a context has to know of the model that reads it. */
export interface ModelProfile {
  /** `provider:model`. */
  readonly ref: string;
  /** Tokens of its window: what it reads and what it answers together. */
  readonly window: number;
  /**
   * Tokens that its longest reply has, at most what `llm_config.max_tokens` allows, and at most half of the window, so that
   * there is room for something to reply to.
   */
  readonly maxOutput: number;
  /** Counts by its own tokenizer, or by the nearest one that is known. */
  readonly count: TokenCounter;
  /** What is assumed of it, in sentences; empty where window and tokenizer are its own. */
  readonly notes: readonly string[];
  /** The attachments it reads. Default: what is known by its `ref`. */
  readonly inputs?: readonly ModelInput[];
  /** Price of an input token read from the provider's cache, over that of another one. Left out where it costs nothing, or its price is not known. */
  readonly cachedShare?: number;
}

/** Known facts of a model, in tokens. */
export interface ModelProfileOptions {
  /** The context window requested from an Ollama server; the window is never larger. */
  readonly num_ctx?: number | undefined;
  /** Longest reply. */
  readonly max_tokens?: number | undefined;
  /** The same in Ollama's words, and before it; no limit where it is not positive. */
  readonly num_predict?: number | undefined;
  /** Instead of what is known or assumed by its name. */
  readonly window?: number | undefined;
  /** The attachments it reads, instead of what is known by its name. */
  readonly inputs?: readonly ModelInput[] | undefined;
  /** Null where it is not known. Default: the list price. */
  readonly price?: Price | null | undefined;
}

/** Tokens of a window that is not known; most models that are served today have this much. */
const assumedWindow = 32_768;

/** Default window of an Ollama server, in tokens; servers with much memory use more. */
const ollamaDefaultWindow = 4_096;

/** Tokens kept for a reply whose longest form is not known; at most a quarter of the window. */
const assumedReply = 4_096;

const profiles = new Map<string, ModelProfile>();

/** The same object for the same arguments. Warns once in a process of a model whose window is not known. */
export function modelProfile(ref: string, options: ModelProfileOptions = {}): ModelProfile {
  const { num_ctx, max_tokens, num_predict, window, inputs } = options;
  const { price = priceOf(ref, listPrices) } = options;
  const share = cachedShareOf(price);
  const key = JSON.stringify([ref, num_ctx, max_tokens, num_predict, window, inputs, share]);
  const known = profiles.get(key);
  if (known !== undefined) return known;
  const made = profileOf(ref, options, share);
  profiles.set(key, made);
  return made;
}

function cachedShareOf(price: Price | null): number | undefined {
  if (price === null || price.input <= 0) return undefined;
  return (price.cached_input ?? price.input) / price.input;
}

function profileOf(
  ref: string,
  options: ModelProfileOptions,
  cachedShare: number | undefined,
): ModelProfile {
  const { window, maxOutput, note } = windowOf(ref, options);
  const isOffline = ref === "offline:rules";
  const { name, own } = encodingOf(ref);
  const tokensNote =
    own || isOffline ? null : `Tokens of "${ref}" are counted by ${name}, an approximation.`;
  return Object.freeze({
    ref,
    window,
    maxOutput: longestReply(window, maxOutput, replyLimit(options)),
    count: tokenCounter(ref),
    notes: Object.freeze([note, tokensNote].filter((one) => one !== null)),
    ...(options.inputs !== undefined && { inputs: options.inputs }),
    ...(cachedShare !== undefined && { cachedShare }),
  });
}

function windowOf(ref: string, { num_ctx, window }: ModelProfileOptions) {
  const known = knownWindow(ref);
  const maxOutput = known?.maxOutput ?? null;
  const isOllama = ref.startsWith("ollama:");
  if (isOllama && num_ctx !== undefined) return { window: num_ctx, maxOutput, note: null };
  if (window !== undefined) return { window, maxOutput, note: null };
  if (known !== null) return { window: known.window, maxOutput, note: null };
  if (isOllama) {
    const tokens = ollamaDefaultWindow.toLocaleString("en");
    const note = `The window of "${ref}" is taken to be Ollama's default of ${tokens} tokens; set llm_config.num_ctx to use more.`;
    return { window: ollamaDefaultWindow, maxOutput, note };
  }
  if (num_ctx !== undefined) return { window: num_ctx, maxOutput, note: null };
  const tokens = assumedWindow.toLocaleString("en");
  const note = `The window of "${ref}" is not known: ${tokens} tokens are assumed; set modelOptions.windows["${ref}"] to what it has.`;
  warnOnce(note, "STRATAGRAPH_APPROXIMATION");
  return { window: assumedWindow, maxOutput, note };
}

function replyLimit({ max_tokens, num_predict }: ModelProfileOptions): number | null {
  if (num_predict === undefined) return max_tokens ?? null;
  return num_predict > 0 ? num_predict : null;
}

function longestReply(window: number, own: number | null, limit: number | null): number {
  const unlimited = own ?? Math.min(assumedReply, Math.floor(window / 4));
  const wanted = limit === null ? unlimited : own === null ? limit : Math.min(own, limit);
  return Math.max(1, Math.min(wanted, Math.floor(window / 2)));
}

/** What a model's provider says of its sizes, in tokens. */
export interface KnownWindow {
  /** What it reads and answers together; where a provider limits the two apart, what it reads. */
  readonly window: number;
  /** Its longest reply; null where it is not known, or only the window limits it. */
  readonly maxOutput: number | null;
}

/**
 * By patterns of `provider:model`; the first that fits holds. From the model pages of the providers (OpenAI's as of July
 * 2026, with the metadata of gpt-tokenizer 4.0.0); windows that need a header to be enabled are not counted.
 */
const known: readonly (readonly [pattern: RegExp, window: number, maxOutput: number | null])[] = [
  [/^openai:gpt-3\.5-turbo(-instruct|-0301|-0613)/, 4_096, null],
  [/^openai:gpt-3\.5-turbo/, 16_385, 4_096],
  [/^openai:gpt-4-32k/, 32_768, null],
  [/^openai:gpt-4-(turbo|0125|1106)/, 128_000, 4_096],
  [/^openai:gpt-4o(-mini)?-(realtime|transcribe)/, 16_000, null],
  [/^openai:(chatgpt-4o|gpt-4o|gpt-4\.5)/, 128_000, 16_384],
  [/^openai:gpt-4\.1/, 1_047_576, 32_768],
  [/^openai:gpt-4(-\d{4})?$/, 8_192, null],
  [/^openai:gpt-5(\.\d)?-chat/, 128_000, 16_384],
  [/^openai:gpt-5-pro/, 400_000, 272_000],
  [/^openai:gpt-5\.(4-(mini|nano)|6-cyber)/, 400_000, 128_000],
  [/^openai:gpt-5\.[456](-|$)/, 1_050_000, 128_000],
  [/^openai:gpt-5(\.[123])?(-|$)/, 400_000, 128_000],
  [/^openai:o1-mini/, 128_000, 65_536],
  [/^openai:o1-preview/, 128_000, 32_768],
  [/^openai:(o[134](-|$)|codex-mini)/, 200_000, 100_000],

  [/^anthropic:claude-(instant|2\.0|2$)/, 100_000, 4_096],
  [/^anthropic:claude-(2\.1|3-(opus|sonnet|haiku))/, 200_000, 4_096],
  [/^anthropic:claude-3-5-/, 200_000, 8_192],
  [/^anthropic:claude-3-7-/, 200_000, 64_000],
  [/^anthropic:claude-opus-4(-[01]\b|-\d{8}|$)/, 200_000, 32_000],
  [/^anthropic:claude-(opus|sonnet|haiku)-4(-|$)/, 200_000, 64_000],

  [/^google:(models\/)?gemini-[\w.-]*(image|tts|audio|live)/, 32_768, null],
  [/^google:(models\/)?gemini-1\.5-pro/, 2_097_152, 8_192],
  [/^google:(models\/)?gemini-(1\.5|2\.0)-flash/, 1_048_576, 8_192],
  [/^google:(models\/)?gemini-(2\.5|3)-(pro|flash)/, 1_048_576, 65_536],

  [/^mistral:(mistral-(small|medium|large)-(2312|240[1-6]|2409|2501))/, 32_000, null],
  [/^mistral:(open-mistral-7b|open-mixtral-8x7b|codestral-2405)/, 32_000, null],
  [/^mistral:open-mixtral-8x22b/, 64_000, null],
  [/^mistral:magistral-(small|medium)-2506/, 40_000, null],
  [
    /^mistral:(mistral-(small|medium|large)|ministral|codestral|pixtral|magistral|devstral|open-mistral-nemo)/,
    128_000,
    null,
  ],

  [/^groq:(llama3-(8b|70b)-8192|gemma2-9b)/, 8_192, null],
  [/^groq:mixtral-8x7b-32768/, 32_768, null],
  [/^groq:(meta-llama\/)?llama-4-/, 131_072, 8_192],
  [/^groq:llama-3\.3-70b/, 131_072, 32_768],
  [/^groq:llama-3\.1-8b/, 131_072, null],
  [/^groq:(openai\/)?gpt-oss-/, 131_072, 65_536],
  [/^groq:(qwen\/)?qwen3-32b/, 131_072, 40_960],

  [/^offline:rules$/, 128_000, 4_096],
];

/** Null where nothing is known for certain. A fine-tuned model (`openai:ft:gpt-4o-mini:…`) is as large as the one it came from. */
function knownWindow(ref: string): KnownWindow | null {
  const plain = ref.replace(/^openai:ft:([^:]+).*$/, "openai:$1");
  const found = known.find(([pattern]) => pattern.test(plain));
  return found === undefined ? null : { window: found[1], maxOutput: found[2] };
}

const stated = new Set<string>();

/** Emits a process warning, each sentence once in a process. */
export function warnOnce(note: string, code: string): void {
  if (stated.has(note)) return;
  stated.add(note);
  process.emitWarning(note, { type: "StratagraphWarning", code });
}
