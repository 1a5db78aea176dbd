import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";

export function ChatView() {
  return (
    <Page title="Chat">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
