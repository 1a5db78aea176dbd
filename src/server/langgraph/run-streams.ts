import { linkSignals } from "../../async.ts";
import { truncatedKey } from "../../engine/graph/graph-events.ts";
import type { GraphRequest } from "../../engine/graph/graph-request.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import type { StoredRunEvent } from "../../storage/platform/runs/events.ts";
import type { Run } from "../../storage/platform/runs/runs.ts";
import { isRecord } from "../../values/json.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { EventStreams, type StreamCall } from "../runs/event-streams.ts";
import type { GraphRuns } from "./graph-runs.ts";
import type { runStatuses } from "./run-schemas.ts";
import { ThreadPresenter } from "./thread-view.ts";

/** Milliseconds between two newlines that keep a connection open. */
const keepAliveMs = 1_000;
/** Events of one read of a log, of 1 MiB at most each, and of all reads for the last values. */
const pageEvents = 20;
const maxEvents = 200;

export interface RunPlace {
  /** Absent for a run without a thread of the caller. */
  readonly threadId?: string;
  readonly run: Run;
}

export function placeOf({ threadId, run }: RunPlace): string {
  const own = `/runs/${run.id}`;
  return threadId === undefined ? own : `/threads/${encodeURIComponent(threadId)}${own}`;
}

/** Answers with the events of runs, or with the values at their end. */
export class RunAnswers {
  readonly #streams: EventStreams;

  constructor(
    private readonly base: ApiBase,
    private readonly runs: GraphRuns,
  ) {
    this.#streams = new EventStreams(base, 1_000);
  }

  /** @throws HttpProblem `rate_limited` if the tenant has too many streams */
  check(principal: Principal): void {
    this.#streams.check(principal);
  }

  /** The events of a run from a number on. Call `check` before. */
  stream(
    call: StreamCall,
    place: RunPlace,
    of: {
      readonly after?: number;
      readonly cancels?: boolean;
      readonly modes?: ReadonlySet<string>;
    } = {},
  ): Response {
    const { after = 0, cancels = false, modes } = of;
    const path = placeOf(place);
    return this.#streams.respond(call, {
      runId: place.run.id,
      after,
      until: "run",
      hasRetry: false,
      headers: { "Content-Location": path, Location: `${path}/stream` },
      isHidden: ({ event }) =>
        event === "done" || (modes !== undefined && !isOfModes(event, modes)),
      ...(cancels && {
        onDisconnect: () => this.#cancel(call.principal, place.run),
      }),
    });
  }

  /** The values at the end of a run. Until then newlines keep the connection open. */
  wait(call: StreamCall, place: RunPlace, { cancels = false } = {}): Response {
    const { clock, logger } = this.base;
    const stop = linkSignals(call.closing);
    let isGone = false;
    let cancelTimer = () => {};
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const beat = () => {
          cancelTimer = clock.after(keepAliveMs, () => {
            // A client that does not read gets none.
            if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode("\n"));
            beat();
          });
        };
        beat();
        this.#values(call.principal, place.run, stop.signal)
          .catch((err: unknown) => {
            logger.error({ err, run: place.run.id }, "waiting for a run broke off");
            return errorOf("InternalError", "An unexpected error occurred.");
          })
          .then((values) => {
            cancelTimer();
            stop.release();
            if (isGone) return;
            controller.enqueue(encoder.encode(JSON.stringify(values)));
            controller.close();
          })
          .catch(() => {});
      },
      cancel: async () => {
        isGone = true;
        stop.abort();
        cancelTimer();
        if (cancels) await this.#cancel(call.principal, place.run);
      },
    });
    const headers = { "Content-Type": "application/json", "Content-Location": placeOf(place) };
    return new Response(body, { headers });
  }

  async #cancel(principal: Principal, run: Run): Promise<void> {
    const newest = await this.runs.find(principal, run.id);
    await this.runs.cancel(principal, newest, "interrupt");
  }

  async #values(principal: Principal, run: Run, signal: AbortSignal): Promise<unknown> {
    const { isOver, tail } = await this.runs.awaitEnd(run, signal);
    if (!isOver)
      return errorOf("Unavailable", `The server is shutting down. The run ${run.id} goes on.`);
    const last = tail?.findLast(hasValues) ?? (await this.#lastEvent(run));
    if (last?.event === "error")
      return { __error__: isRecord(last.data) ? last.data : { error: "Error", message: "" } };
    if (last !== null && last.data[truncatedKey] !== true) return last.data;
    const head = await this.base.runtimes.use(principal.tenantId, ({ runtime }) =>
      new ThreadPresenter(runtime, principal).head(run.threadId),
    );
    return head?.values ?? last?.data ?? {};
  }

  /** The last values or error in the log of a run; null without one. */
  async #lastEvent({ tenantId, id }: Run): Promise<StoredRunEvent | null> {
    const { runs, events } = this.base.platform;
    const { lastEvent } = await runs.progress(tenantId, id);
    for (let end = lastEvent; end > 0 && lastEvent - end < maxEvents; end -= pageEvents) {
      const after = Math.max(0, end - pageEvents);
      const page = await events.read(tenantId, id, { after, limit: end - after });
      const found = page.findLast(hasValues);
      if (found !== undefined) return found;
    }
    return null;
  }
}

