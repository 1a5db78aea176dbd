import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** A modal dialog: Escape and the button close it, and the focus goes back to where it was. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={element} onClose={onClose} aria-label={title}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="button small plain" onClick={onClose}>
          Close
        </button>
      </header>
      <div class="content">{children}</div>
    </dialog>
  );
}
