import { useLocation, useRoute } from "preact-iso";
import { useMemo } from "preact/hooks";
import { isOfThread } from "../../api/changes.ts";
import { api, bodyOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { Badge } from "../../components/badge.tsx";
import { formatDuration } from "../../components/format.ts";
import { Graph } from "../../components/graph.tsx";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Empty, Show } from "../../components/states.tsx";
import { toneOf } from "../../components/tone.ts";
import { VirtualList } from "../../components/virtual-list.tsx";
import { links } from "../../links.ts";
import { ThreadPage } from "../thread/thread-page.tsx";
import {
  type Plan,
  type PlanMoment,
  planMoments,
  type Subtask,
  subtasksAt,
} from "./plan-moments.ts";
import { SubtaskDetail } from "./subtask-detail.tsx";

/** The plans of a thread's last turn: their subtasks as a graph or a list, now and before. */
export function PlanView() {
  const { thread: threadId = "" } = useRoute().params;
  const loaded = useQuery(
    `plans ${threadId}`,
    (signal) =>
      bodyOf(
        api.GET("/v1/threads/{thread_id}/plans", {
          params: { path: { thread_id: threadId } },
          signal,
        }),
      ),
    { refreshOn: isOfThread(threadId) },
  );
  return (
    <ThreadPage threadId={threadId} tab="Plan">
      {() => (
        <Show loaded={loaded}>
          {({ plans }) =>
            plans.length === 0 ? (
              <Empty title="The last turn has no plan">
                <p>
                  Planner nodes split a task into subtasks, and run them on workers. Add one to the
                  agent's workflow to see its plan here.
                </p>
              </Empty>
            ) : (
              <Plans threadId={threadId} plans={plans} />
            )
          }
        </Show>
      )}
    </ThreadPage>
  );
}

function nameOf({ within, node }: Plan): string {
  return [...within, node].filter((one) => one !== "").join(" › ") || "The thread's plan";
}

function Plans({ threadId, plans }: { threadId: string; plans: readonly Plan[] }) {
  const { query, route } = useLocation();
  const chosen = Number.parseInt(query["plan"] ?? "0", 10);
  const plan = plans[chosen] ?? plans[0]!;
  return (
    <>
      {plans.length > 1 && (
        <div class="toolbar">
          <select
            class="input"
            aria-label="Plan"
            value={String(plans.indexOf(plan))}
            onChange={(event) =>
              route(
                links.plan(threadId, { plan: event.currentTarget.value, form: query["form"] }),
                true,
              )
            }
          >
            {plans.map((one, index) => (
              <option key={index} value={String(index)}>
                {nameOf(one)}
              </option>
            ))}
          </select>
        </div>
      )}
      <PlanPast threadId={threadId} plan={plan} />
    </>
  );
}

/** A plan at one of its versions. */
function PlanPast({ threadId, plan }: { threadId: string; plan: Plan }) {
  const { query, route } = useLocation();
  const moments = useMemo(() => planMoments(plan), [plan]);
  const last = moments.length - 1;
  const at = placeOf(query["at"], last);
  const moment = moments[at] ?? moments[last]!;
  const isNow = at === last;
  const subtasks = useMemo(
    () => (isNow ? plan.subtasks : subtasksAt(plan, moment)),
    [plan, moment, isNow],
  );
  const isList = query["form"] === "list";
  const selected = subtasks.find(({ id }) => id === query["subtask"]);
  const hrefOf = (id: string | undefined) => links.plan(threadId, { ...query, subtask: id });
  const go = (to: number) => {
    const index = Math.min(last, Math.max(0, to));
    route(links.plan(threadId, { ...query, at: index === last ? null : index }), true);
  };
  const select = (by: 1 | -1) => {
    const index = subtasks.findIndex(({ id }) => id === selected?.id);
    const next =
      subtasks[index === -1 ? 0 : Math.min(subtasks.length - 1, Math.max(0, index + by))];
    if (next !== undefined) route(hrefOf(next.id), true);
  };
  const toggle = () =>
    route(links.plan(threadId, { ...query, form: isList ? null : "list" }), true);
  useShortcuts("Plan", [
    { keys: "j", does: "Next subtask", run: () => select(1) },
    { keys: "k", does: "Previous subtask", run: () => select(-1) },
    { keys: "]", does: "Next version", run: () => go(at + 1) },
    { keys: "[", does: "Previous version", run: () => go(at - 1) },
    { keys: "l", does: "Show the list, or the graph", run: toggle },
    { keys: "Escape", does: "Close the subtask", run: () => route(hrefOf(undefined), true) },
  ]);
  return (
    <>
      <div class="toolbar plan-toolbar">
        <Versions at={at} moments={moments} go={go} />
        <button type="button" class="button small" onClick={toggle} title="List or graph (l)">
          {isList ? "Show graph" : "Show list"}
        </button>
      </div>
      <Summary plan={plan} subtasks={subtasks} moment={moment} />
      <div class={selected === undefined ? "thread-steps" : "thread-steps open"}>
        <section class="thread-list plan-list" aria-label="Subtasks">
          {isList ? (
            <SubtaskList
              subtasks={subtasks}
              moment={moment}
              selected={selected?.id}
              hrefOf={hrefOf}
            />
          ) : (
            <PlanGraph subtasks={subtasks} selected={selected?.id ?? null} hrefOf={hrefOf} />
          )}
        </section>
        {selected !== undefined && (
          <SubtaskDetail
            threadId={threadId}
            plan={plan}
            subtask={selected}
            subtasks={subtasks}
            hrefOf={hrefOf}
          />
        )}
      </div>
    </>
  );
}

