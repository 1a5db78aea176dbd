import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";

export function MemoryView() {
  return (
    <Page title="Memory">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
