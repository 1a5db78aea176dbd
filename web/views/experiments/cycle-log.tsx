import { api, bodyOf } from "../../api/client.ts";
import { useGrowingList } from "../../api/growing-list.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge } from "../../components/badge.tsx";
import { formatCost, formatDuration } from "../../components/format.ts";
import { JsonTree } from "../../components/json-tree.tsx";
import { Failure, Loading } from "../../components/states.tsx";
import { formatCounted, formatFigure } from "./figures.ts";
import type { Run } from "./report-data.ts";

type Entry = components["schemas"]["ExperimentLogEntry"];
type Invocation = Extract<Entry, { event_type: "LLM_INVOCATION" }>["payload"];
type Message = Invocation["prompt_messages"][number];
type ToolCall = Extract<Entry, { event_type: "TOOL_CALL" }>["payload"];

/** What a run logged in one cycle: each reply with its prompt, each call, and the reflection. */
export function CycleLog({
  experimentId,
  run,
  cycle,
}: {
  experimentId: string;
  run: Run;
  /** From 1. */
  cycle: number;
}) {
  const log = useGrowingList<Entry>(`experiment-cycle ${experimentId} ${run.run_id} ${cycle}`, {
    async load(cursor, signal) {
      const path = { experiment_id: experimentId, run_id: run.run_id, cycle_number: cycle };
      const params = { path, query: { ...(cursor !== null && { cursor }) } };
      const route = "/v1/experiments/{experiment_id}/runs/{run_id}/cycles/{cycle_number}";
      const body = await bodyOf(api.GET(route, { params, signal }));
      return { items: body.entries, next: body.next_cursor };
    },
    cursorOf: () => null,
    refreshOn: () => false,
  });
  return (
    <>
      {log.error !== null && <Failure error={log.error} retry={log.reload} />}
      {log.items === null ? (
        log.error === null && <Loading lines={8} />
      ) : (
        <ol class="logged" aria-label={`Log of cycle ${cycle}`}>
          {log.items.map((entry, index) => (
            <li key={index}>
              <LoggedEntry entry={entry} />
            </li>
          ))}
        </ol>
      )}
      {log.items !== null && !log.isWhole && log.error === null && <Loading lines={3} />}
    </>
  );
}

function LoggedEntry({ entry }: { entry: Entry }) {
  switch (entry.event_type) {
    case "CYCLE_START":
      return <Begun keys={entry.payload.memory_keys} />;
    case "LLM_INVOCATION":
      return <Reply payload={entry.payload} />;
    case "TOOL_CALL":
      return <Call payload={entry.payload} />;
    case "CYCLE_END":
      return (
        <div class="card">
          <header>
            <h3>Reflection</h3>
          </header>
          <p class="content text" dir="auto">
            {entry.payload.final_reflection}
          </p>
        </div>
      );
  }
}

function Begun({ keys }: { keys: readonly string[] }) {
  return (
    <p class="soft">
      {keys.length === 0
        ? "The cycle begins with an empty memory."
        : `The cycle begins with ${formatCounted(keys.length, "key")} in memory.`}
      {keys.length > 0 && (
        <details>
          <summary>Keys</summary>
          <p class="code">{keys.join("\n")}</p>
        </details>
      )}
    </p>
  );
}

function Reply({ payload }: { payload: Invocation }) {
  const { prompt_messages: prompt, response_message: response, usage, reasoning } = payload;
  const calls = response.tool_calls ?? [];
  const facts = [
    usage === undefined
      ? null
      : `${formatFigure(usage.tokens_in)} tokens in, ${formatFigure(usage.tokens_out)} out`,
    usage === undefined || usage.cost_usd === null ? null : formatCost(usage.cost_usd),
    payload.latency_ms === undefined ? null : formatDuration(payload.latency_ms),
  ].filter((fact) => fact !== null);
  return (
    <div class="card">
      <header>
        <h3>Model reply</h3>
        <span class="faint">{facts.join(" · ")}</span>
        {payload.finish_reason === "length" && <Badge status="cut off" tone="bad" />}
      </header>
      <div class="content stack">
        {reasoning !== undefined && (
          <details>
            <summary>Reasoning</summary>
            <p class="code" dir="auto">
              {reasoning}
            </p>
          </details>
        )}
        {response.content !== "" && (
          <p class="text" dir="auto">
            {response.content}
          </p>
        )}
        {calls.length > 0 && (
          <p class="soft">Asks for {calls.map(({ name }) => name).join(", ")}</p>
        )}
        <details>
          <summary>Prompt of {formatCounted(prompt.length, "message")}</summary>
          {prompt.map((message, index) => (
            <PromptMessage key={index} message={message} />
          ))}
        </details>
      </div>
    </div>
  );
}

function PromptMessage({ message }: { message: Message }) {
  return (
    <div>
      <strong>{message.role}</strong>
      <p class="code" dir="auto">
        {message.content}
      </p>
      {message.tool_calls !== undefined && <JsonTree value={message.tool_calls} />}
    </div>
  );
}

function Call({ payload }: { payload: ToolCall }) {
  const { tool_name: tool, parameters, output } = payload;
  const isFailed = Object(output).error !== undefined && Object(output).error !== null;
  return (
    <div class="card">
      <header>
        <h3>
          <code>{tool}</code>
        </h3>
        {isFailed && <Badge status="failed" />}
      </header>
      <div class="content stack">
        <div>
          <span class="faint">Parameters</span>
          <JsonTree value={parameters} />
        </div>
        <div>
          <span class="faint">{isFailed ? "Error" : "Output"}</span>
          <JsonTree value={output} open={2} />
        </div>
      </div>
    </div>
  );
}
