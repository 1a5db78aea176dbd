import { z } from "zod";
import {
  passFinding,
  type Rail,
  type RailContext,
  type RailFinding,
  type RailSpan,
} from "../../definition/rail.ts";
import type { ToxicityConfig } from "../../definition/schema/guardrails.ts";
import { errorMessage, StratagraphError } from "../../errors.ts";
import { scoreText } from "./lexicon.ts";

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
      if (text.trim() === "") return passFinding;
      const found = scoreText(text);
      const isFound = found.score > 0 && found.score >= threshold;
      const isDecided = isFound && action !== "redact";
      const rest = isFound ? without(text, found.spans) : text;
      const asked = isDecided ? noScore : await ask(rest, context);
      const isObjected = asked.category !== null && asked.score > 0 && asked.score >= threshold;
      const score = Math.max(found.score, asked.score);
      if (!isFound && !isObjected) return { ...passFinding, score };
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

type Moderation = NonNullable<ToxicityConfig["moderation"]>;

export interface ModerationOptions {
  readonly signal: AbortSignal;
  /** A header with its references to secrets replaced. */
  readonly resolveSecrets: (text: string) => Promise<string>;
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds for the whole answer. */
  readonly timeoutMs: number;
}

interface ModerationScore {
  /** The highest of all categories, 0 to 1. */
  readonly score: number;
  /** The API's name for that category, such as `harassment/threatening`; null without categories. */
  readonly category: string | null;
}

/** https://platform.openai.com/docs/api-reference/moderations/object */
const answerSchema = z.object({
  results: z
    .array(z.object({ category_scores: z.record(z.string(), z.number()) }))
    .min(1, "expected a result"),
});

/**
 * Asks a moderation API of OpenAI's form about a text.
 * @throws ModerationError, or the signal's reason when it aborts
 * @throws MissingSecretError
 */
async function moderate(
  text: string,
  { endpoint, model, headers }: Moderation,
  options: ModerationOptions,
): Promise<ModerationScore> {
  const sent = await headersOf(endpoint, headers, options.resolveSecrets);
  const timeout = AbortSignal.timeout(options.timeoutMs);
  const init = {
    method: "POST",
    headers: sent,
    body: JSON.stringify({ model, input: text }),
    // Followed, it would take the text and the secrets in headers of any name to another host.
    redirect: "manual" as const,
    signal: AbortSignal.any([options.signal, timeout]),
  };
  const read = async () => {
    const { ok, status, text: body } = await answerOf(options.fetch, endpoint, init);
    if (!ok) throw refused(endpoint, status);
    return highest(endpoint, body);
  };
  return read().catch((thrown: unknown) => {
    if (thrown instanceof ModerationError) throw thrown;
    options.signal.throwIfAborted();
    const problem = timeout.aborted
      ? `there was no answer within ${options.timeoutMs} ms`
      : `the request failed (${errorMessage(thrown)})`;
    throw new ModerationError({ endpoint, problem, transient: true }, { cause: thrown });
  });
}

async function answerOf(fetch: ModerationOptions["fetch"], endpoint: string, init: RequestInit) {
  const response = await fetch(endpoint, init);
  return { ok: response.ok, status: response.status, text: await response.text() };
}

function refused(endpoint: string, status: number): ModerationError {
  const transient = status === 408 || status === 429 || status >= 500;
  const problem = `it answered with status ${status}${adviceFor(status)}`;
  return new ModerationError({ endpoint, problem, status, transient });
}

function adviceFor(status: number): string {
  if (status === 401 || status === 403) return "; check the secret in its headers";
  if (status >= 300 && status < 400) {
    return ", a redirect, which is not followed; name the address it leads to as the endpoint";
  }
  return "";
}

/** The message of a header that cannot be sent would repeat its value. */
async function headersOf(
  endpoint: string,
  headers: Moderation["headers"],
  resolveSecrets: ModerationOptions["resolveSecrets"],
): Promise<Headers> {
  const sent = new Headers({ "content-type": "application/json" });
  for (const [name, value] of Object.entries(headers)) {
    const resolved = await resolveSecrets(value);
    try {
      sent.set(name, resolved);
    } catch {
      const problem = `the header ${name} cannot be sent as it is; take line breaks and signs outside Latin-1 out of it`;
      throw new ModerationError({ endpoint, problem });
    }
  }
  return sent;
}

function highest(endpoint: string, body: string): ModerationScore {
  const parsed = answerSchema.safeParse(jsonOf(body));
  if (!parsed.success) {
    const problem = "its answer has no results[0].category_scores";
    throw new ModerationError({ endpoint, problem });
  }
  const scores = Object.entries(parsed.data.results[0]?.category_scores ?? {});
  const [category, score] = scores.toSorted(([, a], [, b]) => b - a)[0] ?? [null, 0];
  return { category, score: Math.min(1, Math.max(0, score)) };
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** The moderation API could not be asked, or its answer could not be read. The message holds no header. */
export class ModerationError extends StratagraphError {
  readonly code = "moderation_failed";
  override readonly kind = "run";
  override readonly transient: boolean;
  readonly endpoint: string;
  /** HTTP status, where there was a response. */
  readonly status: number | null;

  constructor(
    facts: {
      readonly endpoint: string;
      readonly problem: string;
      readonly status?: number;
      readonly transient?: boolean;
    },
    options?: { cause?: unknown },
  ) {
    super(
      `The moderation API at ${facts.endpoint} did not check the text: ${facts.problem}.`,
      options,
    );
    this.endpoint = facts.endpoint;
    this.status = facts.status ?? null;
    this.transient = facts.transient ?? false;
  }
}
