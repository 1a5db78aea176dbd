import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

/** A part of a report under a heading of its own. */
export function Section({
  id,
  title,
  note,
  children,
}: {
  id: string;
  title: string;
  note?: string;
  children: ComponentChildren;
}) {
  return (
    <section id={id} class="report-section" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {note !== undefined && <p class="note">{note}</p>}
      {children}
    </section>
  );
}

/** A square in a colour of the report; it says nothing that words beside it do not. */
export function Swatch({ colour }: { colour: string }) {
  return <span class="run-swatch" aria-hidden="true" style={{ background: colour }} />;
}

/** A table that scrolls sideways. */
export function ScrollingTable({
  label,
  children,
}: {
  label: string;
  children: ComponentChildren;
}) {
  return (
    <div class="report-table" tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  );
}

/** Shows so many of some items at a time. */
export function usePager<Item>(items: readonly Item[], size: number) {
  const [wanted, setPage] = useState(0);
  const pages = Math.max(1, Math.ceil(items.length / size));
  const page = Math.min(wanted, pages - 1);
  return {
    shown: items.slice(page * size, (page + 1) * size),
    page,
    pages,
    turn: (to: number) => setPage(Math.min(Math.max(0, Math.round(to) || 0), pages - 1)),
  };
}

/** The buttons of {@link usePager}; nothing where one page has all. */
export function Pager({
  label,
  page,
  pages,
  turn,
}: {
  label: string;
} & Pick<ReturnType<typeof usePager>, "page" | "pages" | "turn">) {
  if (pages === 1) return null;
  return (
    <nav class="pager" aria-label={`Pages of ${label}`}>
      <button
        type="button"
        class="button small"
        aria-label={`Previous page of ${label}`}
        disabled={page === 0}
        onClick={() => turn(page - 1)}
      >
        ←
      </button>
      <span>
        Page{" "}
        <input
          class="input"
          type="number"
          min={1}
          max={pages}
          inputMode="numeric"
          aria-label={`Page of ${label}`}
          value={page + 1}
          onChange={(event) => turn(Number(event.currentTarget.value) - 1)}
        />{" "}
        of {pages.toLocaleString("en")}
      </span>
      <button
        type="button"
        class="button small"
        aria-label={`Next page of ${label}`}
        disabled={page === pages - 1}
        onClick={() => turn(page + 1)}
      >
        →
      </button>
    </nav>
  );
}
