import type { ToxicityConfig } from "../../definition/guardrail-schema.ts";
import { passed, type Rail, type RailContext, type RailFinding, type RailSpan } from "../rail.ts";
import { scoreText } from "./lexicon.ts";
import { moderate, type ModerationScore } from "./moderate.ts";

export interface ToxicityOptions {
  readonly onError: Rail["onError"];
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds that the moderation API may take. Default 10,000. */
  readonly timeoutMs?: number;
}

const noScore: ModerationScore = { score: 0, category: null };

const lexiconReason =
  "The text has insults, slurs, threats or coarse words. Write it without them.";

/**
 * Scores an answer by the lexicon and, where one is configured, by a moderation API; the higher score counts. The API is
 * not asked about what the lexicon already blocks or flags, and with `redact` only about what is left. What the API objects
 * to has no place in the text that could be taken out, so that `redact` blocks it.
 */
export function toxicityRail(
  config: ToxicityConfig,
  { onError, fetch = globalThis.fetch, timeoutMs = 10_000 }: ToxicityOptions,
): Rail {
  const { threshold, action, moderation } = config;
  const ask = async (text: string, context: RailContext): Promise<ModerationScore> => {
    if (moderation === undefined || text.trim() === "") return noScore;
    const resolveSecrets = (header: string) => context.resolveSecrets(header);
    return moderate(text, moderation, { signal: context.signal, resolveSecrets, fetch, timeoutMs });
  };
  return {
    name: "toxicity",
    on: new Set(["output"]),
    onError,
    async check({ text }, context): Promise<RailFinding> {
      if (text.trim() === "") return passed;
      const found = scoreText(text);
      const isFound = found.score > 0 && found.score >= threshold;
      const isDecided = isFound && action !== "redact";
      const rest = isFound ? without(text, found.spans) : text;
      const asked = isDecided ? noScore : await ask(rest, context);
      const isObjected = asked.category !== null && asked.score > 0 && asked.score >= threshold;
      const score = Math.max(found.score, asked.score);
      if (!isFound && !isObjected) return { ...passed, score };
      return {
        verdict: action === "redact" && isObjected ? "block" : action,
        score,
        spans: isFound ? found.spans : [],
        reasons: [
          ...(isFound ? [lexiconReason] : []),
          ...(isObjected ? [objection(asked.category)] : []),
        ],
      };
    },
  };
}

function without(text: string, spans: readonly RailSpan[]): string {
  let left = "";
  let at = 0;
  for (const { start, end } of spans) {
    left += text.slice(at, start);
    at = end;
  }
  return left + text.slice(at);
}

function objection(category: string | null): string {
  return `The moderation API objects to the text as ${category ?? "unfit"}. Write it so that it is not.`;
}
