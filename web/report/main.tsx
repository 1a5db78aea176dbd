import { signal } from "@preact/signals";
import { render } from "preact";
import "../styles/tokens.css";
import "../styles/base.css";
import "../styles/components.css";
import { formatMinute } from "../views/experiments/figures.ts";
import { Report, type ReportSource } from "../views/experiments/report-data.ts";
import { ReportView } from "../views/experiments/report.tsx";
import {
  type Selection,
  type SelectionChange,
  SelectionContext,
} from "../views/experiments/selection.ts";

/** The data in the file. */
interface FileData extends ReportSource {
  readonly folder: string;
  readonly made_at: string;
}

/** What is selected is after the `#` of the address: a file has no server that would know other addresses. */
const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

function selectionOf(text: string): Selection {
  const query = Object.fromEntries(new URLSearchParams(text.replace(/^#/, "")));
  const hrefOf = (change: SelectionChange) => {
    const parts = Object.entries({ ...query, ...change }).flatMap(([name, value]) =>
      value === null || value === undefined || value === "" ? [] : [[name, String(value)]],
    );
    return `#${new URLSearchParams(parts).toString()}`;
  };
  return {
    query,
    hrefOf,
    set(change) {
      history.replaceState(null, "", hrefOf(change));
      hash.value = location.hash;
    },
  };
}

function Page({ data, report }: { data: FileData; report: Report }) {
  return (
    <SelectionContext.Provider value={selectionOf(hash.value)}>
      <div class="report-page">
        <header>
          <h1>{data.title}</h1>
          <p class="note">
            Made <time dateTime={data.made_at}>{formatMinute(data.made_at)}</time> from the logs in{" "}
            <code>{data.folder}</code>
          </p>
        </header>
        <main>
          <ReportView report={report} renderSteps={null} />
        </main>
      </div>
    </SelectionContext.Provider>
  );
}

const root = document.querySelector("#report");
const data = JSON.parse(document.querySelector("#data")?.textContent ?? "") as FileData;
if (root !== null) render(<Page data={data} report={new Report(data)} />, root);
