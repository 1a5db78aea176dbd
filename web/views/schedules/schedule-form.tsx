import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, type ApiError, bodyOf } from "../../api/client.ts";
import { asApiError, useQuery } from "../../api/query.ts";
import { Failure } from "../../components/states.tsx";
import { say } from "../../components/toast.tsx";
import { cronText } from "./cron-text.ts";
import { Firings, missedTexts } from "./schedule-detail.tsx";
import type { Schedule } from "./schedule-status.tsx";

/** What the form holds, as texts. */
interface Draft {
  readonly name: string;
  readonly agent: string;
  readonly cron: string;
  readonly zone: string;
  readonly input: string;
  readonly missed: Schedule["missed"];
  readonly maxMissed: string;
  readonly keepsThread: boolean;
  readonly end: string;
}

type Agents = readonly { readonly id: string; readonly name: string }[];

/** A form for a new schedule, or for one that is there. */
export function ScheduleForm({
  schedule,
  agents,
  onSaved,
  onClose,
}: {
  schedule?: Schedule;
  agents: Agents;
  onSaved: (schedule: Schedule) => void;
  onClose: () => void;
}) {
  const [draft, setDraft] = useState(() => draftOf(schedule));
  const [error, setError] = useState<ApiError | null>(null);
  const set = (more: Partial<Draft>) => {
    setError(null);
    setDraft((before) => ({ ...before, ...more }));
  };
  const agent = draft.agent === "" ? (agents[0]?.id ?? "") : draft.agent;
  const input = inputOf(draft.input);
  const times = useTimes(draft);
  const problemAt = (pointer: string) =>
    (error?.errors ?? times.error?.errors ?? []).find((one) => one.pointer.startsWith(pointer))
      ?.detail ?? null;
  const save = async (event: Event) => {
    event.preventDefault();
    if (input === null) return;
    try {
      const body = bodyFor(draft);
      const thread = { policy: draft.keepsThread ? ("keep" as const) : ("new" as const) };
      const before = draftOf(schedule);
      const saved = await bodyOf(
        schedule === undefined
          ? api.POST("/v1/schedules", {
              body: { ...body, agent_id: agent, input, thread, enabled: true },
            })
          : api.PATCH("/v1/schedules/{schedule_id}", {
              params: { path: { schedule_id: schedule.id } },
              // Without the thread that it keeps, it would keep a new one.
              body: {
                ...body,
                ...(draft.input !== before.input && { input }),
                ...(draft.keepsThread !== before.keepsThread && { thread }),
              },
            }),
      );
      say("Saved");
      onSaved(saved);
    } catch (thrown) {
      setError(asApiError(thrown));
    }
  };
  const shown = ["/cron", "/time_zone", "/end_at", "/input", "/name"];
  const isPlaced = error?.errors.some(({ pointer }) => shown.some((at) => pointer.startsWith(at)));
  return (
    <form
      class="stack side"
      aria-label={schedule === undefined ? "New schedule" : "Edit schedule"}
      onSubmit={(event) => void save(event)}
    >
      <h2>{schedule === undefined ? "New schedule" : "Edit schedule"}</h2>
      <Field id="name" label="Name" problem={problemAt("/name")}>
        {(props) => (
          <input
            {...props}
            maxLength={200}
            value={draft.name}
            onInput={(event) => set({ name: event.currentTarget.value })}
          />
        )}
      </Field>
      {schedule === undefined && (
        <Field id="agent" label="Agent">
          {(props) => (
            <select
              {...props}
              value={agent}
              onChange={(event) => set({ agent: event.currentTarget.value })}
            >
              {agents.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      <Field
        id="cron"
        label="Cron expression"
        problem={problemAt("/cron")}
        hint={cronText(draft.cron) ?? "Minutes, hours, days of the month, months, days of the week"}
      >
        {(props) => (
          <input
            {...props}
            class="input mono"
            required
            spellcheck={false}
            maxLength={200}
            value={draft.cron}
            onInput={(event) => set({ cron: event.currentTarget.value })}
          />
        )}
      </Field>
      <Field id="zone" label="Time zone" problem={problemAt("/time_zone")}>
        {(props) => (
          <input
            {...props}
            list="time-zones"
            required
            maxLength={64}
            value={draft.zone}
            onInput={(event) => set({ zone: event.currentTarget.value })}
          />
        )}
      </Field>
      <datalist id="time-zones">
        {Intl.supportedValuesOf("timeZone").map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <section aria-label="Next firings" aria-live="polite">
        {times.data !== null && times.error === null && (
          <Firings times={times.data.firings} timeZone={draft.zone} />
        )}
      </section>
      <Field
        id="input"
        label="Input"
        problem={input === null ? "Not JSON of an object." : problemAt("/input")}
        hint="A message, or a JSON object for agents with an input schema."
      >
        {(props) => (
          <textarea
            {...props}
            rows={4}
            required
            value={draft.input}
            onInput={(event) => set({ input: event.currentTarget.value })}
          />
        )}
      </Field>
      <Field
        id="missed"
        label="Missed firings"
        hint="Those that passed while no server ran, or while it was paused."
      >
        {(props) => (
          <select
            {...props}
            value={draft.missed}
            onChange={(event) => set({ missed: event.currentTarget.value as Draft["missed"] })}
          >
            {Object.entries(missedTexts).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
      {draft.missed === "all" && (
        <Field id="max-missed" label="Runs at most, of the newest">
          {(props) => (
            <input
              {...props}
              type="number"
              min="1"
              max="100"
              value={draft.maxMissed}
              onInput={(event) => set({ maxMissed: event.currentTarget.value })}
            />
          )}
        </Field>
      )}
      <label class="row">
        <input
          type="checkbox"
          checked={draft.keepsThread}
          onChange={(event) => set({ keepsThread: event.currentTarget.checked })}
        />
        All runs continue one thread
      </label>
      <Field
        id="end"
        label="Ends"
        problem={problemAt("/end_at")}
        hint="In your own time zone. Empty: never."
      >
        {(props) => (
          <input
            {...props}
            type="datetime-local"
            value={draft.end}
            onInput={(event) => set({ end: event.currentTarget.value })}
          />
        )}
      </Field>
      {error !== null && isPlaced !== true && <Failure error={error} />}
      <div class="row">
        <button type="submit" class="button primary">
          {schedule === undefined ? "Create" : "Save"}
        </button>
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </form>
  );
}

interface FieldProps {
  readonly id: string;
  readonly class: string;
  readonly "aria-invalid": boolean;
  readonly "aria-describedby": string;
}

function Field({
  id: name,
  label,
  hint,
  problem = null,
  children,
}: {
  id: string;
  label: string;
  hint?: string;
  problem?: string | null;
  children: (props: FieldProps) => ComponentChildren;
}) {
  const id = `schedule-${name}`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        class: "input",
        "aria-invalid": problem !== null,
        "aria-describedby": `${id}-says`,
      })}
      <span id={`${id}-says`} class={problem === null ? "hint" : "problem"}>
        {problem ?? hint}
      </span>
    </div>
  );
}

/** The next firings of a draft, once typing has paused. */
function useTimes({ cron, zone, end }: Draft) {
  const [settled, setSettled] = useState({ cron, zone, end });
  useEffect(() => {
    const timer = setTimeout(() => setSettled({ cron, zone, end }), 250);
    return () => clearTimeout(timer);
  }, [cron, zone, end]);
  const isEmpty = settled.cron.trim() === "" || settled.zone.trim() === "";
  const key = isEmpty ? null : `times ${settled.cron}\n${settled.zone}\n${settled.end}`;
  return useQuery(key, (signal) =>
    bodyOf(
      api.POST("/v1/schedules/check", {
        body: {
          cron: settled.cron.trim(),
          time_zone: settled.zone.trim(),
          end_at: isoOf(settled.end),
          count: 5,
        },
        signal,
      }),
    ),
  );
}

function draftOf(schedule: Schedule | undefined): Draft {
  return {
    name: schedule?.name ?? "",
    agent: schedule?.agent_id ?? "",
    cron: schedule?.cron ?? "0 9 * * MON-FRI",
    zone: schedule?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    input: schedule === undefined ? "" : inputText(schedule.input),
    missed: schedule?.missed ?? "once",
    maxMissed: String(schedule?.max_missed ?? 10),
    keepsThread: schedule?.thread.policy === "keep",
    end: localTime(schedule?.end_at ?? null),
  };
}

/** What new schedules and changes of one have in common. */
function bodyFor(draft: Draft) {
  return {
    name: draft.name.trim() === "" ? null : draft.name.trim(),
    cron: draft.cron.trim(),
    time_zone: draft.zone.trim(),
    missed: draft.missed,
    max_missed: Number(draft.maxMissed),
    end_at: isoOf(draft.end),
  };
}

/** A message stands for itself; other inputs are JSON. */
function inputText(input: unknown): string {
  const keys = Object.keys(Object(input) as object);
  const message = (Object(input) as { message?: unknown }).message;
  if (keys.length === 1 && typeof message === "string" && !message.trimStart().startsWith("{"))
    return message;
  return JSON.stringify(input, null, 2);
}

/** Null for a text that begins like an object and is none. */
function inputOf(text: string): Record<string, unknown> | null {
  if (!text.trimStart().startsWith("{")) return { message: text };
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}

function isoOf(local: string): string | null {
  const time = new Date(local);
  return local === "" || Number.isNaN(time.getTime()) ? null : time.toISOString();
}

function localTime(iso: string | null): string {
  if (iso === null) return "";
  const time = new Date(iso);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
