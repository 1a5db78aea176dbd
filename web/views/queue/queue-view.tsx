import "../../styles/queue.css";
import { useLocation } from "preact-iso";
import { useEffect } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import type { components } from "../../api/schema.d.ts";
import { formatCount, formatDuration } from "../../components/format.ts";
import { Page } from "../../components/page.tsx";
import { Show } from "../../components/states.tsx";
import { links } from "../../links.ts";
import { QueueRuns, type RunState } from "./queue-runs.tsx";
import { Workers } from "./workers.tsx";

type Queue = components["schemas"]["Queue"];
/** The states of runs that have not ended, and of dead ones. */
const states: readonly { readonly state: RunState; readonly says: string }[] = [
  { state: "running", says: "Running" },
  { state: "queued", says: "Queued" },
  { state: "awaiting_human", says: "Wait for people" },
  { state: "awaiting_tool", says: "Wait for tools" },
  { state: "awaiting_event", says: "Wait for events" },
  { state: "dead", says: "Dead" },
];

/** Milliseconds after which workers are read again: they write their rows each few seconds. */
const refreshMs = 5_000;

/** What runs, what waits for its turn, and the processes that take runs. */
export function QueueView() {
  const { query } = useLocation();
  const state = states.find((one) => one.state === query["state"])?.state ?? "running";
  const queue = useQuery("queue", (signal) => bodyOf(api.GET("/v1/queue", { signal })), {
    refreshOn: () => true,
  });
  const { reload } = queue;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && reload(), refreshMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <Page title="Queue">
      <Show loaded={queue}>
        {(depth) => (
          <div class="stack">
            <nav class="depths" aria-label="States of runs">
              {states.map((one) => (
                <a
                  key={one.state}
                  href={links.queue({ state: one.state })}
                  aria-current={one.state === state ? "page" : undefined}
                >
                  <span class={`number${one.state === "dead" && depth.dead > 0 ? " bad" : ""}`}>
                    {formatCount(countOf(depth, one.state))}
                  </span>
                  <span>{one.says}</span>
                  <span class="faint">{noteOf(depth, one.state)}</span>
                </a>
              ))}
            </nav>
            <QueueRuns state={state} />
            <Workers fleet={depth.fleet} />
          </div>
        )}
      </Show>
    </Page>
  );
}

function countOf(depth: Queue, state: RunState): number {
  if (state === "queued") return depth.queued + depth.delayed;
  return Number(depth[state as keyof Queue] ?? 0);
}

/** What there is to say of a state beyond its count. */
function noteOf({ oldest_seconds: oldest, delayed, dead }: Queue, state: RunState): string {
  if (state === "dead") return dead > 0 ? "retry or cancel them" : "";
  if (state !== "queued") return "";
  const notes = [
    oldest === null ? null : `due for ${formatDuration(oldest * 1_000)}`,
    delayed > 0 ? `${formatCount(delayed)} later` : null,
  ];
  return notes.filter((note) => note !== null).join(", ");
}
