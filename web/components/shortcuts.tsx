import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Dialog } from "./dialog.tsx";

/** A key, or two one after the other (`g t`), and what it does. */
export interface Shortcut {
  readonly keys: string;
  readonly does: string;
  readonly run: () => void;
}

const groups = signal<
  readonly { readonly name: string; readonly shortcuts: readonly Shortcut[] }[]
>([]);
const isHelpOpen = signal(false);
/** Milliseconds in which the second key of two must come. */
const secondKeyMs = 1_200;

/** Adds shortcuts as long as a component is there. Those that came last go first. */
export function useShortcuts(name: string, shortcuts: readonly Shortcut[]): void {
  const current = useRef(shortcuts);
  current.current = shortcuts;
  const keys = shortcuts.map((one) => one.keys).join(",");
  useEffect(() => {
    const group = {
      name,
      shortcuts: shortcuts.map((one, index) => ({
        ...one,
        run: () => current.current[index]?.run(),
      })),
    };
    groups.value = [group, ...groups.value];
    return () => {
      groups.value = groups.value.filter((one) => one !== group);
    };
  }, [name, keys]);
}

let pending = "";
let pendingUntil = 0;

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (
    target instanceof HTMLElement &&
    target.closest("input, textarea, select, [contenteditable], dialog") !== null
  )
    return;
  const typed = event.timeStamp < pendingUntil ? `${pending} ${key}` : key;
  pending = "";
  pendingUntil = 0;
  if (typed === "?") {
    isHelpOpen.value = true;
    event.preventDefault();
    return;
  }
  const all = groups.value.flatMap(({ shortcuts }) => shortcuts);
  const found = all.find(({ keys }) => keys === typed);
  if (found !== undefined) {
    event.preventDefault();
    found.run();
  } else if (all.some(({ keys }) => keys.startsWith(`${typed} `))) {
    pending = typed;
    pendingUntil = event.timeStamp + secondKeyMs;
  }
});

/** The list of all keys of the view, which `?` opens. */
export function ShortcutHelp() {
  if (!isHelpOpen.value) return null;
  return (
    <Dialog title="Keys" onClose={() => (isHelpOpen.value = false)}>
      {groups.value.map(({ name, shortcuts }) => (
        <section key={name} class="stack">
          <h3>{name}</h3>
          <dl class="facts">
            {shortcuts.map(({ keys, does }) => (
              <>
                <dt key={keys}>
                  {keys.split(" ").map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </>
            ))}
          </dl>
        </section>
      ))}
      <p class="faint">
        In lists: arrow keys, <kbd>Home</kbd>, <kbd>End</kbd>, <kbd>Enter</kbd>. <kbd>?</kbd> opens
        this list, <kbd>Esc</kbd> closes it.
      </p>
    </Dialog>
  );
}

/** Opens the list of keys. */
export function openShortcutHelp(): void {
  isHelpOpen.value = true;
}
