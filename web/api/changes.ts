import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { apiUrl } from "../links.ts";
import { apiKey } from "./client.ts";
import { isRefusal, pauseBeforeRetry, readEvents } from "./events.ts";

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
  begin();
  return () => {
    listeners.delete(listener);
  };
}

/**
 * Calls a function at most once in `ms` milliseconds for changes that `isWanted` returns true for; never without it.
 *
 * @param key of what the component shows: another one forgets a call that is due
 */
export function useRefresh(
  key: string | null,
  isWanted: ((change: Change) => boolean) | undefined,
  { ms, refresh }: { readonly ms: number; readonly refresh: () => void },
): void {
  const current = useRef({ isWanted, refresh });
  current.current = { isWanted, refresh };
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stopListening = onChange((change) => {
      if (timer !== undefined || current.current.isWanted?.(change) !== true) return;
      timer = setTimeout(() => {
        timer = undefined;
        current.current.refresh();
      }, ms);
    });
    return () => {
      stopListening();
      clearTimeout(timer);
    };
  }, [key]);
}

/** Whether a change may be one of a thread. */
export function isOfThread(threadId: string): (change: Change) => boolean {
  return (change) => change.thread_id === threadId || change.thread_id === "*";
}

async function follow(own: AbortController): Promise<void> {
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
      if (isRefusal(thrown)) return end();
      connection.value = "lost";
    }
    await pauseBeforeRetry(failures, own.signal);
  }
}

function tell(change: Change): void {
  for (const listener of listeners) listener(change);
}

function begin(): void {
  if (stop !== null || listeners.size === 0 || document.visibilityState === "hidden") return;
  stop = new AbortController();
  void follow(stop);
}

function end(): void {
  stop?.abort();
  stop = null;
  connection.value = "opening";
}

apiKey.subscribe(() => {
  end();
  begin();
});

/** Milliseconds out of sight after which the page follows nothing: browsers open six connections to a server at most. */
const hiddenMs = 5_000;
let hiding: ReturnType<typeof setTimeout> | undefined;

document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.visibilityState === "hidden") hiding = setTimeout(end, hiddenMs);
  else begin();
});
