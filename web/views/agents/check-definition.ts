import { useEffect, useRef, useState } from "preact/hooks";
import { api, type ApiError, bodyOf } from "../../api/client.ts";
import { asApiError } from "../../api/query.ts";
import type { components } from "../../api/schema.d.ts";

export type DefinitionCheck = components["schemas"]["AgentCheck"];

/** Milliseconds without typing after which a text is checked. */
const quietMs = 400;

interface Checked {
  readonly text: string;
  readonly check: DefinitionCheck;
}

/** Checks the text of a definition as it is typed. The server checks as it does when saving, and stores nothing. */
export function useDefinitionCheck(text: string | null) {
  const [checked, setChecked] = useState<Checked | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [round, setRound] = useState(0);
  const isFirst = useRef(true);
  useEffect(() => {
    if (text === null) return undefined;
    const aborted = new AbortController();
    const run = async () => {
      try {
        const { signal } = aborted;
        const check = await bodyOf(
          api.POST("/v1/agents/check", { body: { source: text }, signal }),
        );
        setChecked({ text, check });
        setError(null);
      } catch (thrown) {
        if (!aborted.signal.aborted) setError(asApiError(thrown));
      }
    };
    const timer = setTimeout(() => void run(), isFirst.current ? 0 : quietMs);
    isFirst.current = false;
    return () => {
      clearTimeout(timer);
      aborted.abort();
    };
  }, [text, round]);
  return {
    /** The newest check, which may be of an earlier text; null before the first. */
    check: checked?.check ?? null,
    isCurrent: checked !== null && checked.text === text,
    error,
    retry: () => setRound((count) => count + 1),
  };
}
