import { z } from "zod";
import type { RunChange } from "../../storage/platform/runs/run-versions.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, eventStreamType, type Route } from "../route.ts";
import { ChangeFeeds } from "./change-feeds.ts";
import { EventStreams } from "./event-streams.ts";
import type { RunRoutesOptions } from "./routes.ts";

/** Milliseconds after which a comment is sent. */
const heartbeatMs = 15_000;

/** Creates the route of the changes of all runs of a tenant. */
export function changeRoutes(api: ApiBase, options: RunRoutesOptions = {}): readonly Route[] {
  const streams = new EventStreams(api, options.maxStreams ?? 1_000);
  const feeds = new ChangeFeeds(api);
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
        return streams.respondWith(
          call,
          (signal) => changeTexts(feeds, { tenantId, signal, clock: api.clock }),
          {},
        );
      },
    }),
  ];
}

/** Yields the texts of a stream of changes, until `signal` aborts. */
async function* changeTexts(
  feeds: ChangeFeeds,
  {
    tenantId,
    signal,
    clock,
  }: Pick<ApiBase, "clock"> & { readonly tenantId: string; readonly signal: AbortSignal },
): AsyncGenerator<string, void, undefined> {
  const changes = feeds.subscribe(tenantId);
  const wake = () => changes.wake();
  signal.addEventListener("abort", wake);
  try {
    await changes.ready;
    let sentAt = clock.monotonic();
    yield "retry: 1000\n\nevent: ready\ndata: {}\n\n";
    while (!signal.aborted) {
      await changes.wait(clock, sentAt + heartbeatMs - clock.monotonic());
      if (signal.aborted) return;
      const { runs, isCut } = changes.take();
      const text = runs.map(changeText).join("") + (isCut ? "event: reset\ndata: {}\n\n" : "");
      sentAt = clock.monotonic();
      yield text === "" ? ": heartbeat\n\n" : text;
    }
  } finally {
    changes.close();
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
