import type { GraphRequest } from "../../../engine/graph-request.ts";
import type { RunSummary } from "../../../storage/platform/runs/runs.ts";
import type { ApiBase } from "../../ports.ts";
import { eventText, heartbeatMs } from "../../runs/event-streams.ts";
import { isUnderWay } from "../../runs/run-desk.ts";
import { type EventFilter, isWanted, protocolEvent, seqOf } from "./events.ts";

/** The newest runs of a thread whose events a stream repeats. */
const maxRuns = 20;
const pageEvents = 50;

/** The signal of a thread, which collides with none of a run: those are UUIDs. Notices have no spaces. */
export function threadSignal(tenantId: string, threadId: string): string {
  return `thread:${tenantId}:${encodeURIComponent(threadId)}`;
}

/** Events of the runs of a thread that commands have started, the next ones too, until the client goes away. */
export async function* threadEvents(
  base: Pick<ApiBase, "platform" | "signals" | "clock">,
  of: { readonly tenantId: string; readonly threadId: string; readonly filter: EventFilter },
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const { platform, signals, clock } = base;
  const { tenantId, threadId, filter } = of;
  const { since = -1 } = filter;
  const names = new Map<string, string | null>();
  /** What was read: events of the run with this number, and all before it. */
  let at = { seq: 0, after: 0 };
  let sentAt = clock.monotonic();
  yield ": open\n\n";
  while (!signal.aborted) {
    const waiting = new AbortController();
    const either = AbortSignal.any([signal, waiting.signal]);
    try {
      let awaited = signals.next(threadSignal(tenantId, threadId), { signal: either });
      const { items } = await platform.runs.list(tenantId, { threadId, limit: maxRuns });
      for (const run of items.toReversed()) {
        if (run.seq < at.seq || seqOf(run, Infinity) <= since) continue;
        if (run.seq > at.seq) at = { seq: run.seq, after: 0 };
        const known = names.get(run.id);
        const name = known === undefined ? await nameOf(run) : known;
        names.set(run.id, name);
        const isOpen = isUnderWay(run.state);
        if (name !== null) {
          // Registered before the log is read: what is written in between wakes it.
          if (isOpen) awaited = signals.next(run.id, { signal: either });
          for (;;) {
            const page = { after: at.after, limit: pageEvents };
            const events = await platform.events.read(tenantId, run.id, page);
            if (events.length === 0 || signal.aborted) break;
            at = { seq: run.seq, after: events.at(-1)!.seq };
            const text = events
              .flatMap((event) => protocolEvent(run, event, name) ?? [])
              .filter((event) => isWanted(event, filter))
              .map((event) => eventText(event.event_id, event.method, event))
              .join("");
            if (text === "") continue;
            sentAt = clock.monotonic();
            yield text;
          }
        }
        if (isOpen) break;
      }
      await awaited;
    } finally {
      waiting.abort();
    }
    if (clock.monotonic() - sentAt < heartbeatMs) continue;
    sentAt = clock.monotonic();
    yield ": heartbeat\n\n";
  }

  /** The graph of a run that a command has started; null for other runs. */
  async function nameOf({ id }: RunSummary): Promise<string | null> {
    const { request, instanceId } = await platform.runs.get(tenantId, id);
    const { protocol } = request as Partial<GraphRequest>;
    if (protocol !== true) return null;
    const { agent } = await platform.instances.get(tenantId, instanceId);
    return agent ?? "root";
  }
}
