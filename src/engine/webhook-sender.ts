import { createHmac } from "node:crypto";
import type { Clock } from "../clock.ts";
import { errorMessage, StratagraphError } from "../errors.ts";
import type { DueDelivery, Webhooks } from "../storage/platform/webhooks.ts";
import { type HostLookup, resolveHost, systemLookup } from "../tools/builtins/http/addresses.ts";
import {
  type AllowEntry,
  entryFor,
  type HttpAllow,
  publicHosts,
  readAllowList,
} from "../tools/builtins/http/allow-list.ts";
import { exchange, isRedirect } from "../tools/builtins/http/exchange.ts";

export interface WebhookSenderOptions {
  readonly webhooks: Pick<Webhooks, "claimDue" | "record" | "setActive">;
  readonly clock: Clock;
  /** Hosts in private networks that deliveries may go to. Default none. */
  readonly httpAllow?: readonly HttpAllow[] | undefined;
  /** Default: as the system resolves names. */
  readonly lookup?: HostLookup;
  /** Deliveries at the same time. Default 8. */
  readonly concurrency?: number;
  /** Milliseconds between looks at the table while nothing wakes the sender. Default 5,000. */
  readonly pollMs?: number;
  /** Milliseconds of a delivery. Default 10,000. */
  readonly timeoutMs?: number;
  /** Called with errors of the database; the sender continues. */
  readonly onError: (error: unknown) => void;
}

/** The receiver did not answer in time. */
class WebhookTimeoutError extends StratagraphError {
  readonly code = "webhook_timeout";
  override readonly kind = "run";

  constructor(readonly timeoutMs: number) {
    super(`no answer within ${timeoutMs / 1_000} s`);
  }
}

/** The sender stops. The delivery is sent again when its claim has ended. */
class SenderStoppedError extends StratagraphError {
  readonly code = "sender_stopped";
  override readonly kind = "run";

  constructor() {
    super("the server stopped before the answer");
  }
}

/** Bytes of an answer that are read, to end the exchange in good order. */
const maxAnswerBytes = 4_096;

/**
 * Sends the deliveries of webhooks that are due, signed as Standard Webhooks are. Addresses are checked as those of
 * `http_get`, and redirects are not followed. Several processes may have one on the same database. A delivery may arrive
 * twice: receivers tell by its id.
 */
export class WebhookSender {
  readonly #options: WebhookSenderOptions;
  readonly #entries: readonly AllowEntry[];
  readonly #concurrency: number;
  readonly #timeoutMs: number;
  readonly #sending = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #isStarted = false;
  #isAwake = false;
  #taking: Promise<void> | undefined;
  #cancelPoll = () => {};

  /** @throws HttpAllowError */
  constructor(options: WebhookSenderOptions) {
    this.#options = options;
    this.#entries = readAllowList(options.httpAllow ?? []);
    this.#concurrency = options.concurrency ?? 8;
    this.#timeoutMs = options.timeoutMs ?? 10_000;
  }

  start(): void {
    this.#isStarted = true;
    this.wake();
  }

  /** Looks at once for deliveries that are due. */
  readonly wake = (): void => {
    if (!this.#isStarted) return;
    this.#isAwake = true;
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined;
      // A call that came between the last look and here.
      if (this.#isAwake) this.wake();
    });
  };

  /** Takes no further deliveries, and waits for those under way, which are aborted after `graceMs`. */
  async stop({ graceMs }: { readonly graceMs: number }): Promise<void> {
    this.#isStarted = false;
    this.#isAwake = false;
    this.#cancelPoll();
    await this.#taking;
    const cancel = this.#options.clock.after(graceMs, () =>
      this.#stopping.abort(new SenderStoppedError()),
    );
    await Promise.all(this.#sending);
    cancel();
  }

  async #take(): Promise<void> {
    const { webhooks, clock, pollMs = 5_000, onError } = this.#options;
    this.#cancelPoll();
    try {
      while (this.#isAwake) {
        this.#isAwake = false;
        const limit = this.#concurrency - this.#sending.size;
        if (limit === 0) break;
        // Longer than a delivery takes, so that no other process sends it meanwhile.
        const leaseMs = this.#timeoutMs * 3;
        for (const delivery of await webhooks.claimDue({ leaseMs, limit })) this.#begin(delivery);
      }
    } catch (error) {
      onError(error);
    }
    if (!this.#isStarted) return;
    this.#cancelPoll = clock.after(pollMs, this.wake, { keepsAlive: false });
  }

  #begin(delivery: DueDelivery): void {
    const sending = this.#deliver(delivery)
      .catch(this.#options.onError)
      .finally(() => {
        this.#sending.delete(sending);
        this.wake();
      });
    this.#sending.add(sending);
  }

  async #deliver(delivery: DueDelivery): Promise<void> {
    const { webhooks } = this.#options;
    const { isDelivered, result, isGone } = await this.#send(delivery);
    if (this.#stopping.signal.aborted && !isDelivered) return;
    await webhooks.record(delivery, { isDelivered, result });
    if (isGone) await webhooks.setActive(delivery.tenantId, delivery.webhookId, false);
  }

  async #send(delivery: DueDelivery): Promise<{
    readonly isDelivered: boolean;
    readonly result: string;
    readonly isGone: boolean;
  }> {
    const { clock, lookup = systemLookup } = this.#options;
    const late = new AbortController();
    const cancel = clock.after(this.#timeoutMs, () =>
      late.abort(new WebhookTimeoutError(this.#timeoutMs)),
    );
    const signal = AbortSignal.any([late.signal, this.#stopping.signal]);
    try {
      const url = new URL(delivery.url);
      const addresses = await resolveHost(url, entryFor(url, this.#entries) ?? publicHosts, {
        lookup,
        signal,
      });
      const body = Buffer.from(
        JSON.stringify({ type: delivery.event, timestamp: clock.now(), data: delivery.body }),
      );
      const answer = await exchange(url, {
        method: "POST",
        headers: signedHeaders(delivery, { body, at: clock.now() }),
        body,
        addresses,
        signal,
        maxBytes: maxAnswerBytes,
      });
      const { status } = answer;
      const isDelivered = status >= 200 && status < 300;
      const result = isRedirect(answer) ? `${status}: redirects are not followed` : `${status}`;
      return { isDelivered, result, isGone: status === 410 };
    } catch (thrown) {
      return { isDelivered: false, result: errorMessage(thrown), isGone: false };
    } finally {
      cancel();
    }
  }
}

/** Headers of the Standard Webhooks specification: the signature is of id, time and body. */
function signedHeaders(
  { id, secret }: Pick<DueDelivery, "id" | "secret">,
  { body, at }: { readonly body: Buffer; readonly at: Date },
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key)
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest("base64");
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
}