function placeOf(text: string | undefined, last: number): number {
  const at = Number.parseInt(text ?? "", 10);
  return Number.isInteger(at) && at >= 0 && at < last ? at : last;
}

/** The slider over the versions of the plan. */
function Versions({
  at,
  moments,
  go,
}: {
  at: number;
  moments: readonly PlanMoment[];
  go: (to: number) => void;
}) {
  const last = moments.length - 1;
  return (
    <>
      <span class="row">
        <button
          type="button"
          class="button small"
          aria-label="Previous version"
          title="Previous version ([)"
          disabled={at === 0}
          onClick={() => go(at - 1)}
        >
          ‹
        </button>
        <button
          type="button"
          class="button small"
          aria-label="Next version"
          title="Next version (])"
          disabled={at === last}
          onClick={() => go(at + 1)}
        >
          ›
        </button>
      </span>
      <input
        class="grow"
        type="range"
        min={0}
        max={last}
        value={at}
        aria-label="Version of the plan"
        aria-valuetext={`${at + 1} of ${moments.length}: ${moments[at]?.changes.slice(0, 3).join(", ") ?? ""}`}
        onInput={(event) => go(Number(event.currentTarget.value))}
      />
      <span class="number soft path-place">
        {at === last ? `${moments.length} versions` : `${at + 1} of ${moments.length}`}
      </span>
    </>
  );
}

/** Changes that are told in one line. */
const maxChanges = 4;

/** How far the plan is, and what changed last. */
function Summary({
  plan,
  subtasks,
  moment,
}: {
  plan: Plan;
  subtasks: readonly Subtask[];
  moment: PlanMoment;
}) {
  const counts = new Map<string, number>();
  for (const { status } of subtasks) counts.set(status, (counts.get(status) ?? 0) + 1);
  const more = moment.changes.length - maxChanges;
  return (
    <div class="plan-summary">
      <span class="row">
        {[...counts].map(([status, count]) => (
          <Badge key={status} status={`${count} ${status}`} tone={toneOf(status)} />
        ))}
        <span class="faint number">
          longest path {formatDuration(plan.critical_ms)}
          {plan.depth > 0 && `, ${plan.depth + 1} plans`}
        </span>
        {plan.criteria_met !== null && (
          <span class={plan.criteria_met ? "faint" : "bad-text"}>
            {plan.criteria_met ? "criteria met" : "criteria not met"}
          </span>
        )}
      </span>
      <span class="soft plan-change" role="status">
        {moment.at !== null && (
          <span class="faint number">{new Date(moment.at).toLocaleTimeString()} </span>
        )}
        {moment.changes.slice(0, maxChanges).join(", ")}
        {more > 0 && ` and ${more} more`}
      </span>
      {plan.gaps.length > 0 && <span class="soft">Gaps: {plan.gaps.slice(0, 5).join("; ")}</span>}
    </div>
  );
}

function statusOf({ is_waiting: isWaiting, status }: Subtask): string {
  return isWaiting ? "waiting" : status;
}

function PlanGraph({
  subtasks,
  selected,
  hrefOf,
}: {
  subtasks: readonly Subtask[];
  selected: string | null;
  hrefOf: (id: string) => string;
}) {
  const ended = new Set(subtasks.filter(({ status }) => status === "done").map(({ id }) => id));
  return (
    <Graph
      label="Subtasks and what they stand on"
      direction="right"
      nodes={subtasks.map((subtask) => ({
        id: subtask.id,
        label: subtask.id,
        detail: [statusOf(subtask), tookOf(subtask)].filter((one) => one !== "").join(" · "),
        tone: toneOf(statusOf(subtask)),
      }))}
      edges={subtasks.flatMap(({ id, dependencies }) =>
        // An edge is taken once a result has gone along it.
        dependencies.map((from) => ({ from, to: id, taken: ended.has(from) ? 1 : 0 })),
      )}
      selected={selected}
      hrefOf={({ id }) => hrefOf(id)}
    />
  );
}

function tookOf({ started_at: start, ended_at: end }: Subtask): string {
  return start === null || end === null ? "" : formatDuration(Date.parse(end) - Date.parse(start));
}

function SubtaskList({
  subtasks,
  moment,
  selected,
  hrefOf,
}: {
  subtasks: readonly Subtask[];
  moment: PlanMoment;
  selected: string | undefined;
  hrefOf: (id: string) => string;
}) {
  return (
    <VirtualList
      label="Subtasks"
      items={subtasks}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => hrefOf(id)}
      isSelected={({ id }) => id === selected}
      columns={
        selected === undefined
          ? "minmax(6rem, 10rem) minmax(8rem, 1fr) minmax(5rem, 8rem) 6.5rem 5rem 5rem"
          : "minmax(5rem, 8rem) minmax(0, 1fr) 6.5rem"
      }
      narrowColumns="minmax(0, 1fr) 6.5rem"
      head={
        <>
          <span>Subtask</span>
          <span class="wide-only">Work</span>
          <span class="wide-only unless-open">Worker</span>
          <span>Status</span>
          <span class="end wide-only unless-open">Attempts</span>
          <span class="end wide-only unless-open">Time</span>
        </>
      }
      row={(subtask) => (
        <>
          <span class={moment.changed.has(subtask.id) ? "mono truncate changed" : "mono truncate"}>
            {subtask.id}
          </span>
          <span class="truncate soft wide-only" dir="auto">
            {subtask.description}
          </span>
          <span class="truncate wide-only unless-open">{subtask.worker}</span>
          <span>
            <Badge status={statusOf(subtask)} />
          </span>
          <span class="number end wide-only unless-open">{subtask.attempts}</span>
          <span class="number end wide-only unless-open">{tookOf(subtask) || "–"}</span>
        </>
      )}
    />
  );
}
