import { useEffect } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge } from "../../components/badge.tsx";
import { formatCount, formatDuration } from "../../components/format.ts";
import { Empty, Show } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";

type Fleet = components["schemas"]["Queue"]["fleet"];
type Worker = components["schemas"]["Worker"];

/** Milliseconds of silence after which a worker may be frozen: its leases end. */
const silentMs = 15_000;

/** The processes that take runs, and what became of those that were lost. For operators only. */
export function Workers({ fleet }: { fleet: Fleet }) {
  if (fleet === null)
    return (
      <section aria-label="Workers" class="stack">
        <h2>Workers</h2>
        <div class="notice">
          <span>
            Workers serve all tenants: a key with the scope <code>operator</code> shows them. The
            counts above are those of your tenant.
          </span>
          <code>stratagraph keys create --tenant ops --scope operator --scope runs:read</code>
        </div>
      </section>
    );
  return <OwnWorkers fleet={fleet} />;
}

function OwnWorkers({ fleet }: { fleet: NonNullable<Fleet> }) {
  const loaded = useQuery("workers", (signal) => bodyOf(api.GET("/v1/workers", { signal })), {
    refreshOn: () => true,
  });
  const { reload } = loaded;
  // The queue is read each few seconds.
  useEffect(() => reload(), [fleet]);
  return (
    <section aria-label="Workers" class="stack">
      <header class="row">
        <h2>Workers</h2>
        <span class="soft number">
          All tenants: {formatCount(fleet.running)} running, {formatCount(fleet.queued)} queued,{" "}
          {formatCount(fleet.dead)} dead. {formatCount(fleet.takeovers)} taken over from workers
          that died, {formatCount(fleet.ended_leases)} after a lease had ended.
        </span>
      </header>
      <Show loaded={loaded}>
        {({ workers }) =>
          workers.length === 0 ? (
            <Empty title="No worker takes runs">
              <p>
                Queued runs wait until one starts: <code>stratagraph worker</code>, or{" "}
                <code>stratagraph serve</code> with a concurrency above 0.
              </p>
            </Empty>
          ) : (
            <div class="table" tabIndex={0}>
              <table>
                <thead>
                  <tr>
                    <th>Worker</th>
                    <th>Process</th>
                    <th>Kinds</th>
                    <th>Labels</th>
                    <th>Runs</th>
                    <th>End is seen by</th>
                    <th>Seen</th>
                    <th>Started</th>
                  </tr>
                </thead>
                <tbody>
                  {workers.map((worker) => (
                    <Row key={worker.name} worker={worker} />
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Show>
    </section>
  );
}

function Row({ worker }: { worker: Worker }) {
  const share = worker.concurrency === 0 ? 0 : worker.running / worker.concurrency;
  return (
    <tr>
      <td class="truncate worker-name" title={worker.name}>
        <code>{worker.name}</code>
      </td>
      <td class="soft">
        {worker.host}:{worker.pid} <span class="faint">{worker.version}</span>
      </td>
      <td>{worker.kinds === null ? <span class="faint">all</span> : worker.kinds.join(", ")}</td>
      <td>
        {worker.labels.length === 0 ? <span class="faint">none</span> : worker.labels.join(", ")}
      </td>
      <td>
        <span class="load">
          <span class="number">
            {worker.running} / {worker.concurrency}
          </span>
          <i class="bar" aria-hidden="true">
            <i style={{ width: `${Math.min(1, share) * 100}%` }} />
          </i>
        </span>
      </td>
      <td class="soft">{worker.watched ? "its lock, within 2 s" : "its leases, after 15 s"}</td>
      <td>
        {worker.silent_ms > silentMs ? (
          <Badge status={`silent for ${formatDuration(worker.silent_ms)}`} tone="bad" />
        ) : (
          <span class="number soft">{formatDuration(worker.silent_ms)} ago</span>
        )}
      </td>
      <td class="faint">
        <Ago at={worker.started_at} />
      </td>
    </tr>
  );
}
