import type { RunTail } from "../../engine/run-tail.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import type { StoredRunEvent } from "../../storage/platform/runs/events.ts";
import type { RunState } from "../../storage/platform/runs/run-rows.ts";
import { developmentKeyId, secretOf } from "../authenticate.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { type Call, eventStreamType } from "../route.ts";
import { isUnderWay } from "./run-desk.ts";

/** Milliseconds after which a comment is sent and the key is checked again. */
export const heartbeatMs = 15_000;
/** Events of one read of the log, of 1 MiB at most each. */
const pageEvents = 50;

export interface StreamOptions {
  readonly runId: string;
  /** Number of the event after which the stream begins. */
  readonly after: number;
  /** `turn`: it ends after the next `done`. `run`: when the run is over or waits. `now`: it does not wait for events. */
  readonly until: "turn" | "run" | "now";
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether an event is left out. Default: none is. */
  readonly isHidden?: (event: StoredRunEvent) => boolean;
  /** Called when the client goes away before the end. */
  readonly onDisconnect?: () => Promise<unknown>;
  /** Whether clients learn when to connect again. Default true. */
  readonly hasRetry?: boolean;
}

/** What a stream takes from the call of its route. */
export type StreamCall = Pick<Call<unknown, unknown, unknown>, "principal" | "request" | "closing">;

/**
 * Streams of the events of runs, read from their logs: any number of them, in any process, and only as fast as their
 * clients read.
 */
export class EventStreams {
  readonly #open = new Map<string, number>();

  /** @param maxStreams streams of one tenant at the same time */
  constructor(
    private readonly base: Pick<ApiBase, "platform" | "signals" | "clock" | "logger">,
    private readonly maxStreams: number,
  ) {}

