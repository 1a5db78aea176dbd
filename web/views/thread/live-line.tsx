import { useEffect, useState } from "preact/hooks";
import { followRun, type StreamEvent } from "../../api/events.ts";
import { Badge } from "../../components/badge.tsx";
import { links, runUrl } from "../../links.ts";
import { firstLine } from "./step-rows.ts";
import type { Run } from "./thread-records.ts";

interface Live {
  readonly what: string;
  readonly text: string;
}

/** Characters of a text that comes in parts. */
const maxText = 400;

/** What a run does now, from the stream of its events. */
export function LiveLine({ run }: { run: Run }) {
  const { run_id: runId, agent_id: agentId, status } = run;
  const [live, setLive] = useState<Live | null>(null);
  const isWaiting = status.startsWith("awaiting");
  useEffect(() => {
    if (agentId === null || isWaiting) return undefined;
    const aborted = new AbortController();
    void followRun(runUrl({ agent_id: agentId, run_id: runId }), {
      after: Math.max(0, run.last_event - 1),
      signal: aborted.signal,
      onEvent: (event) => setLive((before) => after(before, event)),
    });
    return () => aborted.abort();
  }, [runId, agentId, isWaiting]);
  return (
    <div class="live-line" role="status">
      <Badge status={status} />
      {status === "awaiting_human" ? (
        <a href={links.inbox({ run: runId })}>Answer what it asks</a>
      ) : (
        live !== null && (
          <>
            <strong>{live.what}</strong>
            <span class="truncate soft" dir="auto">
              {live.text}
            </span>
          </>
        )
      )}
    </div>
  );
}

function after(before: Live | null, { event, data }: StreamEvent): Live | null {
  const { content, tool, done } = Object(data) as Record<string, unknown>;
  const text = typeof content === "string" ? content : "";
  switch (event) {
    case "thought":
      return { what: "Thought", text: firstLine(text).slice(0, maxText) };
    case "tool_call":
      return { what: "Calls", text: String(tool) };
    case "tool_result":
      return { what: "Has a result of", text: String(tool) };
    case "message": {
      const so = done !== true && before?.what === "Answers" ? before.text + text : text;
      return { what: "Answers", text: so.slice(-maxText) };
    }
    default:
      return before;
  }
}
