import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";

export function QueueView() {
  return (
    <Page title="Queue">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
