import { useState } from "preact/hooks";
import { CopyButton } from "../../components/copy-button.tsx";
import { formatBytes, formatCost, formatCount, formatDuration } from "../../components/format.ts";
import { Markdown } from "../../components/markdown.tsx";
import { links } from "../../links.ts";
import { isOver, type Item, type Said, type Turn } from "./conversation.ts";
import { ToolCard } from "./tool-card.tsx";

interface TurnViewProps {
  readonly turn: Turn;
  readonly threadId: string | null;
  /** Where this turn was run again with another message, in this tab; null if it was not. */
  readonly fork?: string | null;
  readonly isEditing?: boolean;
  /** Left out for a turn whose message cannot be changed. */
  readonly onEdit?: (() => void) | undefined;
  readonly onEdited?: (message: string | null) => void;
  readonly onRunAgain?: (() => void) | undefined;
}

/** What was asked, what the agent did, and its answer. */
export function TurnView(props: TurnViewProps) {
  const { turn, threadId, fork = null, isEditing = false, onEdit, onEdited, onRunAgain } = props;
  const last = turn.items.at(-1);
  // The last thought becomes the answer: it stays where it is.
  const isAnswering = turn.end === null && turn.draft === "" && last?.kind === "thought";
  const items = isAnswering ? turn.items.slice(0, -1) : turn.items;
  const answer = turn.answer ?? (isAnswering ? last.text : turn.draft);
  const message = turn.asked.map(({ text }) => text ?? "").join("\n");
  return (
    <article class="turn" aria-label={turn.number === null ? "Turn" : `Turn ${turn.number + 1}`}>
      {isEditing ? (
        <EditForm message={message} onEdited={(text) => onEdited?.(text)} />
      ) : (
        <div class="asked">
          {(onEdit !== undefined || onRunAgain !== undefined) && (
            <div class="turn-actions">
              {onEdit !== undefined && (
                <button type="button" class="button small plain" onClick={onEdit}>
                  Edit
                </button>
              )}
              {onRunAgain !== undefined && (
                <button type="button" class="button small plain" onClick={onRunAgain}>
                  Run again
                </button>
              )}
            </div>
          )}
          {turn.asked.map((said) => (
            <SaidView key={said.id} said={said} />
          ))}
        </div>
      )}
      {fork !== null && (
        <a class="fork-link" href={links.chat(undefined, { thread: fork })}>
          Run again in a fork
        </a>
      )}
      {items.map((item, index) => (
        <ItemView key={index} item={item} threadId={threadId} isWaiting={turn.end !== null} />
      ))}
      {answer !== "" && (
        <div class="answer">
          <Markdown text={answer} />
        </div>
      )}
      {turn.error !== null && (
        <div class="notice bad">
          <strong>The turn failed</strong>
          <p>{turn.error.message}</p>
          {turn.error.code !== "" && <code class="faint">{turn.error.code}</code>}
        </div>
      )}
      {turn.end === "cancelled" && <p class="faint">Stopped.</p>}
      {turn.end === null && (
        <p class="working">
          <span class="badge live">
            <span class="dot" aria-hidden="true" />
            {workingOn(turn)}
          </span>
        </p>
      )}
      {isOver(turn) && turn.usage !== null && turn.steps.length > 0 && (
        <Footer turn={turn} usage={turn.usage} threadId={threadId} />
      )}
    </article>
  );
}

function workingOn({ items, draft }: Turn): string {
  if (draft !== "") return "answering";
  const called = items.flatMap((item) =>
    item.kind === "call" && item.call.outcome === null ? [item.call.tool] : [],
  );
  return called.length === 0 ? "thinking" : `calling ${called.join(", ")}`;
}

function Footer({
  turn,
  usage,
  threadId,
}: {
  turn: Turn;
  usage: NonNullable<Turn["usage"]>;
  threadId: string | null;
}) {
  const { steps, answer } = turn;
  const [first] = steps;
  return (
    <footer class="turn-facts number">
      {threadId !== null && first !== undefined && (
        <a href={links.thread(threadId, { step: first })}>
          {steps.length === 1 ? "1 step" : `${steps.length} steps`}
        </a>
      )}
      <span title="Tokens read and written">
        {formatCount(usage.tokensIn)} in, {formatCount(usage.tokensOut)} out
      </span>
      {usage.cost !== null && <span>{formatCost(usage.cost)}</span>}
      <span>{formatDuration(usage.ms)}</span>
      {answer !== null && <CopyButton text={() => answer} label="Copy answer" />}
    </footer>
  );
}

function SaidView({ said, note }: { said: Said; note?: string }) {
  const { text, attachments } = said;
  return (
    <div class="said">
      {text === null ? <p class="faint">A message was not accepted.</p> : <p dir="auto">{text}</p>}
      {attachments.length > 0 && (
        <ul class="files" aria-label="Files">
          {attachments.map(({ name, bytes }, index) => (
            <li key={index}>
              <span class="truncate">{name}</span>
              <span class="faint number">{formatBytes(bytes)}</span>
            </li>
          ))}
        </ul>
      )}
      {note !== undefined && <p class="hint">{note}</p>}
    </div>
  );
}

function ItemView({
  item,
  threadId,
  isWaiting,
}: {
  item: Item;
  threadId: string | null;
  isWaiting: boolean;
}) {
  switch (item.kind) {
    case "said":
      return <SaidView said={item.said} note="Added while the turn ran" />;
    case "reasoning":
      return (
        <details class="fold">
          <summary>Reasoning</summary>
          <p dir="auto">{item.text}</p>
        </details>
      );
    case "thought":
      return (
        <div class="thought">
          {item.within.length > 0 && <span class="faint">{item.within.join(" › ")}</span>}
          <Markdown text={item.text} />
        </div>
      );
    case "call":
      return (
        <ToolCard call={item.call} step={item.step} threadId={threadId} isWaiting={isWaiting} />
      );
    case "retry":
      return <p class="retry">The answer began again: {item.reason}</p>;
  }
}

function EditForm({
  message,
  onEdited,
}: {
  message: string;
  onEdited: (message: string | null) => void;
}) {
  const [text, setText] = useState(message);
  const run = () => text.trim() !== "" && onEdited(text);
  return (
    <form
      class="said editing"
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
    >
      <label class="field">
        <span class="label">Your message</span>
        <textarea
          class="input"
          rows={3}
          value={text}
          ref={(element) => {
            if (element !== null && !element.dataset["focused"]) {
              element.dataset["focused"] = "yes";
              element.focus();
            }
          }}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") onEdited(null);
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            run();
          }}
        />
      </label>
      <p class="hint">It runs in a new thread. This one stays as it is.</p>
      <div class="row">
        <button type="submit" class="button primary" disabled={text.trim() === ""}>
          Run in a fork
        </button>
        <button type="button" class="button" onClick={() => onEdited(null)}>
          Keep as it was
        </button>
      </div>
    </form>
  );
}
