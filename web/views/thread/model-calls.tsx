import { api, bodyOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge } from "../../components/badge.tsx";
import { formatCost, formatCount, formatDuration } from "../../components/format.ts";
import { JsonTree } from "../../components/json-tree.tsx";
import { Show } from "../../components/states.tsx";
import type { Run, Step } from "./thread-records.ts";

type ModelCall = components["schemas"]["ModelCall"];

/** Pages that are read to find the calls of a step: a run lists its calls by time only. */
const maxPages = 50;

/** The requests to models of a step, failed ones and retries included. */
export function ModelCalls({ step, runs }: { step: Step; runs: readonly Run[] }) {
  const began = Date.parse(step.started_at);
  const run = runs.find(
    ({ started_at: start, created_at: created, agent_id: id }) =>
      id !== null && Date.parse(start ?? created) <= began,
  );
  const key = run === undefined ? null : `calls ${run.run_id} ${step.id} ${step.llm_calls}`;
  const loaded = useQuery(key, (signal) => callsOf(step, run!, signal));
  if (run === undefined)
    return <p class="faint">The run of this step is not among the newest 100.</p>;
  return (
    <Show loaded={loaded}>
      {(calls) =>
        calls.length === 0 ? (
          <p class="faint">No calls are recorded for this step.</p>
        ) : (
          calls.map((call) => <CallPart key={call.id} call={call} />)
        )
      }
    </Show>
  );
}

async function callsOf(step: Step, run: Run, signal: AbortSignal): Promise<readonly ModelCall[]> {
  const found: ModelCall[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < maxPages; page++) {
    const { calls, next_cursor: next }: { calls: ModelCall[]; next_cursor: string | null } =
      await bodyOf(
        api.GET("/v1/agents/{agent_id}/runs/{run_id}/calls", {
          params: {
            path: { agent_id: run.agent_id ?? "", run_id: run.run_id },
            query: { limit: 100, whole: "true", ...(cursor !== null && { cursor }) },
          },
          signal,
        }),
      );
    found.push(...calls.filter((call) => call.turn === step.turn && call.step === step.step));
    const last = calls.at(-1);
    const isPast =
      last !== undefined && last.turn === step.turn && (last.step ?? 0) > step.step + 20;
    if (next === null || isPast) break;
    cursor = next;
  }
  return found;
}

function CallPart({ call }: { call: ModelCall }) {
  return (
    <article class="call-part" aria-label={`Request to ${call.model}`}>
      <header class="row">
        <strong class="mono">{call.model}</strong>
        {call.finish_reason !== null && (
          <Badge
            status={call.finish_reason}
            tone={call.finish_reason === "stop" ? "good" : "bad"}
          />
        )}
        <span class="faint number">
          {call.purpose} · {formatCount(call.tokens_in)} in, {formatCount(call.tokens_out)} out ·{" "}
          {formatCost(call.cost_usd)} · {formatDuration(call.latency_ms)}
          {call.first_token_ms !== null && `, first token ${formatDuration(call.first_token_ms)}`}
          {call.attempt > 1 && ` · attempt ${call.attempt}`}
        </span>
      </header>
      <div class="call-value">
        <span class="call-title">Request</span>
        <JsonTree value={call.messages ?? null} open={1} />
      </div>
      <div class="call-value">
        <span class="call-title">Response</span>
        <JsonTree value={call.response ?? null} open={2} />
      </div>
    </article>
  );
}
