import { stateOnce } from "./state-once.ts";
import { encodingOf, tokenCounter, type TokenCounter } from "./tokens.ts";
import { knownWindow } from "./windows.ts";

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
}

/** What is known of a model beside its name, in tokens. */
export interface ModelProfileOptions {
  /** Window that an Ollama server is told to use; no window is larger than that. */
  readonly num_ctx?: number | undefined;
  /** Longest reply. */
  readonly max_tokens?: number | undefined;
  /** The same in Ollama's words, and before it; no limit where it is not positive. */
  readonly num_predict?: number | undefined;
  /** Instead of what is known or assumed by its name. */
  readonly window?: number | undefined;
}

/** Tokens of a window that is not known; most models that are served today have this much. */
const assumedWindow = 32_768;

/** Tokens of an Ollama server's window where nobody says another one; servers with much memory take more. */
const ollamaDefaultWindow = 4_096;

/** Tokens kept for a reply whose longest form is not known; at most a quarter of the window. */
const assumedReply = 4_096;

const profiles = new Map<string, ModelProfile>();

/** The same object for the same arguments. Warns once in a process of a model whose window is not known. */
export function modelProfile(ref: string, options: ModelProfileOptions = {}): ModelProfile {
  const { num_ctx, max_tokens, num_predict, window } = options;
  const key = JSON.stringify([ref, num_ctx, max_tokens, num_predict, window]);
  const known = profiles.get(key);
  if (known !== undefined) return known;
  const made = profileOf(ref, options);
  profiles.set(key, made);
  return made;
}

function profileOf(ref: string, options: ModelProfileOptions): ModelProfile {
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
  stateOnce(note);
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
