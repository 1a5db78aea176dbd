import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";

export function CheckpointsView() {
  return (
    <Page title="Checkpoints">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
