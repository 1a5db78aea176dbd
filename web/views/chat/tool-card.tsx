import { useMemo, useState } from "preact/hooks";
import { toneOf } from "../../components/tone.ts";
import { formatDuration } from "../../components/format.ts";
import { JsonTree } from "../../components/json-tree.tsx";
import { links } from "../../links.ts";
import type { Call } from "./conversation.ts";

/** Characters of arguments, and of a result, in the lines of a card that is closed. */
const headJson = 200;

interface ToolCardProps {
  readonly call: Call;
  /** Id of the step that made it; null while it runs. */
  readonly step: string | null;
  readonly threadId: string | null;
  /** Whether the turn waits: a call without a result is not running then. */
  readonly isWaiting: boolean;
}

/** A tool call: its name, arguments and result in two lines, and all of it when it is opened. */
export function ToolCard({ call, step, threadId, isWaiting }: ToolCardProps) {
  const { tool, input, output, outcome, error, ms, within } = call;
  const head = useMemo(() => jsonHead(input), [input]);
  const end = useMemo(() => error ?? jsonHead(output), [output, error]);
  const [isOpen, setOpen] = useState(false);
  const status = outcome ?? (isWaiting ? "waiting" : "running");
  return (
    <details class="tool" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class={`status ${toneOf(status)}`}>
          <span class="dot" aria-hidden="true" />
          <span class={status === "success" ? "visually-hidden" : ""}>{status}</span>
        </span>
        <code class="truncate">{[...within, tool].join(" › ")}</code>
        <span class="mono soft truncate">{isOpen ? "" : head}</span>
        <span class="faint number">{ms === null ? "" : formatDuration(ms)}</span>
        {!isOpen && end !== "" && <span class="result mono truncate">→ {end}</span>}
      </summary>
      {isOpen && (
        <div class="tool-body">
          <p class="label">Arguments</p>
          <JsonTree value={input ?? null} open={2} />
          {outcome !== null && (
            <>
              <p class="label">{error === null ? "Result" : "Error"}</p>
              {error !== null && <p class="problem">{error}</p>}
              {(error === null || (output !== null && output !== undefined)) && (
                <JsonTree value={output ?? null} open={2} />
              )}
            </>
          )}
          {step !== null && threadId !== null && (
            <a href={links.thread(threadId, { step })}>Open the step</a>
          )}
        </div>
      )}
    </details>
  );
}

function jsonHead(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.slice(0, headJson);
}
