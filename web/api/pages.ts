import { useEffect, useRef, useState } from "preact/hooks";
import { type Change, useRefresh } from "./changes.ts";
import type { ApiError } from "./client.ts";
import { asApiError } from "./query.ts";

interface PageOf<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
}

/** A list that is loaded page by page. */
export interface Pages<Item> {
  /** Null until the first page. */
  readonly items: readonly Item[] | null;
  readonly error: ApiError | null;
  /** Whether there are more pages. */
  readonly hasMore: boolean;
  /** Loads the next page, unless one is being loaded. */
  readonly more: () => void;
  readonly reload: () => void;
}

interface PagesOptions<Item> {
  readonly keyOf: (item: Item) => string;
  /** Loads the first page again after a change that this returns true for, at most once a second; its items go before the others. */
  readonly refreshOn?: (change: Change) => boolean;
}

interface State<Item> {
  readonly key: string;
  readonly items: readonly Item[] | null;
  readonly next: string | null;
  readonly error: ApiError | null;
}

/** Loads a list page by page, newest first, and keeps its newest page up to date. */
export function usePages<Item>(
  key: string,
  load: (cursor: string | null, signal: AbortSignal) => Promise<PageOf<Item>>,
  { keyOf, refreshOn }: PagesOptions<Item>,
): Pages<Item> {
  const empty: State<Item> = { key, items: null, next: null, error: null };
  const [state, setState] = useState(empty);
  const [round, setRound] = useState(0);
  const current = useRef({ load, keyOf });
  current.current = { load, keyOf };
  const loadingMore = useRef(false);
  useEffect(() => {
    const aborted = new AbortController();
    loadingMore.current = false;
    current.current.load(null, aborted.signal).then(
      (page) => {
        if (aborted.signal.aborted) return;
        setState((before) => {
          if (before.key !== key || before.items === null)
            return { key, items: page.items, next: page.next, error: null };
          const fresh = new Set(page.items.map(current.current.keyOf));
          const rest = before.items.filter((item) => !fresh.has(current.current.keyOf(item)));
          // With fewer items than a page, the page is the whole list.
          const items = page.next === null ? page.items : [...page.items, ...rest];
          const next = rest.length === 0 || page.next === null ? page.next : before.next;
          return { key, items, next, error: null };
        });
      },
      (thrown: unknown) => {
        if (aborted.signal.aborted) return;
        setState((before) => ({
          ...(before.key === key ? before : empty),
          error: asApiError(thrown),
        }));
      },
    );
    return () => aborted.abort();
  }, [key, round]);
  const reload = () => setRound((count) => count + 1);
  useRefresh(key, refreshOn, { ms: 1_000, refresh: reload });
  const own = state.key === key ? state : empty;
  const more = async (cursor: string) => {
    loadingMore.current = true;
    try {
      const page = await current.current.load(cursor, new AbortController().signal);
      setState((before) => {
        if (before.key !== key || before.next !== cursor) return before;
        const known = new Set(before.items?.map(current.current.keyOf));
        const added = page.items.filter((item) => !known.has(current.current.keyOf(item)));
        return {
          ...before,
          items: [...(before.items ?? []), ...added],
          next: page.next,
          error: null,
        };
      });
    } catch (thrown) {
      setState((before) =>
        before.key === key ? { ...before, error: asApiError(thrown) } : before,
      );
    } finally {
      loadingMore.current = false;
    }
  };
  return {
    items: own.items,
    error: own.error,
    hasMore: own.next !== null,
    more: () => {
      if (own.next !== null && !loadingMore.current) void more(own.next);
    },
    reload,
  };
}
