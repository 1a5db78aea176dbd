import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Completion } from "./schema-place.ts";
import { findTextLines } from "./yaml-place.ts";

/** A mark at a place of the text. */
export interface EditorMark {
  /** 1-based, as is `column`. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

interface TextEditorProps {
  readonly label: string;
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly onCaret: (caret: number) => void;
  readonly marks: readonly EditorMark[];
  /** Moves the caret there whenever it is another object. */
  readonly goTo: { readonly line: number; readonly column: number } | null;
  /** What Ctrl+Space lists at the caret, and where the text that a choice replaces begins. */
  readonly complete: (caret: number) => {
    readonly from: number;
    readonly options: readonly Completion[];
  };
  readonly describedBy: string;
}

const indentation = "  ";
/** Lines that are drawn above and below those in sight. */
const overscan = 10;
/** Characters of a line that get colours; longer lines are plain. */
const maxColoured = 2_000;

/**
 * A field for YAML: a plain textarea over its own text in colours, with line numbers and marks. Only lines in sight are
 * drawn. Tab indents, Escape and then Tab leaves.
 */
export function TextEditor(props: TextEditorProps) {
  const { text, onChange, onCaret, marks, goTo, complete, label } = props;
  const area = useRef<HTMLTextAreaElement>(null);
  const ruler = useRef<HTMLSpanElement>(null);
  const [view, setView] = useState({ top: 0, left: 0, height: 600 });
  const [size, setSize] = useState({ line: 20, character: 8 });
  const [isLeaving, setLeaving] = useState(false);
  const menu = useCompletions(area, complete);
  const lines = useMemo(() => text.split("\n"), [text]);
  const textLines = useMemo(() => findTextLines(lines), [lines]);
  const follow = () => {
    const {
      scrollTop: top = 0,
      scrollLeft: left = 0,
      clientHeight: height = 600,
    } = area.current ?? {};
    setView({ top, left, height });
  };
  useLayoutEffect(() => {
    const { width = 800, height = 20 } = ruler.current?.getBoundingClientRect() ?? {};
    setSize({ line: height, character: width / 100 });
    const resized = new ResizeObserver(follow);
    if (area.current !== null) resized.observe(area.current);
    return () => resized.disconnect();
  }, []);
  const current = useRef(onCaret);
  current.current = onCaret;
  useEffect(() => {
    const tell = () => {
      const element = area.current;
      if (element !== null && document.activeElement === element)
        current.current(element.selectionStart);
    };
    document.addEventListener("selectionchange", tell);
    return () => document.removeEventListener("selectionchange", tell);
  }, []);
  useEffect(() => {
    const element = area.current;
    if (goTo === null || element === null) return;
    const before = text.split("\n").slice(0, goTo.line - 1);
    const at = before.reduce((sum, { length }) => sum + length + 1, 0) + goTo.column - 1;
    element.focus();
    element.setSelectionRange(at, at);
    element.scrollTop = Math.max(0, (goTo.line - 1) * size.line - element.clientHeight / 2);
    onCaret(at);
  }, [goTo]);

  const onKeyDown = (event: KeyboardEvent) => {
    const element = area.current;
    if (element === null || event.isComposing) return;
    if (menu.onKeyDown(event)) return;
    if (event.key === "Escape") return setLeaving(true);
    if (event.key === "Tab" && !isLeaving && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      indent(element, event.shiftKey);
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      insert(element, `\n${nextIndent(element)}`);
    }
    if (event.key !== "Shift") setLeaving(false);
  };
  const first = Math.max(0, Math.floor(view.top / size.line) - overscan);
  const shown = lines.slice(first, first + Math.ceil(view.height / size.line) + 2 * overscan);
  const marked = new Map(marks.map((mark) => [mark.line, mark]));
  const digits = Math.max(2, String(lines.length).length);
  const moved = { transform: `translate(${-view.left}px, ${first * size.line - view.top}px)` };
  return (
    <div class="text-editor">
      <div class="gutter" aria-hidden="true" style={{ width: `${digits + 3}ch` }}>
        <div style={{ transform: `translateY(${first * size.line - view.top}px)` }}>
          {shown.map((_line, index) => (
            <div key={first + index} class={marked.has(first + index + 1) ? "marked" : undefined}>
              {first + index + 1}
            </div>
          ))}
        </div>
      </div>
      <div class="paper">
        <div class="ink" aria-hidden="true">
          <div style={moved}>
            {shown.map((line, index) => (
              <div key={first + index} class="line">
                {textLines.has(first + index) ? line : <Coloured line={line} />}
                <Underline
                  mark={marked.get(first + index + 1)}
                  line={line}
                  character={size.character}
                />
              </div>
            ))}
          </div>
        </div>
        <textarea
          ref={area}
          aria-label={label}
          aria-describedby={props.describedBy}
          aria-invalid={marks.length > 0}
          aria-autocomplete="list"
          aria-controls={menu.options.length > 0 ? "editor-completions" : undefined}
          aria-activedescendant={
            menu.options.length > 0 ? `editor-completion-${menu.active}` : undefined
          }
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          value={text}
          onInput={(event) => {
            onChange(event.currentTarget.value);
            menu.refresh();
          }}
          onKeyDown={onKeyDown}
          onBlur={menu.close}
          onScroll={follow}
        />
        <span class="ruler" ref={ruler} aria-hidden="true">
          {"0".repeat(100)}
        </span>
        {menu.options.length > 0 && <Completions {...menu} text={text} size={size} view={view} />}
      </div>
    </div>
  );
}

function Underline({
  mark,
  line,
  character,
}: {
  mark: EditorMark | undefined;
  line: string;
  character: number;
}) {
  if (mark === undefined) return null;
  const from = Math.min(mark.column - 1, line.length);
  const length = Math.max(1, line.slice(from).trimEnd().length);
  return (
    <span
      class="underline"
      style={{ left: `${from * character}px`, width: `${length * character}px` }}
    />
  );
}

