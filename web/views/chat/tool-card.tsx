import { useMemo, useState } from "preact/hooks";
import { toneOf } from "../../components/badge.tsx";
import { formatDuration } from "../../components/format.ts";
import { JsonTree } from "../../components/json-tree.tsx";
import { links } from "../../links.ts";
import type { Call } from "./conversation.ts";

/** Characters of arguments and result up to which a card begins open. */
const shortJson = 160;
/** Characters of arguments in the line of a card. */
const headJson = 120;

interface ToolCardProps {
  readonly call: Call;
  /** Id of the step that made it; null while it runs. */
  readonly step: string | null;
  readonly threadId: string | null;
}

/** A tool call: its name and arguments in a line, and all of it when it is opened. */
export function ToolCard({ call, step, threadId }: ToolCardProps) {
  const { tool, input, output, outcome, error, ms, within } = call;
  const head = useMemo(() => jsonText(input), [input]);
  const isShort = useMemo(
    () => head.length + jsonText(output).length + (error ?? "").length <= shortJson,
    [head, output, error],
  );
  const [isOpen, setOpen] = useState<boolean | null>(null);
  const shown = isOpen ?? isShort;
  const status = outcome ?? "running";
  return (
    <details
      class="tool"
      open={shown}
      onToggle={(event) => {
        // The page opens it as well: only what differs was chosen.
        if (event.currentTarget.open !== shown) setOpen(event.currentTarget.open);
      }}
    >
      <summary>
        <span class={`badge ${toneOf(status)}`}>
          <span class="dot" aria-hidden="true" />
          {status}
        </span>
        <code>{[...within, tool].join(" › ")}</code>
        <span class="mono faint truncate">{shown ? "" : head.slice(0, headJson)}</span>
        <span class="faint number">{ms === null ? "" : formatDuration(ms)}</span>
      </summary>
      <div class="tool-body">
        <h4>Arguments</h4>
        <JsonTree value={input ?? null} open={2} />
        {outcome !== null && (
          <>
            <h4>{error === null ? "Result" : "Error"}</h4>
            {error !== null && <p class="problem">{error}</p>}
            {(error === null || (output !== null && output !== undefined)) && (
              <JsonTree value={output ?? null} open={2} />
            )}
          </>
        )}
        {step !== null && threadId !== null && (
          <p>
            <a href={links.thread(threadId, { step })}>Open the step</a>
          </p>
        )}
      </div>
    </details>
  );
}

function jsonText(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value);
}
