import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";

export function AgentView() {
  return (
    <Page title="Agent">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
