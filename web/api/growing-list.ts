import { useEffect, useRef, useState } from "preact/hooks";
import { type Change, useRefresh } from "./changes.ts";
import type { ApiError } from "./client.ts";
import { asApiError } from "./query.ts";

interface GrowingListOptions<Item> {
  /** Loads the items after a cursor; from the beginning after null. */
  readonly load: (
    cursor: string | null,
    signal: AbortSignal,
  ) => Promise<{ readonly items: readonly Item[]; readonly next: string | null }>;
  /** Returns the cursor after an item that will not change any more; null for one that may. */
  readonly cursorOf: (item: Item) => string | null;
  /** Loads what may be new after a change that this returns true for, at most twice a second. */
  readonly refreshOn: (change: Change) => boolean;
}

/** A list that grows at its end. */
export interface GrowingList<Item> {
  /** Null until the first page. */
  readonly items: readonly Item[] | null;
  /** Whether all pages are there. */
  readonly isWhole: boolean;
  readonly error: ApiError | null;
  readonly reload: () => void;
}

interface State<Item> {
  readonly key: string;
  readonly items: readonly Item[] | null;
  readonly isWhole: boolean;
  readonly error: ApiError | null;
}

/**
 * Loads all pages of a list, oldest first, and its end again after changes: only items that may have changed are read
 * twice.
 */
export function useGrowingList<Item>(
  key: string,
  options: GrowingListOptions<Item>,
): GrowingList<Item> {
  const empty: State<Item> = { key, items: null, isWhole: false, error: null };
  const [state, setState] = useState(empty);
  const [round, setRound] = useState(0);
  const current = useRef(options);
  current.current = options;
  const latest = useRef(state);
  latest.current = state;
  useEffect(() => {
    const aborted = new AbortController();
    const { signal } = aborted;
    const read = async (known: readonly Item[]) => {
      const { load, cursorOf } = current.current;
      let items = known;
      let cursor = known.length === 0 ? null : cursorOf(known.at(-1)!);
      for (;;) {
        const page = await load(cursor, signal);
        if (signal.aborted) return;
        items = [...items, ...page.items];
        setState({ key, items, isWhole: page.next === null, error: null });
        if (page.next === null) return;
        cursor = page.next;
      }
    };
    const begin = async () => {
      const before = latest.current.key === key ? (latest.current.items ?? []) : [];
      const open = before.findIndex((item) => current.current.cursorOf(item) === null);
      const known = open === -1 ? before : before.slice(0, open);
      try {
        await read(known);
      } catch (thrown) {
        if (signal.aborted) return;
        const error = asApiError(thrown);
        // A replay has left the item behind: what follows is another list.
        if (error.type === "invalid_cursor" && known.length > 0) await read([]);
        else throw thrown;
      }
    };
    begin().catch((thrown: unknown) => {
      if (signal.aborted) return;
      setState((before) => ({
        ...(before.key === key ? before : empty),
        error: asApiError(thrown),
      }));
    });
    return () => aborted.abort();
  }, [key, round]);
  const reload = () => setRound((count) => count + 1);
  useRefresh(key, options.refreshOn, { ms: 500, refresh: reload });
  const own = state.key === key ? state : empty;
  return { ...own, reload };
}
