import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { api, type ApiError, bodyOf } from "../../api/client.ts";
import { asApiError, useQuery } from "../../api/query.ts";
import { Confirm } from "../../components/confirm.tsx";
import { JsonTree } from "../../components/json-tree.tsx";
import { Failure, Show } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { say } from "../../components/toast.tsx";
import { links } from "../../links.ts";
import { cronText, timeInZone } from "./cron-text.ts";
import { type Schedule, ScheduleStatus } from "./schedule-status.tsx";

/** What becomes of firings that passed while no server ran, or while the schedule was paused. */
export const missedTexts: Readonly<Record<Schedule["missed"], string>> = {
  once: "one run for all of them",
  all: "one run for each",
  none: "no run",
};

/** One schedule: when it fires, what it runs, and what can be done with it. */
export function ScheduleDetail({
  schedule,
  agent,
  onChanged,
}: {
  schedule: Schedule;
  agent: string;
  onChanged: () => void;
}) {
  const { route } = useLocation();
  const [error, setError] = useState<ApiError | null>(null);
  const [isAsked, setAsked] = useState(false);
  const params = { path: { schedule_id: schedule.id } };
  const act = async (work: () => Promise<void>) => {
    setError(null);
    try {
      await work();
      onChanged();
    } catch (thrown) {
      setError(asApiError(thrown));
    }
  };
  const toggle = () =>
    act(async () => {
      await bodyOf(
        schedule.enabled
          ? api.POST("/v1/schedules/{schedule_id}/pause", { params })
          : api.POST("/v1/schedules/{schedule_id}/resume", { params }),
      );
      say(schedule.enabled ? "Paused" : "Resumed");
    });
  const runNow = () =>
    act(async () => {
      const run = await bodyOf(api.POST("/v1/schedules/{schedule_id}/run", { params }));
      say("A run is queued");
      route(links.thread(run.thread_id));
    });
  return (
    <section class="stack side" aria-label="Selected schedule" tabIndex={0}>
      <header class="row">
        <h2>{schedule.name ?? agent}</h2>
        <ScheduleStatus schedule={schedule} />
      </header>
      <div class="row">
        <button type="button" class="button" onClick={() => void runNow()}>
          Run now
        </button>
        <button type="button" class="button" onClick={() => void toggle()}>
          {schedule.enabled ? "Pause" : "Resume"}
        </button>
        <a class="button" href={links.schedules({ schedule: schedule.id, edit: "1" })}>
          Edit
        </a>
        <button type="button" class="button danger" onClick={() => setAsked(true)}>
          Delete
        </button>
      </div>
      {error !== null && <Failure error={error} />}
      {schedule.last_problem !== null && (
        <div class="notice bad">
          <strong>The newest firing made no run</strong>
          <span>{schedule.last_problem}</span>
        </div>
      )}
      <dl class="facts">
        <dt>Fires</dt>
        <dd>
          {cronText(schedule.cron) ?? "at the times of"} <code>{schedule.cron}</code>
        </dd>
        <dt>Time zone</dt>
        <dd>{schedule.time_zone}</dd>
        <dt>Agent</dt>
        <dd>
          <a href={links.agent(schedule.agent_id)}>{agent}</a>
        </dd>
        <dt>Thread</dt>
        <dd>
          {schedule.thread.thread_id === null ? (
            "a new one for each run"
          ) : (
            <a class="mono" href={links.thread(schedule.thread.thread_id)}>
              {schedule.thread.thread_id}
            </a>
          )}
        </dd>
        <dt>Missed firings</dt>
        <dd>
          {missedTexts[schedule.missed]}
          {schedule.missed === "all" && `, the newest ${schedule.max_missed}`}
        </dd>
        <dt>Last run</dt>
        <dd>{schedule.last_at === null ? "none yet" : <Ago at={schedule.last_at} />}</dd>
        {schedule.end_at !== null && (
          <>
            <dt>Ends</dt>
            <dd>{timeInZone(schedule.end_at, schedule.time_zone)}</dd>
          </>
        )}
      </dl>
      <section>
        <h3>Input</h3>
        <JsonTree value={schedule.input} open={2} />
      </section>
      <section>
        <h3>{schedule.enabled ? "Next firings" : "Firings, once it is resumed"}</h3>
        <NextFirings schedule={schedule} />
      </section>
      {isAsked && (
        <Confirm
          title="Delete this schedule?"
          action="Delete"
          onClose={() => setAsked(false)}
          run={async () => {
            await bodyOf(api.DELETE("/v1/schedules/{schedule_id}", { params }));
            say("Deleted");
            onChanged();
            route(links.schedules(), true);
          }}
        >
          <p>
            <strong>{schedule.name ?? agent}</strong> fires no more. Its runs and their threads
            stay.
          </p>
        </Confirm>
      )}
    </section>
  );
}

function NextFirings({
  schedule: { id, cron, time_zone: zone, end_at: end },
}: {
  schedule: Schedule;
}) {
  const loaded = useQuery(`firings ${id} ${cron} ${zone} ${end ?? ""}`, (signal) =>
    bodyOf(
      api.GET("/v1/schedules/{schedule_id}/next", {
        params: { path: { schedule_id: id }, query: { count: 5 } },
        signal,
      }),
    ),
  );
  return (
    <Show loaded={loaded}>{({ firings }) => <Firings times={firings} timeZone={zone} />}</Show>
  );
}

/** Times of firings in the time zone of their schedule. */
export function Firings({ times, timeZone }: { times: readonly string[]; timeZone: string }) {
  if (times.length === 0) return <p class="faint">None: it has ended.</p>;
  return (
    <ol class="firings">
      {times.map((time) => (
        <li key={time}>
          <span class="number">{timeInZone(time, timeZone)}</span>{" "}
          <span class="faint">
            <Ago at={time} />
          </span>
        </li>
      ))}
    </ol>
  );
}
