import { useLocation } from "preact-iso";
import { useEffect } from "preact/hooks";
import { Badge } from "../../components/badge.tsx";
import { formatCost, formatCount, formatDuration } from "../../components/format.ts";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Empty, Failure, Loading } from "../../components/states.tsx";
import { toneOf } from "../../components/tone.ts";
import { VirtualList } from "../../components/virtual-list.tsx";
import { links } from "../../links.ts";
import { useChannel } from "../checkpoints/stored-state.ts";
import { LiveLine } from "./live-line.tsx";
import { StepDetail } from "./step-detail.tsx";
import {
  failedStep,
  filterSteps,
  firstLine,
  outcomeOf,
  outcomes,
  type StepFilter,
  type StepRow,
  stepRows,
} from "./step-rows.ts";
import { usePath, useSteps } from "./thread-data.ts";
import { isOpenRun, type PathEntry, type Run, type Step, type Thread } from "./thread-records.ts";

/** The steps of a thread as a list, with the detail of the one that is selected. */
export function StepsTab({ thread, runs }: { thread: Thread; runs: readonly Run[] }) {
  const threadId = thread.thread_id;
  const { query, route } = useLocation();
  const { namespace = "", step: selected } = query;
  const steps = useSteps(threadId, namespace);
  const path = usePath(threadId);
  const filter: StepFilter = {
    turn: query["turn"] ?? "",
    attempt: query["attempt"] ?? "",
    node: query["node"] ?? "",
    outcome: query["outcome"] ?? "",
    text: query["q"] ?? "",
  };
  const all = steps.items ?? [];
  const found = filterSteps(all, filter);
  const hrefOf = (id: string | undefined) => links.thread(threadId, { ...query, step: id });
  const at = found.findIndex(({ id }) => id === selected);
  const go = (index: number) => {
    const step = found[Math.min(found.length - 1, Math.max(0, index))];
    if (step !== undefined) route(hrefOf(step.id), true);
  };
  useEffect(() => {
    const step = selected === "failed" && steps.isWhole ? failedStep(all) : undefined;
    if (step !== undefined) route(hrefOf(step.id), true);
  }, [selected, steps.isWhole]);
  useShortcuts("Steps", [
    { keys: "j", does: "Next step", run: () => go(at + 1) },
    { keys: "k", does: "Previous step", run: () => go(at === -1 ? found.length - 1 : at - 1) },
    { keys: "Escape", does: "Close the step", run: () => route(hrefOf(undefined), true) },
  ]);
  const running = runs.find(isOpenRun);
  const isOpen = selected !== undefined && selected !== "failed";
  const step = all.find(({ id }) => id === selected);
  return (
    <div class={isOpen ? "thread-steps open" : "thread-steps"}>
      <section class="thread-list" aria-label="Steps">
        <Filters threadId={threadId} steps={all} path={path.items ?? []} />
        {steps.error !== null && <Failure error={steps.error} retry={steps.reload} />}
        {steps.items === null ? (
          steps.error === null && <Loading lines={10} />
        ) : found.length === 0 ? (
          <NoSteps
            threadId={threadId}
            all={all}
            path={path.items ?? []}
            isRunning={running !== undefined}
          />
        ) : (
          <VirtualList
            label="Steps"
            items={stepRows(found, { all, hasFailed: thread.status === "FAILED" })}
            keyOf={({ key }) => key}
            hrefOf={(row) => (row.kind === "step" ? hrefOf(row.step.id) : null)}
            isSelected={(row) => row.kind === "step" && row.step.id === selected}
            columns={
              isOpen
                ? "3rem minmax(4rem, 7rem) minmax(0, 1fr) 4.5rem"
                : "3rem minmax(5rem, 8rem) minmax(8rem, 1fr) 4.5rem 4.5rem 4.5rem"
            }
            narrowColumns="3rem minmax(0, 1fr) 4.5rem"
            sticksToEnd={running !== undefined && selected === undefined}
            head={
              <>
                <span>Step</span>
                <span class="wide-only">Node</span>
                <span>Thought and calls</span>
                <span class="end wide-only unless-open">Tokens</span>
                <span class="end wide-only unless-open">Cost</span>
                <span class="end">Time</span>
              </>
            }
            row={(row) => (
              <Row row={row} threadId={threadId} namespace={namespace} path={path.items ?? []} />
            )}
          />
        )}
        {running !== undefined && <LiveLine run={running} />}
      </section>
      {isOpen && (
        <StepDetail
          threadId={threadId}
          namespace={namespace}
          id={selected}
          step={step}
          path={path.items ?? []}
          runs={runs}
          previous={at > 0 ? hrefOf(found[at - 1]?.id) : null}
          next={at !== -1 && at < found.length - 1 ? hrefOf(found[at + 1]?.id) : null}
          close={hrefOf(undefined)}
        />
      )}
    </div>
  );
}

