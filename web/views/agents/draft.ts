import { useEffect, useState } from "preact/hooks";
import { say } from "../../components/toast.tsx";

/** A text that is not saved yet. */
export interface Draft {
  readonly text: string;
  /** The version that was changed; null for a new agent. */
  readonly base: string | null;
}

/** Keeps the unsaved text of an agent in the session of the tab, and warns when the tab would be left with it. */
export function useDraft(agentId: string | null) {
  const name = `stratagraph-draft ${agentId ?? "new"}`;
  const [draft, setDraft] = useState<Draft | null>(() => readDraft(name));
  const isKept = draft !== null;
  useEffect(() => {
    if (!isKept) return undefined;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => {
      removeEventListener("beforeunload", warn);
      if (sessionStorage.getItem(name) !== null)
        say("The text is not saved. It is kept in this tab until you come back.");
    };
  }, [isKept, name]);
  return {
    draft,
    change(next: Draft) {
      writeDraft(name, next);
      setDraft(next);
    },
    clear() {
      sessionStorage.removeItem(name);
      setDraft(null);
    },
  };
}

function readDraft(name: string): Draft | null {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(name) ?? "null");
    const { text, base } = Object(value) as Record<string, unknown>;
    if (typeof text !== "string") return null;
    return { text, base: typeof base === "string" ? base : null };
  } catch {
    return null;
  }
}

function writeDraft(name: string, draft: Draft): void {
  try {
    sessionStorage.setItem(name, JSON.stringify(draft));
  } catch {
    // The session has no room for it. The text is still in the page.
  }
}
