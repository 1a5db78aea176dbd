import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

interface PageProps {
  readonly title: string;
  /** Where the page is: links to the views above it. */
  readonly trail?: ComponentChildren;
  /** Beside the title. */
  readonly facts?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** Whether the body has the height that is left, and scrolls inside. Default false. */
  readonly fills?: boolean;
  readonly children: ComponentChildren;
}

/** A view: its title, which is the document's too, its actions and its body. */
export function Page({ title, trail, facts, actions, fills = false, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Stratagraph`;
  }, [title]);
  return (
    <>
      <header class="page-head">
        {trail !== undefined && (
          <nav class="trail" aria-label="Above">
            {trail}
          </nav>
        )}
        <h1 class="truncate">{title}</h1>
        {facts}
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      <div class={`page-body${fills ? " fills" : ""}`}>{children}</div>
    </>
  );
}

/** Links to the parts of a view, each with an address of its own. */
export function Tabs({
  label,
  tabs,
  current,
}: {
  label: string;
  tabs: readonly { readonly name: string; readonly href: string }[];
  current: string;
}) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ name, href }) => (
        <a key={name} href={href} aria-current={name === current ? "page" : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}
