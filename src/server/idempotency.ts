import { createHash, randomUUID } from "node:crypto";
import { backoff, sleep } from "../async.ts";
import type { Clock } from "../clock.ts";
import type { BegunRequest, KeyAttempt } from "../storage/platform/idempotency.ts";
import { isRecord } from "../values/json.ts";
import type { IdempotencyStore, ServerLogger } from "./ports.ts";
import { HttpProblem } from "./problems.ts";
import type { Answer } from "./route.ts";

/** Headers that are stored with an answer. */
const storedHeaders = ["ETag", "Location"] as const;

/** Characters of JSON that are stored of an answer. A larger one is not replayed, but not executed twice either. */
const maxStoredCharacters = 262_144;

/** Milliseconds for which an answer waits until it is stored. */
const storeWaitMs = 2_000;
/** Milliseconds until what was not stored is stored again. */
const retryDelay = { baseMs: 200, maxMs: 30_000, random: Math.random };
/** Milliseconds after which it is given up: the store takes the request for lost then. */
const giveUpMs = 3_600_000;
/** Ends of requests that wait until they can be stored, and the characters of their answers. */
const maxWaiting = 1_000;
const maxWaitingCharacters = 16_777_216;

export interface IdempotentRequest {
  readonly tenantId: string;
  /** Those of the caller: a key with others gets no stored answer. */
  readonly scopes: readonly string[];
  readonly request: Request;
  readonly bytes: Uint8Array;
  readonly requestId: string;
}

export interface IdempotentRequestsOptions {
  readonly store: IdempotencyStore;
  readonly logger: ServerLogger;
  readonly clock: Clock;
}

/** How a request ended under its key. */
interface KeyEnd extends Pick<IdempotentRequest, "tenantId" | "requestId"> {
  readonly begun: KeyAttempt;
  /** Null frees the key. */
  readonly answer: StoredAnswer | null;
}

interface StoredAnswer {
  readonly status: number;
  readonly form: StoredForm;
}

/** An end that an outage has kept from being stored. */
interface WaitingEnd extends KeyEnd {
  readonly since: number;
  readonly characters: number;
}

/**
 * Requests with an Idempotency-Key. An outage of the database keeps no answer from its client: the end of its request is
 * stored in the background then, and the key stays in use until that is done.
 */
export class IdempotentRequests {
  readonly #waiting: WaitingEnd[] = [];
  #characters = 0;
  #retrying: Promise<void> | null = null;
  readonly #closing = new AbortController();

  constructor(private readonly options: IdempotentRequestsOptions) {}

  /**
   * Runs `handle` once for all requests of a tenant with the same key. Later ones get its answer with
   * `Idempotency-Replayed: true`. An answer with a problem frees the key, unless the request was executed.
   *
   * @throws HttpProblem `invalid_request` for a key that is no key, `idempotency_mismatch`, `request_in_progress`
   */
  async runOnce(
    of: IdempotentRequest,
    handle: () => Promise<Answer | Response>,
  ): Promise<Answer | Response> {
    const key = of.request.headers.get("idempotency-key");
    if (key === null) return handle();
    checkKey(key);
    const begun = { key, attempt: randomUUID() };
    const { tenantId, requestId } = of;
    const end = (answer: StoredAnswer | null) => this.#end({ tenantId, requestId, begun, answer });
    const known = await this.#begin(of, begun);
    if (known.state === "answered") return replayedAnswer(known.status, known.answer);
    if (known.state === "other_request") {
      throw new HttpProblem("idempotency_mismatch", {
        detail: "The Idempotency-Key was sent with another request before. Use a new one.",
      });
    }
    if (known.state === "under_way") {
      throw new HttpProblem("request_in_progress", {
        detail: "The request with this Idempotency-Key is under way. Send it again later.",
        headers: { "Retry-After": "1" },
      });
    }
    let answer: Answer | Response;
    try {
      answer = await handle();
    } catch (thrown) {
      const isExecuted = thrown instanceof HttpProblem && thrown.facts.isExecuted === true;
      await end(isExecuted ? { status: thrown.status, form: lateForm(thrown) } : null);
      throw thrown;
    }
    await end({ status: answer.status, form: storedForm(answer) });
    return answer;
  }

