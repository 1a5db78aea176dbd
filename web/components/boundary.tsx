import { Component, type ComponentChildren, type ComponentType } from "preact";
import { lazy } from "preact-iso";
import { Page } from "./page.tsx";

interface BoundaryProps {
  /** Where the page is: elsewhere, the view is tried again. */
  readonly url: string;
  readonly children: ComponentChildren;
}

/** Shows what to do in place of a view that broke, so that the rest of the page stays usable. */
export class Boundary extends Component<BoundaryProps, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };

  static override getDerivedStateFromError(): { readonly hasFailed: boolean } {
    return { hasFailed: true };
  }

  override componentDidUpdate(before: Readonly<BoundaryProps>): void {
    if (this.state.hasFailed && before.url !== this.props.url) this.setState({ hasFailed: false });
  }

  override render() {
    const { children } = this.props;
    return this.state.hasFailed ? <Broken title="This view broke" /> : children;
  }
}

/** A view whose scripts are loaded when it is opened. They may be gone: a server has those of its own build only. */
export function lazyView<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  return lazy(() =>
    load().catch((): ComponentType<Props> => () => <Broken title="This view was not loaded" />),
  );
}

function Broken({ title }: { title: string }) {
  return (
    <Page title={title}>
      <div class="notice bad" role="alert">
        <strong>Load the page again</strong>
        <p>
          The server may be of another version than this page, or the address may be wrong. The
          other views still work.
        </p>
        <button type="button" class="button small" onClick={() => location.reload()}>
          Load again
        </button>
      </div>
    </Page>
  );
}
