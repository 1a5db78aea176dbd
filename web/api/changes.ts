import { signal } from "@preact/signals";
import { apiUrl } from "../links.ts";
import { apiKey, ApiError } from "./client.ts";
import { readEvents } from "./events.ts";

/** A run that has changed. */
export interface Change {
  readonly run_id: string;
  readonly thread_id: string;
  readonly agent_id: string | null;
  readonly status: string;
}

/** Whether the stream of changes is open: `lost` while it is opened again. */
export const connection = signal<"opening" | "open" | "lost">("opening");

const listeners = new Set<(change: Change) => void>();
/** A change of nothing in particular, after which everything may be different. */
const anything: Change = { run_id: "*", thread_id: "*", agent_id: "*", status: "*" };
let stop: AbortController | null = null;

/** Calls a function for each change of a run of the tenant, as long as the page is in sight. Returns what ends that. */
export function onChange(listener: (change: Change) => void): () => void {
  listeners.add(listener);
  if (stop === null) void follow();
  return () => {
    listeners.delete(listener);
  };
}

/** Whether a change may be one of a thread. */
export function isOfThread(threadId: string): (change: Change) => boolean {
  return (change) => change.thread_id === threadId || change.thread_id === "*";
}

async function follow(): Promise<void> {
  const own = new AbortController();
  stop = own;
  for (let failures = 0; !own.signal.aborted; failures++) {
    try {
      await readEvents(`${apiUrl}/v1/changes`, {
        signal: own.signal,
        onEvent: ({ event, data }) => {
          connection.value = "open";
          failures = 0;
          // Nothing is replayed: what happened before `ready`, and what `reset` stands for, may be anything.
          tell(event === "change" ? (data as Change) : anything);
        },
      });
    } catch (thrown) {
      if (own.signal.aborted) return;
      // Without a key, or without the right to read runs, there is nothing to follow.
      if (thrown instanceof ApiError && [401, 403, 404].includes(thrown.status)) {
        stop = null;
        return;
      }
      connection.value = "lost";
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(10_000, 500 * 2 ** failures)));
  }
}

function tell(change: Change): void {
  for (const listener of listeners) listener(change);
}

apiKey.subscribe(() => {
  stop?.abort();
  stop = null;
  if (listeners.size > 0) void follow();
});
