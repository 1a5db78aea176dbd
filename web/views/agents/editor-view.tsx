import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";

export function EditorView() {
  return (
    <Page title="Editor">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
