import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface VirtualListProps<Item> {
  /** Names the list for screen readers. */
  readonly label: string;
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
  /** Where a row leads. Rows are links, so that they can be opened elsewhere. */
  readonly hrefOf: (item: Item) => string;
  readonly isSelected?: (item: Item) => boolean;
  /** The cells of a row. */
  readonly row: (item: Item) => ComponentChildren;
  /** `grid-template-columns` of the head and the rows. */
  readonly columns: string;
  /** The same below 760 pixels, where cells of the class `wide-only` are left out. Default: `columns`. */
  readonly narrowColumns?: string;
  readonly head?: ComponentChildren;
  /** Pixels of a row at a text size of 16. Default 36. */
  readonly rowHeight?: number;
  /** Called when the end is near, to load more. */
  readonly onEnd?: () => void;
  /** Follows the end while it is in sight, as logs do. Default false. */
  readonly sticksToEnd?: boolean;
}

/**
 * A list of any length, of which only rows in sight are elements. Arrow keys, Home, End and Page keys move between rows;
 * Enter opens one.
 */
export function VirtualList<Item>(props: VirtualListProps<Item>) {
  const { items, keyOf, hrefOf, row, columns, head, label, onEnd } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [, render] = useState(0);
  const scale = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  const height = (props.rowHeight ?? 36) * scale;
  const options = {
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    getItemKey: (index: number) => {
      const item = items[index];
      return item === undefined ? index : keyOf(item);
    },
    overscan: 12,
    scrollMargin: head === undefined ? 0 : 36 * scale,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => render((count) => count + 1),
  };
  const [virtual] = useState(() => new Virtualizer<HTMLDivElement, HTMLElement>(options));
  virtual.setOptions(options);
  useEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => {
    virtual._willUpdate();
  });
  const rows = virtual.getVirtualItems();
  const last = rows.at(-1)?.index ?? 0;
  useEffect(() => {
    if (items.length > 0 && last >= items.length - 20) onEnd?.();
  }, [last, items.length]);
  const wasAtEnd = useRef(true);
  useEffect(() => {
    if (props.sticksToEnd === true && wasAtEnd.current) virtual.scrollToIndex(items.length - 1);
  }, [items.length]);
  useEffect(() => {
    wasAtEnd.current = last >= items.length - 2;
  });

  const move = (event: KeyboardEvent) => {
    const focused = document.activeElement?.closest<HTMLElement>("[data-index]");
    const at = focused === null || focused === undefined ? -1 : Number(focused.dataset["index"]);
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / height) - 1);
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: items.length - 1,
    };
    const to = steps[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const index = Math.min(items.length - 1, Math.max(0, to));
    virtual.scrollToIndex(index);
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus(),
    );
  };

  return (
    <div
      class="virtual"
      ref={scroller}
      onKeyDown={move}
      tabIndex={0}
      role="list"
      aria-label={label}
      style={{ "--columns": columns, "--narrow-columns": props.narrowColumns ?? columns }}
    >
      {head !== undefined && (
        <div class="head" aria-hidden="true">
          {head}
        </div>
      )}
      <div class="space" role="presentation" style={{ height: `${virtual.getTotalSize()}px` }}>
        {rows.map(({ index, start }) => {
          const item = items[index];
          if (item === undefined) return null;
          return (
            <div
              role="listitem"
              aria-setsize={items.length}
              aria-posinset={index + 1}
              key={keyOf(item)}
            >
              <a
                class="item"
                href={hrefOf(item)}
                data-index={index}
                aria-current={props.isSelected?.(item) === true ? "true" : undefined}
                style={{
                  height: `${height}px`,
                  top: `${start - options.scrollMargin}px`,
                }}
              >
                {row(item)}
              </a>
            </div>
          );
        })}
      </div>
    </div>
  );
}
