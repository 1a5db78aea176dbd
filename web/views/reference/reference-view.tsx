import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";

export function ReferenceView() {
  return (
    <Page title="API">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