  /** @throws HttpProblem `rate_limited` if the tenant has too many streams */
  check({ tenantId }: Principal): void {
    if ((this.#open.get(tenantId) ?? 0) < this.maxStreams) return;
    throw new HttpProblem("rate_limited", {
      detail: `A tenant may have ${this.maxStreams} streams of events at the same time. Close some.`,
      extensions: { limit: "streams" },
      headers: { "Retry-After": "5" },
    });
  }

  /** Call {@link check} before. */
  respond(call: StreamCall, options: StreamOptions): Response {
    const { tenantId } = call.principal;
    return this.respondWith(
      call,
      (signal) => this.#texts(tenantId, { ...options, signal }),
      options,
    );
  }

  /** Answers with texts of a stream. Call {@link check} before. */
  respondWith(
    call: StreamCall,
    textsOf: (signal: AbortSignal) => AsyncGenerator<string, void, undefined>,
    options: Pick<StreamOptions, "headers" | "onDisconnect">,
  ): Response {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, call.closing]);
    const texts = this.#guarded(call, textsOf(signal));
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            const next = await texts.next();
            if (stop.signal.aborted) return;
            if (next.done === true) controller.close();
            else controller.enqueue(encoder.encode(next.value));
          } catch (err) {
            // The client reads on with Last-Event-ID.
            this.base.logger.error(
              { err, path: new URL(call.request.url).pathname },
              "stream of events broke off",
            );
            controller.close();
          }
        },
        cancel: async () => {
          stop.abort();
          await Promise.all([texts.return(undefined), options.onDisconnect?.()]);
        },
      },
      // Nothing is read from the log until the client takes it.
      { highWaterMark: 0 },
    );
    const headers = { "X-Accel-Buffering": "no", ...options.headers };
    return new Response(body, { headers: { "Content-Type": eventStreamType, ...headers } });
  }

  /**
   * Checks the key every 15 s, whatever the stream is. Counts from the first read on, so that an answer which is never
   * read counts for nothing.
   */
  async *#guarded(
    call: StreamCall,
    texts: AsyncGenerator<string, void, undefined>,
  ): AsyncGenerator<string, void, undefined> {
    const { clock } = this.base;
    const { tenantId } = call.principal;
    const isAllowed = this.#keyCheck(call);
    let checkedAt = clock.monotonic();
    this.#count(tenantId, 1);
    try {
      for await (const text of texts) {
        if (clock.monotonic() - checkedAt >= heartbeatMs) {
          checkedAt = clock.monotonic();
          if (!(await isAllowed())) return;
        }
        yield text;
      }
    } finally {
      this.#count(tenantId, -1);
    }
  }

  async *#texts(
    tenantId: string,
    of: StreamOptions & { readonly signal: AbortSignal },
  ): AsyncGenerator<string, void, undefined> {
    const { clock, signals } = this.base;
    const { runId, until, signal } = of;
    let { after } = of;
    let tail: RunTail | undefined;
    let sentAt = clock.monotonic();
    if (of.hasRetry !== false) yield "retry: 1000\n\n";
    while (!signal.aborted) {
      const waiting = new AbortController();
      const ms = Math.max(1, heartbeatMs - (clock.monotonic() - sentAt));
      const either = AbortSignal.any([signal, waiting.signal]);
      // Registered before the log is read: what is written in between wakes it.
      const signalled = signals.next(runId, { ms, signal: either });
      try {
        tail = signals.tailOf(tenantId, runId) ?? tail;
        const { state, events } = await this.#page({ tenantId, runId, after, tail });
        const last = until === "turn" ? events.findIndex(({ event }) => event === "done") : -1;
        const shown = last === -1 ? events : events.slice(0, last + 1);
        after = shown.at(-1)?.seq ?? after;
        if (shown.length > 0) {
          sentAt = clock.monotonic();
          yield shown
            .filter((event) => of.isHidden?.(event) !== true)
            .map((event) => eventText(event.seq, event))
            .join("");
        }
        if (last !== -1) return;
        if (shown.length > 0) continue;
        if (until === "now" || !isUnderWay(state)) return;
        await signalled;
      } finally {
        waiting.abort();
      }
      if (clock.monotonic() - sentAt < heartbeatMs) continue;
      sentAt = clock.monotonic();
      yield ": heartbeat\n\n";
    }
  }

  /** The next events of a run, from memory if it executes here and the reader is not far behind. */
  async #page(of: {
    readonly tenantId: string;
    readonly runId: string;
    readonly after: number;
    readonly tail: RunTail | undefined;
  }): Promise<{ readonly state: RunState; readonly events: readonly StoredRunEvent[] }> {
    const { runs, events } = this.base.platform;
    const { tenantId, runId, after, tail } = of;
    const known = tail?.state ?? null;
    const kept = known === null ? null : tail!.after(after, pageEvents);
    if (known !== null && kept !== null) return { state: known, events: kept };
    const { state, lastEvent } = await runs.progress(tenantId, runId);
    const page = { after, limit: pageEvents };
    return { state, events: lastEvent > after ? await events.read(tenantId, runId, page) : [] };
  }

  #count(tenantId: string, by: 1 | -1): void {
    const open = (this.#open.get(tenantId) ?? 0) + by;
    if (open === 0) this.#open.delete(tenantId);
    else this.#open.set(tenantId, open);
  }

  /** Whether the key of a call is still good: not revoked or expired, and its tenant not suspended. */
  #keyCheck({ principal, request }: StreamCall): () => Promise<boolean> {
    if (principal.keyId === developmentKeyId) return () => Promise.resolve(true);
    const secret = secretOf(request.headers) ?? "";
    return async () => {
      const { principal: still } = await this.base.platform.apiKeys.verify(secret);
      return still !== null;
    };
  }
}

/** The text of an event. JSON is one line, whatever its texts contain: no value ends its field. */
export function eventText(
  id: string | number,
  { event, data, json }: { readonly event: string; readonly data: unknown; readonly json?: string },
): string {
  return `id: ${id}\nevent: ${event}\ndata: ${json ?? JSON.stringify(data)}\n\n`;
}
