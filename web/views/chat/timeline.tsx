import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Turn } from "./conversation.ts";
import type { Conversation } from "./conversation-store.ts";
import { forksOfTurns } from "./fork-turn.ts";
import { TurnView } from "./turn-view.tsx";

/** Pixels from the end within which a reader who scrolls down follows new text. */
const nearEnd = 48;
/** Pixels from the end that are none: heights are rounded. */
const atEnd = 2;
/** Pixels from the beginning at which earlier turns are loaded. */
const nearStart = 400;

interface TimelineProps {
  readonly conversation: Conversation;
  /** Number of the turn whose message is being edited; null for none. */
  readonly editing: number | null;
  readonly onEdit: (turn: number | null) => void;
  /** Runs a turn again in a fork, with another message or its own. */
  readonly onFork: (turn: Turn, message: string | null) => void;
  /** Whether a turn's message can be changed: it is the agent's whole input. */
  readonly canEdit: boolean;
  /** Before the first turn. */
  readonly children?: ComponentChildren;
  /** Below the last turn. */
  readonly after?: ComponentChildren;
}

/** The turns of a conversation, scrolled to the end and following it, unless the reader has scrolled away. */
export function Timeline(props: TimelineProps) {
  const { conversation, children, after } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  /** Where the box was scrolled to last, by the reader or to follow. */
  const lastTop = useRef(0);
  const isAway = useSignal(false);
  const { value: turns } = conversation.turns;
  const first = turns?.[0]?.key;
  const before = useRef<{ first: string | undefined; height: number; top: number } | null>(null);
  useLayoutEffect(() => {
    const { current: element } = scroller;
    if (element === null) return;
    const { current: last } = before;
    // Earlier turns push down what is being read.
    if (last !== null && last.first !== undefined && last.first !== first && !isFollowing.current)
      element.scrollTop = last.top + element.scrollHeight - last.height;
    before.current = { first, height: element.scrollHeight, top: element.scrollTop };
  }, [first, turns?.length]);
  useEffect(() => {
    const [element, inner] = [scroller.current, content.current];
    if (element === null || inner === null) return undefined;
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) {
        element.scrollTop = element.scrollHeight;
        lastTop.current = element.scrollTop;
      }
      const { current: last } = before;
      // Text below what is read is no earlier turn.
      if (last !== null)
        before.current = { ...last, height: element.scrollHeight, top: element.scrollTop };
    });
    observer.observe(inner);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const scrolled = () => {
    const { current: element } = scroller;
    if (element === null) return;
    const left = element.scrollHeight - element.scrollTop - element.clientHeight;
    // The event of a scroll to the end may come after more text. Only a scroll up leaves the end, however short: the next
    // text would take back each frame of a smooth one.
    const isUp = element.scrollTop < lastTop.current;
    isFollowing.current = left < atEnd || (!isUp && (isFollowing.current || left < nearEnd));
    // A box that springs back has been scrolled beyond its end.
    lastTop.current = element.scrollTop + Math.min(left, 0);
    isAway.value = !isFollowing.current;
    before.current = { first, height: element.scrollHeight, top: element.scrollTop };
    if (element.scrollTop < nearStart && !isFollowing.current) void conversation.loadEarlier();
  };
  const toEnd = () => {
    const { current: element } = scroller;
    if (element !== null) element.scrollTop = element.scrollHeight;
    isFollowing.current = true;
    isAway.value = false;
  };
  return (
    <div class="timeline-box">
      <div
        class="timeline"
        ref={scroller}
        onScroll={scrolled}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Conversation"
      >
        <div class="turns" ref={content}>
          <h2 class="visually-hidden">Conversation</h2>
          {conversation.earlier.value !== null && (
            <button
              type="button"
              class="button small"
              onClick={() => {
                isFollowing.current = false;
                void conversation.loadEarlier();
              }}
            >
              Load earlier turns
            </button>
          )}
          {children}
          <SettledTurns {...props} turns={turns ?? []} />
          <OpenTurn conversation={conversation} />
          {after}
        </div>
      </div>
      {isAway.value && (
        <button type="button" class="button small to-end" onClick={toEnd}>
          ↓ To the end
        </button>
      )}
      <Announcer conversation={conversation} />
    </div>
  );
}

function SettledTurns({
  conversation,
  turns,
  editing,
  onEdit,
  onFork,
  canEdit,
}: TimelineProps & { turns: readonly Turn[] }) {
  const { threadId } = conversation;
  const isIdle = conversation.run.value !== null && conversation.open.value === null;
  return (
    <>
      {turns.map((turn) => {
        const { number } = turn;
        const isForkable = isIdle && number !== null && number >= 0;
        const hasFiles = turn.asked.some(({ attachments }) => attachments.length > 0);
        return (
          <TurnView
            key={turn.key}
            turn={turn}
            threadId={threadId}
            fork={forksOfTurns.value.get(`${threadId} ${number}`) ?? null}
            isEditing={editing !== null && editing === number}
            onEdit={isForkable && canEdit && !hasFiles ? () => onEdit(number) : undefined}
            onEdited={(message) => {
              onEdit(null);
              if (message !== null) onFork(turn, message);
            }}
            onRunAgain={isForkable ? () => onFork(turn, null) : undefined}
          />
        );
      })}
    </>
  );
}

/** Alone reads the turn that runs, so that a token renders one turn. */
function OpenTurn({ conversation }: { conversation: Conversation }) {
  const { value: open } = conversation.open;
  const { value: unread } = conversation.unread;
  return (
    <>
      {open !== null && <TurnView key={open.key} turn={open} threadId={conversation.threadId} />}
      {unread.map((text, index) => (
        <div class="said waiting-message" key={index}>
          <p dir="auto">{text}</p>
          <p class="hint">
            {open === null ? "Kept for the next turn" : "Sent. The next step reads it."}
          </p>
        </div>
      ))}
      {conversation.isReconnecting.value && (
        <p class="notice wait" role="status">
          The connection was lost. The turn goes on; the page connects again.
        </p>
      )}
    </>
  );
}

/** Says when a turn begins, waits and ends, and its answer whole: not each token. */
function Announcer({ conversation }: { conversation: Conversation }) {
  const { value: open } = conversation.open;
  const { value: turns } = conversation.turns;
  const [hasRun, setRun] = useState(false);
  useEffect(() => {
    if (open !== null) setRun(true);
  }, [open === null]);
  const last = turns?.at(-1);
  const ended = last?.answer ?? last?.error?.message ?? "The turn has ended.";
  const text =
    open === null
      ? hasRun
        ? ended
        : ""
      : open.end === null
        ? "The agent is working."
        : "The agent waits for you.";
  return (
    <p class="visually-hidden" role="status" aria-live="polite">
      {text}
    </p>
  );
}
