import { useLocation } from "preact-iso";
import { Badge } from "../../components/badge.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { formatBytes, formatCost, formatCount, formatDuration } from "../../components/format.ts";
import { JsonTree } from "../../components/json-tree.tsx";
import { links } from "../../links.ts";
import { usePath } from "../thread/thread-data.ts";
import type { Plan, Subtask } from "./plan-moments.ts";

interface SubtaskDetailProps {
  readonly threadId: string;
  readonly plan: Plan;
  readonly subtask: Subtask;
  readonly subtasks: readonly Subtask[];
  readonly hrefOf: (id: string | undefined) => string;
}

/** A subtask: what is asked, of whom, on what it stands, and what came of it. */
export function SubtaskDetail({ threadId, plan, subtask, subtasks, hrefOf }: SubtaskDetailProps) {
  const { route } = useLocation();
  const { id, status, started_at: start, ended_at: end, error, result } = subtask;
  const followers = subtasks.filter(({ dependencies }) => dependencies.includes(id));
  const namespace = useNamespace(threadId, plan, id);
  const took = start === null || end === null ? null : Date.parse(end) - Date.parse(start);
  return (
    <section class="step-detail" aria-label={`Subtask ${id}`}>
      <header>
        <h2 class="mono truncate">{id}</h2>
        <Badge status={subtask.is_waiting ? "waiting" : status} />
        <span class="step-moves">
          <button
            type="button"
            class="button small plain"
            aria-label="Close (Esc)"
            title="Close (Esc)"
            onClick={() => route(hrefOf(undefined), true)}
          >
            ×
          </button>
        </span>
      </header>
      <div class="step-content">
        <p dir="auto">{subtask.description}</p>
        {error !== null && (
          <div class="notice bad">
            <strong>{error.message}</strong>
            <code>{error.code}</code>
          </div>
        )}
        <dl class="facts">
          <dt>Worker</dt>
          <dd>{subtask.worker}</dd>
          <dt>Attempts</dt>
          <dd class="number">{subtask.attempts}</dd>
          <dt>Time</dt>
          <dd class="number">
            {formatDuration(took)}
            {start !== null && <span class="faint"> from {new Date(start).toLocaleString()}</span>}
          </dd>
          <dt>Tokens</dt>
          <dd class="number">
            {formatCount(subtask.tokens_in)} in · {formatCount(subtask.tokens_out)} out ·{" "}
            {formatCost(subtask.cost_usd)}
          </dd>
          <dt>Plan</dt>
          <dd>
            {subtask.depth === 0 ? "The first one" : `Plan ${subtask.depth + 1}, for gaps`}
            {subtask.is_critical && ", on the longest path"}
          </dd>
          <dt>Stands on</dt>
          <dd>
            <Ids ids={subtask.dependencies} hrefOf={hrefOf} />
          </dd>
          <dt>Needed by</dt>
          <dd>
            <Ids ids={followers.map((one) => one.id)} hrefOf={hrefOf} />
          </dd>
        </dl>
        {namespace !== null && (
          <div class="row">
            <a class="button small" href={links.thread(threadId, { namespace })}>
              Show its steps
            </a>
          </div>
        )}
        {result !== null && result !== undefined && (
          <section class="step-part">
            <h3>
              Result <span class="faint">{formatBytes(subtask.result_bytes)}</span>{" "}
              <CopyButton
                text={() => (typeof result === "string" ? result : JSON.stringify(result, null, 2))}
                label="Copy result"
                isIcon
              />
            </h3>
            <JsonTree value={result} open={2} />
          </section>
        )}
      </div>
    </section>
  );
}

function Ids({
  ids,
  hrefOf,
}: {
  ids: readonly string[];
  hrefOf: (id: string | undefined) => string;
}) {
  if (ids.length === 0) return <span class="faint">nothing</span>;
  return (
    <span class="row">
      {ids.map((id) => (
        <a key={id} class="mono" href={hrefOf(id)}>
          {id}
        </a>
      ))}
    </span>
  );
}

/** Returns the namespace of the agent that worked on a subtask last; null if it was no agent, or has not begun. */
function useNamespace(threadId: string, { within, node }: Plan, id: string): string | null {
  const path = usePath(threadId);
  const around = JSON.stringify(
    [...within, node].filter((one) => one !== "").concat("execute", id),
  );
  const found = path.items?.findLast((entry) => JSON.stringify(entry.within) === around);
  return found?.namespace ?? null;
}