interface RowProps {
  readonly row: StepRow;
  readonly threadId: string;
  readonly namespace: string;
  readonly path: readonly PathEntry[];
}

function Row({ row, ...of }: RowProps) {
  return row.kind === "attempt" ? (
    <AttemptHeading row={row} {...of} />
  ) : (
    <StepCells step={row.step} />
  );
}

function StepCells({ step }: { step: Step }) {
  const outcome = outcomeOf(step);
  const line = firstLine(step.thought);
  const shown = step.calls.slice(0, 3);
  return (
    <>
      <span class={`number step-id ${outcome}`}>{step.id}</span>
      <span class="truncate soft wide-only">{step.node}</span>
      <span class="step-text">
        {step.problem !== "" && <span class="call bad">refused</span>}
        {shown.map(({ id, tool, outcome: ended, retries }) => (
          <span key={id} class={`call ${ended === null ? "live" : toneOf(ended)}`}>
            <span class="truncate">{tool}</span>
            {ended !== null && ended !== "success" && <b>{ended}</b>}
            {retries > 0 && <span class="number">↻{retries}</span>}
          </span>
        ))}
        {step.calls.length > shown.length && (
          <span class="faint">+{step.calls.length - shown.length}</span>
        )}
        <span class="truncate" dir="auto">
          {line === "" ? <span class="faint">{shown.length === 0 ? "–" : ""}</span> : line}
        </span>
      </span>
      <span class="number end wide-only unless-open">
        {formatCount(step.tokens_in + step.tokens_out)}
      </span>
      <span class="number end wide-only unless-open">{formatCost(step.cost_usd)}</span>
      <span class="number end">
        {step.is_open ? <Badge status="running" /> : formatDuration(step.duration_ms)}
      </span>
    </>
  );
}

function AttemptHeading({
  row,
  threadId,
  namespace,
  path,
}: Omit<RowProps, "row"> & { row: StepRow & { kind: "attempt" } }) {
  const reasons = useFailedAttempt(row, { threadId, namespace, path });
  return (
    <span class="attempt-heading">
      <strong>
        Turn {row.turn}
        {(row.attempt > 0 || row.hasFailed) && `, attempt ${row.attempt}`}
      </strong>
      {row.hasFailed && <Badge status="failed" />}
      {reasons !== null && (
        <span class="truncate bad-text" title={reasons}>
          {reasons}
        </span>
      )}
      <span class="faint number attempt-sum">
        {row.steps} {row.steps === 1 ? "step" : "steps"} · {formatCount(row.tokens)} tokens ·{" "}
        {formatDuration(row.ms)}
      </span>
    </span>
  );
}

/** Why an attempt has failed, as the turn's bookkeeping has it at its end. */
function useFailedAttempt(
  { hasFailed, turn, attempt }: StepRow & { kind: "attempt" },
  { threadId, namespace, path }: Omit<RowProps, "row">,
): string | null {
  const end = path.findLast(
    (entry) => entry.namespace === "" && entry.turn === turn && entry.checkpoint_id !== null,
  );
  const isKnown = hasFailed && namespace === "" && end !== undefined;
  const { data } = useChannel(threadId, isKnown ? end.checkpoint_id : null, "turn");
  const { failed_attempts: failed } = Object(data?.value) as {
    failed_attempts?: readonly { attempt_number: number; errors: readonly string[] }[];
  };
  const errors = failed?.find((one) => one.attempt_number === attempt)?.errors ?? [];
  return errors.length === 0 ? null : errors.join(" · ");
}