function hasValues({ event }: StoredRunEvent): boolean {
  return event === "values" || event === "error";
}

function errorOf(error: string, message: string) {
  return { __error__: { error, message } };
}

/** Modes of a stream: `messages-tuple` is the event `messages`, and `messages` has events of its own. */
function isOfModes(event: string, modes: ReadonlySet<string>): boolean {
  const [mode = ""] = event.split("|");
  if (mode === "metadata" || mode === "error") return true;
  if (mode.startsWith("messages/")) return modes.has("messages");
  return modes.has(mode === "messages" ? "messages-tuple" : mode);
}

/** @throws HttpProblem `invalid_request` */
export function lastEventId(request: Request): number {
  const header = request.headers.get("last-event-id");
  if (header === null || header === "" || header === "-1") return 0;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  throw new HttpProblem("invalid_request", {
    detail: "Last-Event-ID must be the number of an event.",
    errors: [{ pointer: "/Last-Event-ID", in: "header", detail: "expected a whole number" }],
  });
}

const statuses: Readonly<Record<Run["state"], (typeof runStatuses)[number]>> = {
  queued: "pending",
  running: "running",
  complete: "success",
  // LangGraph's server ends a run that waits for answers; its thread is interrupted.
  awaiting_human: "success",
  awaiting_tool: "success",
  awaiting_event: "success",
  failed: "error",
  dead: "error",
  cancelled: "interrupted",
};

/** States of runs that have a status of the protocol. */
export function statesOf(status: (typeof runStatuses)[number]): readonly Run["state"][] {
  return (Object.keys(statuses) as Run["state"][]).filter((state) => statuses[state] === status);
}

/** A run as the protocol shows it. Its input may have values that rails redacted, and is left out. */
export function graphRunOf(
  run: Pick<
    Run,
    "id" | "threadId" | "state" | "metadata" | "createdAt" | "startedAt" | "endedAt"
  > & { readonly request?: Run["request"] },
  agentId: string | null,
) {
  const { request } = run;
  const { stream_mode, subgraphs, interrupt_before, interrupt_after, multitask_strategy, config } =
    (request ?? {}) as Partial<GraphRequest>;
  const kwargs = { stream_mode, subgraphs, interrupt_before, interrupt_after, config };
  return {
    run_id: run.id,
    thread_id: run.threadId,
    assistant_id: agentId,
    created_at: run.createdAt,
    updated_at: run.endedAt ?? run.startedAt ?? run.createdAt,
    status: statuses[run.state],
    metadata: run.metadata,
    ...(request !== undefined && { kwargs }),
    ...(multitask_strategy !== undefined && { multitask_strategy }),
  };
}
