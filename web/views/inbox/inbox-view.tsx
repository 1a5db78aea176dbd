import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";

export function InboxView() {
  return (
    <Page title="Inbox">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
