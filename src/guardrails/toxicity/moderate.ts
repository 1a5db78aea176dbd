import { z } from "zod";
import type { ToxicityConfig } from "../../definition/guardrail-schema.ts";
import { errorMessage } from "../../errors.ts";
import { ModerationError } from "./errors.ts";

type Moderation = NonNullable<ToxicityConfig["moderation"]>;

export interface ModerationOptions {
  readonly signal: AbortSignal;
  /** A header with its references to secrets replaced. */
  readonly resolveSecrets: (text: string) => Promise<string>;
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds for the whole answer. */
  readonly timeoutMs: number;
}

export interface ModerationScore {
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
export async function moderate(
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