  /** Stops storing in the background, after one more try. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#retrying;
    try {
      while (this.#waiting.length > 0) await this.#storeFirst();
    } catch (error) {
      const facts = { keys: this.#waiting.length, err: error };
      this.options.logger.error(facts, "idempotency keys stay in use");
    }
  }

  async #begin(of: IdempotentRequest, begun: KeyAttempt): Promise<BegunRequest> {
    const { tenantId, requestId } = of;
    try {
      return await this.options.store.begin(tenantId, { ...begun, requestHash: requestHash(of) });
    } catch (error) {
      // The row may have been committed before the session was lost.
      this.#storeLater({ tenantId, requestId, begun, answer: null }, maxWaiting / 2, error);
      throw error;
    }
  }

  /** Resolves when the end is stored, waits for a further try, or takes too long. */
  #end(end: KeyEnd): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.options.clock.after(storeWaitMs, resolve);
      const settle = () => {
        cancel();
        resolve();
      };
      this.#store(end).then(settle, (error: unknown) => {
        this.#storeLater(end, maxWaiting, error);
        settle();
      });
    });
  }

  async #store({ tenantId, begun, answer }: KeyEnd): Promise<void> {
    const { store } = this.options;
    if (answer === null) return store.abandon(tenantId, begun);
    return store.finish(tenantId, begun, { status: answer.status, answer: answer.form });
  }

  #storeLater(end: KeyEnd, most: number, error: unknown): void {
    const { logger, clock } = this.options;
    if (this.#closing.signal.aborted || this.#waiting.length >= most) {
      logger.error({ request_id: end.requestId, err: error }, "idempotency key stays in use");
      return;
    }
    logger.warn({ request_id: end.requestId, err: error }, "end of idempotency key not stored yet");
    this.#waiting.push({ ...this.#boundAnswer(end), since: clock.monotonic() });
    this.#retrying ??= this.#retry();
  }

  /** Leaves the body of an answer out where those that wait take much memory already. */
  #boundAnswer(end: KeyEnd): Omit<WaitingEnd, "since"> {
    const characters = JSON.stringify(end.answer?.form.body ?? null).length;
    if (end.answer === null || this.#characters + characters <= maxWaitingCharacters) {
      this.#characters += characters;
      return { ...end, characters };
    }
    const { status, form } = end.answer;
    const { body: _body, ...rest } = form;
    return { ...end, answer: { status, form: { ...rest, isOmitted: true } }, characters: 0 };
  }

  /** Stores what waits. One that fails is tried again after the others. */
  async #retry(): Promise<void> {
    const { clock, logger } = this.options;
    const { signal } = this.#closing;
    let failures = 1;
    while (this.#waiting.length > 0) {
      if (failures > 0) {
        await sleep(backoff(failures, retryDelay), { clock, signal }).catch(() => {});
      }
      if (signal.aborted) return;
      try {
        await this.#storeFirst();
        failures = 0;
      } catch (error) {
        failures += 1;
        const failed = this.#waiting.shift()!;
        if (clock.monotonic() - failed.since < giveUpMs) {
          this.#waiting.push(failed);
          continue;
        }
        this.#characters -= failed.characters;
        logger.error({ request_id: failed.requestId, err: error }, "idempotency key stays in use");
      }
    }
    this.#retrying = null;
  }

  async #storeFirst(): Promise<void> {
    const first = this.#waiting[0]!;
    await this.#store(first);
    this.#waiting.shift();
    this.#characters -= first.characters;
  }
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

/** What is stored of an answer. */
interface StoredForm {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly isStream?: true;
  readonly isOmitted?: true;
  readonly isLate?: true;
}

/** A stream is not stored: only that it was created, and its Location. */
function storedForm(answer: Answer | Response): StoredForm {
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
function lateForm({ facts }: HttpProblem): StoredForm {
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
    const how = isStream === true ? "a stream" : isLate === true ? "not awaited" : "not stored";
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
