import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";

export function AgentsView() {
  return (
    <Page title="Agents">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
