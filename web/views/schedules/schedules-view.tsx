import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";

export function SchedulesView() {
  return (
    <Page title="Schedules">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
