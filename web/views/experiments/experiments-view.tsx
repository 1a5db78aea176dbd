import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";

/** Where reports of experiments are, until they are shown here. */
export function ExperimentsView() {
  return (
    <Page title="Experiments">
      <Empty title="Reports of experiments are files">
        <p>
          <code>stratagraph experiment report FOLDER</code> writes one from the logs of its runs.
          Open <code>report.html</code> in the folder.
        </p>
      </Empty>
    </Page>
  );
}
