import type { CallEntry, ToolJournal } from "../../tools/journal.ts";

/** A tool call that the journal knew when its node ran again. */
export interface SettledCall {
  readonly callId: string;
  readonly tool: string;
  /**
   * `finished`: its result was taken. `started`: it had begun, and what came of it is not known. `damaged`: nor is that of
   * this one, since its record is not what was written.
   */
  readonly state: "finished" | "started" | "damaged";
  /** Whether it was made again where its result was not taken. */
  readonly idempotent: boolean;
}

export interface WatchedJournal extends ToolJournal {
  /** Calls `found` with every call of a thread that is known already, until the returned function is called. */
  watch(threadId: string, found: (call: SettledCall) => void): () => void;
}

/** The journal itself, which also says what it knew. */
export function watchJournal(journal: ToolJournal): WatchedJournal {
  const watchers = new Map<string, Set<(call: SettledCall) => void>>();
  return {
    async begin(entry: CallEntry) {
      const known = await journal.begin(entry);
      const { threadId, callId, tool, idempotent } = entry;
      if (known.state !== "new") {
        for (const found of watchers.get(threadId) ?? [])
          found({ callId, tool, state: known.state, idempotent });
      }
      return known;
    },
    end: (key, end) => journal.end(key, end),
    withdraw: (key) => journal.withdraw(key),
    watch(threadId, found) {
      const watching = watchers.get(threadId) ?? new Set();
      watchers.set(threadId, watching.add(found));
      return () => {
        watching.delete(found);
        if (watching.size === 0) watchers.delete(threadId);
      };
    },
  };
}
