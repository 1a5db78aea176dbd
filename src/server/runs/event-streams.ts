import { linkSignals } from "../../async.ts";
import type { Clock } from "../../clock.ts";
import type { Follower, RunSignals } from "../../engine/run-signals.ts";
import type { RunTail } from "../../engine/run-tail.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import type { StoredRunEvent } from "../../storage/platform/runs/events.ts";
import type { RunState } from "../../storage/platform/runs/run-rows.ts";
import { developmentKeyId, secretOf } from "../authenticate.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { type Call, eventStreamType } from "../route.ts";
import { EventPages } from "./event-pages.ts";
import { isUnderWay } from "./run-desk.ts";

/** Milliseconds after which a comment is sent and the key is checked again. */
const heartbeatMs = 15_000;

const encoder = new TextEncoder();

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

interface ReadPage {
  readonly text: string;
  /** Whether it has the last event of the stream. */
  readonly isLast: boolean;
  /** Whether the log had more events. */
  readonly isMore: boolean;
  /** Whether the run was queued or running. */
  readonly isOpen: boolean;
}

/** What a stream takes from the call of its route. */
export type StreamCall = Pick<Call<unknown, unknown, unknown>, "principal" | "request" | "closing">;

/** Streams of each tenant, of each server. */
const openStreams = new WeakMap<RunSignals, Map<string, number>>();

/**
 * Streams of the events of runs, read from their logs: any number of them, in any process, and only as fast as their
 * clients read.
 */
export class EventStreams {
  readonly #open: Map<string, number>;

  /** @param maxStreams streams of one tenant at the same time, with those of other routes of the server */
  constructor(
    private readonly base: Pick<ApiBase, "platform" | "signals" | "clock" | "logger">,
    private readonly maxStreams: number,
  ) {
    this.#open = openStreams.get(base.signals) ?? new Map<string, number>();
    openStreams.set(base.signals, this.#open);
  }

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
    const stop = linkSignals(call.closing);
    let isGone = false;
    // The request is not kept: a stream may last for hours.
    const { pathname: path } = new URL(call.request.url);
    const texts = this.#guarded(
      { principal: call.principal, isAllowed: this.#keyCheck(call) },
      textsOf(stop.signal),
    );
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            const next = await texts.next();
            if (isGone) return;
            if (next.done !== true) return controller.enqueue(encoder.encode(next.value));
            stop.release();
            controller.close();
          } catch (err) {
            stop.abort();
            // The client reads on with Last-Event-ID.
            this.base.logger.error({ err, path }, "stream of events broke off");
            controller.close();
          }
        },
        cancel: async () => {
          isGone = true;
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
    {
      principal: { tenantId },
      isAllowed,
    }: { readonly principal: Principal; readonly isAllowed: () => Promise<boolean> },
    texts: AsyncGenerator<string, void, undefined>,
  ): AsyncGenerator<string, void, undefined> {
    const { clock } = this.base;
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
    const pages = new EventPages(this.base.platform.events, { tenantId, id: runId }, of.after);
    const follower = signals.follow(runId, { signal });
    let tail: RunTail | undefined;
    let sentAt = clock.monotonic();
    try {
      if (of.hasRetry !== false) yield "retry: 1000\n\n";
      while (!signal.aborted) {
        // Before the log is read: what is written in between is a change.
        follower.reset();
        tail = signals.tailOf(tenantId, runId) ?? tail;
        const read = { ...of, pages, tail };
        const { text, isLast, isMore, isOpen } = await this.#read(tenantId, read);
        if (text !== "") {
          sentAt = clock.monotonic();
          yield text;
        }
        if (isLast) return;
        if (isMore) continue;
        if (until === "now" || !isOpen) return;
        sentAt = yield* heartbeats(follower, { clock, sentAt });
      }
    } finally {
      follower.release();
    }
  }

  /** Reads a page. It returns nothing but its text, which is all that is kept while the client reads. */
  async #read(
    tenantId: string,
    of: Pick<StreamOptions, "runId" | "until" | "isHidden"> & {
      readonly pages: EventPages;
      readonly tail: RunTail | undefined;
    },
  ): Promise<ReadPage> {
    const { until, isHidden } = of;
    const { state, events, isMore } = await this.#page(tenantId, of);
    const last = until === "turn" ? events.findIndex(({ event }) => event === "done") : -1;
    const shown = last === -1 ? events : events.slice(0, last + 1);
    return {
      text: shown
        .filter((event) => isHidden?.(event) !== true)
        .map((event) => eventText(event.seq, event))
        .join(""),
      isLast: last !== -1,
      isMore: events.length > 0 && isMore,
      isOpen: isUnderWay(state),
    };
  }

  /** The next events of a run, from memory if it executes here and the reader is not far behind. */
  async #page(
    tenantId: string,
    of: Pick<StreamOptions, "runId"> & {
      readonly pages: EventPages;
      readonly tail: RunTail | undefined;
    },
  ): Promise<{
    readonly state: RunState;
    readonly events: readonly StoredRunEvent[];
    readonly isMore: boolean;
  }> {
    const { runId, pages, tail } = of;
    const known = tail?.state ?? null;
    const kept = known === null ? null : pages.nextOf(tail!);
    if (known !== null && kept !== null)
      return { state: known, events: kept, isMore: tail!.lastEvent > pages.after };
    const { state, lastEvent } = await this.base.platform.runs.progress(tenantId, runId);
    const events = lastEvent > pages.after ? await pages.next() : [];
    return { state, events, isMore: lastEvent > pages.after };
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

/** Sends a comment each 15 s in which nothing was sent, until there is a change. Returns when something was sent last. */
export async function* heartbeats(
  follower: Follower,
  of: { readonly clock: Clock; readonly sentAt: number },
): AsyncGenerator<string, number, undefined> {
  const { clock } = of;
  let { sentAt } = of;
  for (let isChanged = false; !isChanged;) {
    isChanged = await follower.changed(Math.max(1, heartbeatMs - (clock.monotonic() - sentAt)));
    if (clock.monotonic() - sentAt < heartbeatMs) continue;
    sentAt = clock.monotonic();
    yield ": heartbeat\n\n";
  }
  return sentAt;
}

/** The text of an event. JSON is one line, whatever its texts contain: no value ends its field. */
export function eventText(
  id: string | number,
  { event, data, json }: { readonly event: string; readonly data: unknown; readonly json?: string },
): string {
  return `id: ${id}\nevent: ${event}\ndata: ${json ?? JSON.stringify(data)}\n\n`;
}
