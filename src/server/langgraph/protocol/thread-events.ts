import type { GraphRequest } from "../../../engine/graph/graph-request.ts";
import { threadSignal } from "../../../engine/run-signals.ts";
import type { RunSummary } from "../../../storage/platform/runs/runs.ts";
import type { ApiBase } from "../../ports.ts";
import { EventPages } from "../../runs/event-pages.ts";
import { eventText, heartbeats } from "../../runs/event-streams.ts";
import { isUnderWay } from "../../runs/run-desk.ts";
import { type EventFilter, isWanted, protocolEvent, seqOf } from "./events.ts";

/** The newest runs of a thread whose events a stream repeats. */
const maxRuns = 20;

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
  let at = { seq: 0, pages: null as EventPages | null };
  let sentAt = clock.monotonic();
  const follower = signals.follow(threadSignal(tenantId, threadId), { signal });
  try {
    yield ": open\n\n";
    while (!signal.aborted) {
      follower.reset();
      const { items } = await platform.runs.list(tenantId, { threadId, limit: maxRuns });
      for (const id of names.keys()) if (!items.some((run) => run.id === id)) names.delete(id);
      for (const run of items.toReversed()) {
        if (run.seq < at.seq || seqOf(run, Infinity) <= since) continue;
        const own = at.seq === run.seq ? at.pages : null;
        const pages = own ?? new EventPages(platform.events, { tenantId, id: run.id }, 0);
        at = { seq: run.seq, pages };
        const known = names.get(run.id);
        const name = known === undefined ? await nameOf(run) : known;
        names.set(run.id, name);
        const isOpen = isUnderWay(run.state);
        if (name !== null) {
          // Before the log is read: what is written in between is a change.
          if (isOpen) follower.followAlso(run.id);
          for (;;) {
            const text = await nextText(run, { pages, name });
            if (text === null || signal.aborted) break;
            if (text === "") continue;
            sentAt = clock.monotonic();
            yield text;
          }
        }
        if (isOpen) break;
      }
      sentAt = yield* heartbeats(follower, { clock, sentAt });
    }
  } finally {
    follower.release();
  }

  /** The text of the next page of a run; null at the end of its log. */
  async function nextText(
    run: RunSummary,
    { pages, name }: { readonly pages: EventPages; readonly name: string },
  ): Promise<string | null> {
    const events = await pages.next();
    if (events.length === 0) return null;
    return events
      .flatMap((event) => protocolEvent(run, event, name) ?? [])
      .filter((event) => isWanted(event, filter))
      .map((event) => eventText(event.event_id, { event: event.method, data: event }))
      .join("");
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
