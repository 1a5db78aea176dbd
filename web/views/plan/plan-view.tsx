import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";

export function PlanView() {
  return (
    <Page title="Plan">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
