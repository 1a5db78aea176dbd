import { createHash } from "node:crypto";
import { isRecord } from "../values/json.ts";
import type { IdempotencyStore, ServerLogger } from "./ports.ts";
import { HttpProblem } from "./problems.ts";
import type { Answer } from "./route.ts";

/** Headers that are stored with an answer. */
const storedHeaders = ["ETag", "Location"] as const;

/** Characters of JSON that are stored of an answer. A larger one is not replayed, but not executed twice either. */
const maxStoredCharacters = 262_144;

export interface IdempotentRequest {
  readonly tenantId: string;
  /** Those of the caller: a key with others gets no stored answer. */
  readonly scopes: readonly string[];
  readonly request: Request;
  readonly bytes: Uint8Array;
  readonly requestId: string;
}

/**
 * Runs `handle` once for all requests of a tenant with the same Idempotency-Key. Later ones get its answer with
 * `Idempotency-Replayed: true`. An answer with a problem frees the key, unless the request was executed.
 *
 * @throws HttpProblem `invalid_request` for a key that is no key, `idempotency_mismatch`, `request_in_progress`
 */
export async function onceByKey(
  of: IdempotentRequest,
  { store, logger }: { readonly store: IdempotencyStore; readonly logger: ServerLogger },
  handle: () => Promise<Answer | Response>,
): Promise<Answer | Response> {
  const key = of.request.headers.get("idempotency-key");
  if (key === null) return handle();
  checkKey(key);
  const begun = await store.begin(of.tenantId, { key, requestHash: requestHash(of) });
  if (begun.state === "answered") return replayedAnswer(begun.status, begun.answer);
  if (begun.state === "other_request") {
    throw new HttpProblem("idempotency_mismatch", {
      detail: "The Idempotency-Key was sent with another request before. Use a new one.",
    });
  }
  if (begun.state === "under_way") {
    throw new HttpProblem("request_in_progress", {
      detail: "The request with this Idempotency-Key is under way. Send it again later.",
      headers: { "Retry-After": "1" },
    });
  }
  let answer: Answer | Response;
  try {
    answer = await handle();
  } catch (thrown) {
    const end =
      thrown instanceof HttpProblem && thrown.facts.isExecuted === true
        ? store.finish(of.tenantId, key, { status: thrown.status, answer: lateForm(thrown) })
        : store.abandon(of.tenantId, key);
    await end.catch((error: unknown) => {
      logger.error({ request_id: of.requestId, err: error }, "idempotency key not freed");
    });
    throw thrown;
  }
  await store.finish(of.tenantId, key, { status: answer.status, answer: storedForm(answer) });
  return answer;
}

function checkKey(key: string): void {
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return;
  throw new HttpProblem("invalid_request", {
    detail: "The Idempotency-Key must have 1 to 255 visible ASCII characters.",
    errors: [
      { pointer: "/Idempotency-Key", in: "header", detail: "expected visible ASCII characters" },
    ],
  });
}

function requestHash({ request, bytes, scopes }: IdempotentRequest): Uint8Array {
  const { pathname, search } = new URL(request.url);
  const held = [...new Set(scopes)].toSorted().join(" ");
  return createHash("sha256")
    .update(`${request.method}\n${pathname}${search}\n${held}\n`)
    .update(bytes)
    .digest();
}

/** A stream is not stored: only that it was created, and its Location. */
function storedForm(answer: Answer | Response): unknown {
  if (answer instanceof Response) {
    return { isStream: true, headers: pickHeaders((name) => answer.headers.get(name)) };
  }
  const body = answer.body === undefined ? undefined : JSON.stringify(answer.body);
  const isStored = body === undefined || body.length <= maxStoredCharacters;
  return {
    headers: pickHeaders((name) => answer.headers?.[name] ?? null),
    ...(isStored ? { body: answer.body } : { isOmitted: true }),
  };
}

/** The answer came too late to be sent: only that the request was executed is stored, and its Location. */
function lateForm({ facts }: HttpProblem): unknown {
  return { isLate: true, headers: pickHeaders((name) => facts.headers?.[name] ?? null) };
}

function pickHeaders(read: (name: string) => string | null): Record<string, string> {
  return Object.fromEntries(
    storedHeaders.flatMap((name) => {
      const value = read(name);
      return value === null ? [] : [[name, value]];
    }),
  );
}

function replayedAnswer(status: number, stored: unknown): Answer {
  const { headers = {}, body, isStream, isOmitted, isLate } = isRecord(stored) ? stored : {};
  if (isStream === true || isOmitted === true || isLate === true) {
    const how = isStream === true ? "a stream" : isLate === true ? "not awaited" : "too large";
    throw new HttpProblem("conflict", {
      detail: `The request was executed before, and its answer was ${how}. Read the resource instead.`,
      headers: { ...(headers as Record<string, string>), "Idempotency-Replayed": "true" },
    });
  }
  return {
    status,
    ...(body !== undefined && { body }),
    headers: { ...(headers as Record<string, string>), "Idempotency-Replayed": "true" },
  };
}
