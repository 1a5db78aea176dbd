import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";

export function ExperimentsView() {
  return (
    <Page title="Experiments">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
