import { useLocation, useRoute } from "preact-iso";
import { useMemo } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { useQuery } from "../../api/query.ts";
import type { components } from "../../api/schema.d.ts";
import { formatBytes, formatCount } from "../../components/format.ts";
import { Page } from "../../components/page.tsx";
import { Empty, Failure, Loading, Show } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import { links } from "../../links.ts";
import { CycleLog } from "./cycle-log.tsx";
import { Report, type ReportSource } from "./report-data.ts";
import { ReportView } from "./report.tsx";
import { type SelectionChange, SelectionContext } from "./selection.ts";

type Experiment = components["schemas"]["Experiment"];
type ExperimentPage = components["schemas"]["ExperimentPage"];

/** The experiments in the server's folder, or one of them. */
export function ExperimentsView() {
  const { params } = useRoute();
  const id = params["experiment"];
  return id === undefined ? <ExperimentList /> : <ExperimentReport key={id} id={id} />;
}

/** The experiments page by page. `isServed` is false for a server that was given no folder, null until it is known. */
function useExperiments() {
  const served = useQuery("experiments-served", (signal) =>
    bodyOf(api.GET("/v1/experiments", { params: { query: { limit: 1 } }, signal })),
  );
  const pages = usePages<Experiment>(
    "experiments",
    async (cursor, signal) => {
      const query = { limit: 100, ...(cursor !== null && { cursor }) };
      const body = await bodyOf(api.GET("/v1/experiments", { params: { query }, signal }));
      return { items: body.experiments, next: body.next_cursor };
    },
    { keyOf: ({ id }) => id },
  );
  return { ...pages, isServed: served.data?.is_served ?? null };
}

function ExperimentList() {
  const { items, error, more, reload, isServed } = useExperiments();
  return (
    <Page
      title="Experiments"
      fills={items !== null && items.length > 0}
      actions={
        <button type="button" class="button" onClick={reload}>
          Reload
        </button>
      }
    >
      {error !== null && <Failure error={error} retry={reload} />}
      {items === null ? (
        error === null && <Loading lines={6} />
      ) : items.length === 0 ? (
        isServed === false ? (
          <NotServed />
        ) : (
          <NoExperiments />
        )
      ) : (
        <VirtualList
          label="Experiments"
          items={items}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => links.experiment(id)}
          columns="minmax(0, 1fr) minmax(0, 1fr) 5rem 6rem 8rem"
          narrowColumns="minmax(0, 1fr) 3rem 6rem"
          onEnd={more}
          head={
            <>
              <span>Experiment</span>
              <span class="wide-only">Folder</span>
              <span class="number">Logs</span>
              <span class="number wide-only">Size</span>
              <span>Changed</span>
            </>
          }
          row={(one) => (
            <>
              <span class="truncate">{one.title}</span>
              <span class="truncate soft wide-only">{one.folder}</span>
              <span class="number">{formatCount(one.logs)}</span>
              <span class="number soft wide-only">{formatBytes(one.bytes)}</span>
              <span class="faint">
                <Ago at={one.updated_at} />
              </span>
            </>
          )}
        />
      )}
    </Page>
  );
}

function NotServed() {
  return (
    <Empty title="This server shows no experiments">
      <p>
        Start it with the folder that has their logs:{" "}
        <code>stratagraph serve --experiments FOLDER</code>. <code>stratagraph dev FOLDER</code>{" "}
        shows those below its folder.
      </p>
    </Empty>
  );
}

function NoExperiments() {
  return (
    <Empty title="No experiments yet">
      <p>
        <code>stratagraph experiment run CONFIG</code> runs one and writes its logs to{" "}
        <code>logs</code>. They are shown here once that is in the folder of this server.
      </p>
      <p>
        <code>stratagraph experiment report FOLDER</code> writes the same report as one file.
      </p>
    </Empty>
  );
}

/** Reads all pages of an experiment. */
async function loadExperiment(id: string, signal: AbortSignal): Promise<ExperimentPage> {
  let whole: ExperimentPage | null = null;
  for (let cursor: string | null = null; ;) {
    const params = {
      path: { experiment_id: id },
      query: { limit: 200, ...(cursor !== null && { cursor }) },
    };
    const page: ExperimentPage = await bodyOf(
      api.GET("/v1/experiments/{experiment_id}", { params, signal }),
    );
    const runs: ExperimentPage["runs"] = [...(whole?.runs ?? []), ...page.runs];
    const left_out: ExperimentPage["left_out"] = [...(whole?.left_out ?? []), ...page.left_out];
    whole = { ...page, runs, left_out };
    cursor = page.next_cursor;
    if (cursor === null) return whole;
  }
}

/** One experiment, and with `with` in the address another one that it is compared with. */
function ExperimentReport({ id }: { id: string }) {
  const { query, route } = useLocation();
  const other = query["with"] === id ? undefined : query["with"];
  const loaded = useQuery(`experiment ${id} ${other ?? ""}`, (signal) =>
    Promise.all(
      [id, ...(other === undefined ? [] : [other])].map((one) => loadExperiment(one, signal)),
    ),
  );
  const title = loaded.data?.map((one) => one.title).join(" and ");
  const report = useMemo(
    () => (loaded.data === null ? null : new Report(sourceOf(loaded.data))),
    [loaded.data],
  );
  const hrefOf = (change: SelectionChange) => links.experiment(id, { ...query, ...change });
  const selection = {
    query,
    hrefOf,
    set: (change: SelectionChange) => route(hrefOf(change), true),
  };
  return (
    <Page
      title={title ?? "Experiment"}
      trail={<a href={links.experiments()}>Experiments</a>}
      actions={
        <>
          <CompareWith id={id} other={other} />
          <button type="button" class="button" onClick={loaded.reload}>
            Reload
          </button>
        </>
      }
    >
      <Show loaded={loaded}>
        {() =>
          report === null ? null : (
            <SelectionContext.Provider value={selection}>
              <ReportView
                report={report}
                renderSteps={(run, cycle) => (
                  <CycleLog
                    key={`${run.key} ${cycle}`}
                    experimentId={run.experiment?.id ?? id}
                    run={run}
                    cycle={cycle + 1}
                  />
                )}
              />
            </SelectionContext.Provider>
          )
        }
      </Show>
    </Page>
  );
}

function sourceOf(pages: readonly ExperimentPage[]): ReportSource {
  const names = pages.map(({ title, folder }) =>
    pages.every((one) => one.title === title) && pages.length > 1 ? folder : title,
  );
  return {
    title: names.join(" and "),
    runs: pages.flatMap(({ id, runs }, index) =>
      runs.map((run) => ({ ...run, experiment: { id, name: names[index] ?? "" } })),
    ),
    left_out: pages.flatMap(({ left_out: logs }) => logs),
  };
}

/** Chooses another experiment, whose runs are shown with those of this one. */
function CompareWith({ id, other = "" }: { id: string; other?: string | undefined }) {
  const { route } = useLocation();
  const { items } = useExperiments();
  const others = (items ?? []).filter((one) => one.id !== id);
  if (others.length === 0) return null;
  return (
    <select
      class="input compare-with"
      aria-label="Compare with another experiment"
      value={other}
      // The runs are others: nothing else of the address holds.
      onChange={(event) => route(links.experiment(id, { with: event.currentTarget.value }))}
    >
      <option value="">Compare with…</option>
      {others.map((one) => (
        <option key={one.id} value={one.id} selected={one.id === other}>
          {one.title} ({one.folder})
        </option>
      ))}
    </select>
  );
}
