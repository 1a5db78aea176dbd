import { z } from "zod";
import { sleep } from "../../async.ts";
import type { RunSignals } from "../../engine/run-signals.ts";
import {
  isOpenRun,
  readRunChanges,
  type RunChange,
} from "../../storage/platform/runs/run-versions.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, eventStreamType, type Route } from "../route.ts";
import { EventStreams } from "./event-streams.ts";
import type { RunRoutesOptions } from "./routes.ts";

/** Milliseconds between two reads of one stream: a run has at most four changes a second. */
const coalesceMs = 250;
/** Milliseconds between two looks at all open runs, in case no notice came. */
const lookMs = 2_000;
/** Milliseconds after which a comment is sent. */
const heartbeatMs = 15_000;
/** Runs that wait to be read for one stream. With more, clients read their lists again. */
const maxDirty = 5_000;

const runId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Creates the route of the changes of all runs of a tenant. */
export function changeRoutes(api: ApiBase, options: RunRoutesOptions = {}): readonly Route[] {
  const streams = new EventStreams(api, options.maxStreams ?? 1_000);
  return [
    defineRoute({
      method: "get",
      path: "/v1/changes",
      operationId: "followChanges",
      summary: "Streams which runs of the tenant have changed.",
      description:
        "A hint for live lists: nothing is replayed. `ready` comes first, then a `change` with `run_id`, `thread_id`, `agent_id`, `status` and `last_event` when a run is queued, gets events, waits, goes on or ends: at most four a second for a run. Read the lists after `ready`, and again after `reset`, which stands for changes that were not told. A comment is sent after 15 s without events.",
      tag: "runs",
      scopes: ["runs:read"],
      answers: {
        200: { description: "The changes.", schema: z.string(), mediaType: eventStreamType },
      },
      async handle(call) {
        const { principal } = call;
        streams.check(principal);
        const { tenantId } = principal;
        return streams.respondWith(call, (signal) => changeTexts(api, { tenantId, signal }), {});
      },
    }),
  ];
}

/** Yields the texts of a stream of changes, until `signal` aborts. */
async function* changeTexts(
  { platform, signals, clock }: Pick<ApiBase, "platform" | "signals" | "clock">,
  { tenantId, signal }: { readonly tenantId: string; readonly signal: AbortSignal },
): AsyncGenerator<string, void, undefined> {
  const changed = new ChangedRuns(signals);
  /** Versions of runs that may change. */
  const open = new Map<string, string>();
  const wake = () => changed.wake();
  signal.addEventListener("abort", wake);
  /** Returns the changes since the last read. */
  const read = async (isLook: boolean): Promise<readonly RunChange[]> => {
    const ids = new Set([...changed.take(), ...(isLook ? open.keys() : [])]);
    const of = { ids: [...ids], withOpen: isLook };
    const runs = await readRunChanges(platform.tables, tenantId, of);
    const found = new Set(runs.map(({ id }) => id));
    for (const id of ids) if (!found.has(id)) open.delete(id);
    return runs.filter((run) => {
      const version = `${run.state} ${run.lastEvent}`;
      const isNew = open.get(run.id) !== version;
      if (isOpenRun(run)) open.set(run.id, version);
      else open.delete(run.id);
      return isNew;
    });
  };
  try {
    await read(true);
    yield "retry: 1000\n\nevent: ready\ndata: {}\n\n";
    let readAt = clock.monotonic();
    let lookedAt = readAt;
    let sentAt = readAt;
    while (!signal.aborted) {
      await changed.wait(clock, lookedAt + lookMs - clock.monotonic());
      await pause(clock, readAt + coalesceMs - clock.monotonic(), signal);
      if (signal.aborted) return;
      readAt = clock.monotonic();
      const isLook = readAt - lookedAt >= lookMs;
      if (isLook) lookedAt = readAt;
      const isCut = changed.isCut;
      const texts = (await read(isLook)).map(changeText);
      if (isCut) texts.push("event: reset\ndata: {}\n\n");
      if (texts.length > 0) {
        sentAt = clock.monotonic();
        yield texts.join("");
      } else if (clock.monotonic() - sentAt >= heartbeatMs) {
        sentAt = clock.monotonic();
        yield ": heartbeat\n\n";
      }
    }
  } finally {
    changed.release();
    signal.removeEventListener("abort", wake);
  }
}

function changeText({ id, threadId, agentId, state, lastEvent }: RunChange): string {
  const data = {
    run_id: id,
    thread_id: threadId,
    agent_id: agentId,
    status: state,
    last_event: lastEvent,
  };
  return `event: change\ndata: ${JSON.stringify(data)}\n\n`;
}

/** The runs of all tenants that have changed since they were taken. */
class ChangedRuns {
  readonly #ids = new Set<string>();
  #isCut = false;
  #wake: (() => void) | null = null;
  readonly release: () => void;

  constructor(signals: Pick<RunSignals, "listen">) {
    this.release = signals.listen((key) => {
      if (!runId.test(key)) return;
      if (this.#ids.size < maxDirty) this.#ids.add(key);
      else this.#isCut = true;
      this.wake();
    });
  }

  /** Whether there were more than are held. */
  get isCut(): boolean {
    return this.#isCut;
  }

  wake(): void {
    this.#wake?.();
    this.#wake = null;
  }

  take(): readonly string[] {
    const ids = [...this.#ids];
    this.#ids.clear();
    this.#isCut = false;
    return ids;
  }

  /** Resolves at the next change, at once if there was one, and after `ms` at the latest. */
  async wait(clock: ApiBase["clock"], ms: number): Promise<void> {
    if (this.#ids.size > 0 || ms <= 0) return;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(ms, () => this.wake());
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}

/** Waits, and no longer once `signal` aborts. */
async function pause(clock: ApiBase["clock"], ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, { clock, signal }).catch(() => undefined);
}
