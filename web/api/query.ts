import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./client.ts";
import { type Change, useRefresh } from "./changes.ts";

/** The state of something that is loaded. */
export interface Loaded<Data> {
  /** Null until the first answer. Stays while it is loaded again, and if that fails. */
  readonly data: Data | null;
  readonly error: ApiError | null;
  readonly isLoading: boolean;
  /** Loads it again. */
  readonly reload: () => void;
}

interface QueryOptions {
  /** Loads again after a change of the server that this returns true for, at most twice a second. Default: never. */
  readonly refreshOn?: (change: Change) => boolean;
}

/** Answers by key, so that a view that is opened again shows what it showed. */
const known = new Map<string, unknown>();
const maxKnown = 60;

/**
 * Loads data for a component, again for each other key. Null as the key loads nothing. An answer that is no longer
 * wanted is ignored, and its request aborted.
 */
export function useQuery<Data>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<Data>,
  { refreshOn }: QueryOptions = {},
): Loaded<Data> {
  const [, render] = useState(0);
  const [round, setRound] = useState(0);
  const state = useRef<{ key: string | null; error: ApiError | null; isLoading: boolean }>({
    key: null,
    error: null,
    isLoading: false,
  });
  const current = useRef(load);
  current.current = load;
  useEffect(() => {
    if (key === null) return undefined;
    const aborted = new AbortController();
    const set = (error: ApiError | null, isLoading: boolean) => {
      if (aborted.signal.aborted) return;
      state.current = { key, error, isLoading };
      render((count) => count + 1);
    };
    set(state.current.key === key ? state.current.error : null, true);
    current.current(aborted.signal).then(
      (data) => {
        if (!aborted.signal.aborted) remember(key, data);
        set(null, false);
      },
      (thrown: unknown) => set(asApiError(thrown), false),
    );
    return () => aborted.abort();
  }, [key, round]);
  const reload = () => setRound((count) => count + 1);
  useRefresh(key, refreshOn, { ms: 500, refresh: reload });
  const isCurrent = state.current.key === key;
  return {
    data: key === null ? null : ((known.get(key) as Data | undefined) ?? null),
    error: isCurrent ? state.current.error : null,
    isLoading: key !== null && (isCurrent ? state.current.isLoading : true),
    reload,
  };
}

function remember(key: string, data: unknown): void {
  known.delete(key);
  known.set(key, data);
  const [oldest] = known.keys();
  if (known.size > maxKnown && oldest !== undefined) known.delete(oldest);
}

/** Returns what was thrown as an error that views show. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  return new ApiError(thrown instanceof Error ? thrown.message : String(thrown), 0, "error");
}