/** A line with its comment, key, and quoted texts in colours. */
function Coloured({ line }: { line: string }) {
  if (line.length > maxColoured) return <>{line}</>;
  const key = /^(\s*(?:-\s+)*)("(?:[^"\\]|\\.)*"|[^\s#:"'][^:#]*?)(:)(?=\s|$)/.exec(line);
  const start = key?.[0].length ?? 0;
  const rest = line.slice(start);
  const comment = /(?:^|\s)#.*$/.exec(rest);
  const value = comment === null ? rest : rest.slice(0, comment.index);
  return (
    <>
      {key?.[1]}
      {key !== null && <span class="key">{key[2]}</span>}
      {key?.[3]}
      {/^\s*(?:true|false|null|-?\d[\d.]*)\s*$/.test(value) ? (
        <span class="scalar">{value}</span>
      ) : (
        value
      )}
      {comment !== null && <span class="comment">{comment[0]}</span>}
    </>
  );
}

/** The list of completions: open on Ctrl+Space, and narrowed while one types. */
function useCompletions(
  area: { readonly current: HTMLTextAreaElement | null },
  complete: TextEditorProps["complete"],
) {
  const [open, setOpen] = useState<{
    caret: number;
    from: number;
    options: readonly Completion[];
  } | null>(null);
  const [active, setActive] = useState(0);
  const show = () => {
    const caret = area.current?.selectionStart ?? 0;
    setOpen({ caret, ...complete(caret) });
    setActive(0);
  };
  const close = () => setOpen(null);
  // The options are those of the text that is there after the change.
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (round > 0 && open !== null) show();
  }, [round]);
  const options = open?.options ?? [];
  const choose = (option: Completion | undefined) => {
    const element = area.current;
    if (element === null || option === undefined || open === null) return;
    close();
    element.setSelectionRange(open.from, element.selectionStart);
    insert(element, option.insert);
  };
  const onKeyDown = (event: KeyboardEvent): boolean => {
    if (event.key === " " && event.ctrlKey) show();
    else if (options.length === 0) return false;
    else if (event.key === "ArrowDown") setActive((active + 1) % options.length);
    else if (event.key === "ArrowUp") setActive((active + options.length - 1) % options.length);
    else if (event.key === "Enter" || event.key === "Tab") choose(options[active]);
    else if (event.key === "Escape") close();
    else {
      if (event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End") close();
      return false;
    }
    event.preventDefault();
    return true;
  };
  return {
    options,
    active,
    from: open?.from ?? 0,
    choose,
    close,
    onKeyDown,
    refresh: () => setRound((count) => count + 1),
  };
}

function Completions({
  options,
  active,
  from,
  choose,
  text,
  size,
  view,
}: {
  options: readonly Completion[];
  active: number;
  from: number;
  choose: (option: Completion) => void;
  text: string;
  size: { readonly line: number; readonly character: number };
  view: { readonly top: number; readonly left: number; readonly height: number };
}) {
  const before = text.slice(0, from).split("\n");
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);
  const top = (before.length - 1) * size.line - view.top;
  const isAbove = top > view.height / 2;
  const left = (before.at(-1)?.length ?? 0) * size.character - view.left;
  return (
    <ul
      class="completions"
      id="editor-completions"
      role="listbox"
      aria-label="Completions"
      ref={list}
      style={{
        left: `min(${left}px, calc(100% - 18rem))`,
        ...(isAbove
          ? { bottom: `calc(100% - ${top}px - var(--space-2))` }
          : { top: `calc(${top + size.line}px + var(--space-2))` }),
      }}
    >
      {options.map((option, index) => (
        <li
          key={option.insert}
          id={`editor-completion-${index}`}
          role="option"
          aria-selected={index === active}
          onPointerDown={(event) => {
            event.preventDefault();
            choose(option);
          }}
        >
          <span class="mono">{option.name}</span>
          <span class="faint truncate">{option.description || option.type}</span>
        </li>
      ))}
    </ul>
  );
}

/** Replaces the selection as typing does, so that it can be undone. */
function insert(element: HTMLTextAreaElement, text: string): void {
  element.focus();
  // It is the one way that keeps the history of a textarea; browsers keep it for that.
  if (document.execCommand(text === "" ? "delete" : "insertText", false, text)) return;
  element.setRangeText(text, element.selectionStart, element.selectionEnd, "end");
  element.dispatchEvent(new Event("input", { bubbles: true }));
}

function indent(element: HTMLTextAreaElement, isOut: boolean): void {
  const { value, selectionStart: start, selectionEnd: end } = element;
  if (start === end && !isOut) return insert(element, indentation);
  const from = value.lastIndexOf("\n", start - 1) + 1;
  const to = Math.max(start, value[end - 1] === "\n" ? end - 1 : end);
  const before = value.slice(from, to);
  const after = isOut
    ? before.replaceAll(/^ {1,2}/gm, "")
    : before.replaceAll(/^(?=.)/gm, indentation);
  if (after === before) return;
  element.setSelectionRange(from, to);
  insert(element, after);
  const isOne = start === end;
  const at = Math.max(from, start - (before.length - after.length));
  element.setSelectionRange(isOne ? at : from, isOne ? at : from + after.length);
}

/** The indentation of a line after the caret's: one level more below a key without a value. */
function nextIndent({ value, selectionStart }: HTMLTextAreaElement): string {
  const line = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
  const own = /^ */.exec(line)?.[0] ?? "";
  return /:\s*(?:[|>][-+\d]*)?\s*$/.test(line) ? own + indentation : own;
}
