import { useState } from "preact/hooks";
import { api, type ApiError, bodyOf } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { asApiError } from "../../api/query.ts";
import type { components, operations } from "../../api/schema.d.ts";
import { Badge } from "../../components/badge.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { Empty, Failure, Loading } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { say } from "../../components/toast.tsx";
import { links } from "../../links.ts";
import { useAgents } from "../threads/threads-view.tsx";

type Run = components["schemas"]["RunOfAnyAgent"];
export type RunState = NonNullable<
  NonNullable<operations["listAllRuns"]["parameters"]["query"]>["status"]
>;

/** The runs in one state, newest first, with what can be done about them. */
export function QueueRuns({ state }: { state: RunState }) {
  const agents = new Map(useAgents().map(({ id, name }) => [id, name]));
  const runs = usePages<Run>(
    `runs ${state}`,
    async (cursor, signal) => {
      const query = { status: state, limit: 100, ...(cursor !== null && { cursor }) };
      const body = await bodyOf(api.GET("/v1/runs", { params: { query }, signal }));
      return { items: body.runs, next: body.next_cursor };
    },
    { keyOf: ({ run_id: id }) => id, refreshOn: () => true },
  );
  const [error, setError] = useState<ApiError | null>(null);
  const [cancelled, setCancelled] = useState<Run | null>(null);
  const act = async (run: Run, action: "retry" | "cancel") => {
    const params = { path: { agent_id: run.agent_id ?? "", run_id: run.run_id } };
    if (action === "retry")
      await bodyOf(api.POST("/v1/agents/{agent_id}/runs/{run_id}/retry", { params }));
    else await bodyOf(api.POST("/v1/agents/{agent_id}/runs/{run_id}/cancel", { params }));
    say(action === "retry" ? "Queued again" : "Cancelled");
    runs.reload();
  };
  const retry = (run: Run) => {
    setError(null);
    act(run, "retry").catch((thrown: unknown) => setError(asApiError(thrown)));
  };
  if (runs.items === null)
    return runs.error === null ? (
      <Loading lines={4} />
    ) : (
      <Failure error={runs.error} retry={runs.reload} />
    );
  return (
    <section aria-label="Runs">
      {error !== null && <Failure error={error} />}
      {state === "dead" && runs.items.length > 0 && (
        <p class="soft advice">
          Each was lost with several workers, one after the other: a run that uses up memory or
          crashes its process. Correct the cause, then retry it. It continues from its last
          checkpoint.
        </p>
      )}
      {runs.items.length === 0 ? (
        <Empty title={emptyTitles[state] ?? "No runs"} />
      ) : (
        <div class="table" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th>Thread</th>
                <th>Agent</th>
                <th>Kind</th>
                <th class="number">Priority</th>
                <th class="number">Attempts</th>
                <th>{state === "queued" ? "Due" : "Began"}</th>
                <th>
                  <span class="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {runs.items.map((run) => (
                <tr key={run.run_id}>
                  <td>
                    <a class="mono" href={links.thread(run.thread_id)}>
                      {run.thread_id}
                    </a>
                    {run.cancel_requested_at !== null && (
                      <>
                        {" "}
                        <Badge status="cancel requested" tone="wait" />
                      </>
                    )}
                  </td>
                  <td>{agents.get(run.agent_id ?? "") ?? "–"}</td>
                  <td>{run.kind}</td>
                  <td class="number">{run.priority}</td>
                  <td class="number">{run.attempts}</td>
                  <td class="faint">
                    <Ago
                      at={state === "queued" ? run.run_at : (run.started_at ?? run.created_at)}
                    />
                  </td>
                  <td class="actions">
                    {state === "dead" && (
                      <button type="button" class="button small" onClick={() => retry(run)}>
                        Retry
                      </button>
                    )}
                    <button
                      type="button"
                      class="button small plain"
                      onClick={() => setCancelled(run)}
                    >
                      Cancel
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {runs.hasMore && (
        <button type="button" class="button small" onClick={runs.more}>
          More
        </button>
      )}
      {cancelled !== null && (
        <Confirm
          title="Cancel this run?"
          action="Cancel the run"
          onClose={() => setCancelled(null)}
          run={() => act(cancelled, "cancel")}
        >
          <p>
            Its turn ends as cancelled, and its thread takes another one. Model and tool calls that
            are under way are aborted.
          </p>
        </Confirm>
      )}
    </section>
  );
}

const emptyTitles: Readonly<Partial<Record<RunState, string>>> = {
  running: "Nothing runs",
  queued: "Nothing is queued",
  awaiting_human: "Nothing waits for people",
  awaiting_tool: "Nothing waits for tools",
  awaiting_event: "Nothing waits for events",
  dead: "No run is dead",
};
