import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";

export function ThreadView() {
  return (
    <Page title="Thread">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