/** What the list is filtered by. All of it is in the address. */
function Filters({
  threadId,
  steps,
  path,
}: {
  threadId: string;
  steps: readonly Step[];
  path: readonly PathEntry[];
}) {
  const { query, route } = useLocation();
  const set = (name: string, value: string) =>
    route(links.thread(threadId, { ...query, [name]: value }), true);
  const unique = (of: (step: Step) => string | number) => [...new Set(steps.map(of))].map(String);
  const agents = new Map(path.map(({ namespace, within }) => [namespace, within.join(" › ")]));
  const { namespace = "" } = query;
  return (
    <div class="toolbar">
      <input
        class="input grow"
        type="search"
        aria-label="Search the steps"
        placeholder="Search thoughts, tools, errors"
        value={query["q"] ?? ""}
        onInput={(event) => set("q", event.currentTarget.value)}
      />
      {agents.size > 1 && (
        <Choice
          label="Agent"
          all="The thread itself"
          value={namespace}
          options={[...agents]
            .filter(([id]) => id !== "")
            .map(([value, name]) => ({ value, name }))}
          onChange={(value) => {
            route(links.thread(threadId, { namespace: value }));
          }}
        />
      )}
      <Choice
        label="Turn"
        all="All turns"
        value={query["turn"] ?? ""}
        options={named(
          unique((step) => step.turn),
          "Turn ",
        )}
        onChange={(value) => set("turn", value)}
      />
      <Choice
        label="Attempt"
        all="All attempts"
        value={query["attempt"] ?? ""}
        options={named(
          unique((step) => step.attempt),
          "Attempt ",
        )}
        onChange={(value) => set("attempt", value)}
      />
      <Choice
        label="Node"
        all="All nodes"
        value={query["node"] ?? ""}
        options={named(unique((step) => step.node))}
        onChange={(value) => set("node", value)}
      />
      <Choice
        label="Outcome"
        all="Every outcome"
        value={query["outcome"] ?? ""}
        options={named(outcomes)}
        isAlways
        onChange={(value) => set("outcome", value)}
      />
    </div>
  );
}

function named(values: readonly string[], before = "") {
  return values.map((value) => ({ value, name: `${before}${value}` }));
}

interface ChoiceProps {
  readonly label: string;
  readonly all: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly name: string }[];
  readonly onChange: (value: string) => void;
  /** Whether it is shown with a single option. Default false. */
  readonly isAlways?: boolean;
}

function Choice({ label, all, value, options, onChange, isAlways = false }: ChoiceProps) {
  if (options.length < 2 && value === "" && !isAlways && label !== "Agent") return null;
  return (
    <select
      class="input"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      <option value="">{all}</option>
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.name}
        </option>
      ))}
    </select>
  );
}

function NoSteps({
  threadId,
  all,
  path,
  isRunning,
}: {
  threadId: string;
  all: readonly Step[];
  path: readonly PathEntry[];
  isRunning: boolean;
}) {
  const { query } = useLocation();
  const { namespace, step } = query;
  if (all.length > 0)
    return (
      <Empty title="No step fits the filter">
        <a class="button" href={links.thread(threadId, { namespace, step })}>
          Show all steps
        </a>
      </Empty>
    );
  const nested = path.find((entry) => entry.namespace !== "");
  return (
    <Empty title={isRunning ? "No steps yet" : "The agent itself made no steps"}>
      {isRunning ? (
        <p>The first one appears when the model has answered.</p>
      ) : nested === undefined ? (
        <p>
          Nodes without a model or a tool leave no steps. The{" "}
          <a href={links.graph(threadId)}>graph</a> shows what ran.
        </p>
      ) : (
        <p>
          Agents within it did: choose one above, or look at the{" "}
          <a href={links.timeline(threadId)}>timeline</a>.
        </p>
      )}
    </Empty>
  );
}
