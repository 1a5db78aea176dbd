import { UnknownModelError } from "./errors.ts";

/** A `provider:model` string, taken apart. */
export interface ModelRef {
  readonly provider: string;
  /** May hold colons of its own: `ollama:llama3:latest` is the model `llama3:latest`. */
  readonly model: string;
}

/**
 * The first colon splits.
 * @throws UnknownModelError
 */
export function parseModelRef(ref: string, providers: readonly string[]): ModelRef {
  const colon = ref.indexOf(":");
  const provider = colon < 0 ? "" : ref.slice(0, colon).trim();
  const model = ref.slice(colon + 1).trim();
  if (model !== "" && providers.includes(provider)) return { provider, model };
  throw new UnknownModelError(ref, providers, suggest(provider, model, providers));
}

function suggest(provider: string, model: string, providers: readonly string[]): string | null {
  if (provider === "") {
    const owner = knownModels.find(([pattern]) => pattern.test(model))?.[1];
    return owner !== undefined && providers.includes(owner) ? `${owner}:${model}` : null;
  }
  const known = nearest(provider.toLowerCase(), providers);
  if (known === null) return null;
  return model === "" ? (known === "offline" ? "offline:rules" : null) : `${known}:${model}`;
}

/** Whose model a name without a provider most likely is. */
const knownModels: readonly (readonly [RegExp, string])[] = [
  [/^(gpt-|o[134](-|$)|chatgpt)/i, "openai"],
  [/^claude/i, "anthropic"],
  [/^(gemini|models\/gemini)/i, "google"],
  [/^(mistral|codestral|ministral|pixtral)/i, "mistral"],
  [/^(llama|qwen|gemma|phi|deepseek)/i, "ollama"],
  [/^rules$/i, "offline"],
];

function nearest(word: string, candidates: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = 3;
  for (const candidate of candidates) {
    const distance = editDistance(word, candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Levenshtein distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
