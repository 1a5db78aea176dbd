import { Badge } from "../../components/badge.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { formatDuration } from "../../components/format.ts";
import { JsonTree } from "../../components/json-tree.tsx";

interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  readonly reason: string;
  /** Why it could not run; empty if it could. */
  readonly problem: string;
  readonly mendedFrom: string;
  /** Null while it has no result. */
  readonly outcome: string | null;
  readonly result: unknown;
  readonly error: string | null;
  readonly ms: number;
  readonly retries: number;
  readonly recovered: string;
  readonly asked: number;
  readonly notes: readonly (readonly [string, string])[];
}

/** The tool calls of a step: what went in, what came out, and how each ended. */
export function StepCalls({ record }: { record: Readonly<Record<string, unknown>> }) {
  const calls = callsOf(record);
  if (calls.length === 0) return null;
  const isConcurrent = record["concurrent_execution"] === true && calls.length > 1;
  return (
    <section class="step-part">
      <h3>
        {calls.length === 1 ? "Call" : `${calls.length} calls`}
        {isConcurrent && <span class="faint"> that ran concurrently</span>}
      </h3>
      {calls.map((call) => (
        <CallPart key={call.id} call={call} />
      ))}
    </section>
  );
}

function CallPart({ call }: { call: Call }) {
  const { name, outcome, retries, recovered, asked } = call;
  const facts = [
    outcome === null ? "" : formatDuration(call.ms),
    retries === 0 ? "" : `${retries} ${retries === 1 ? "retry" : "retries"}`,
    recovered === "" ? "" : `${recovered} after an interruption`,
    asked === 0 ? "" : `asked people ${asked} ${asked === 1 ? "time" : "times"}`,
  ].filter((one) => one !== "");
  return (
    <article class="call-part" aria-label={`Call of ${name}`}>
      <header class="row">
        <strong class="mono">{name}</strong>
        <Badge status={outcome ?? "running"} />
        <span class="faint number">{facts.join(" · ")}</span>
      </header>
      {call.reason !== "" && (
        <p class="soft" dir="auto">
          {call.reason}
        </p>
      )}
      {call.error !== null && <Text title="Error" text={call.error} isBad />}
      {call.problem !== "" && <Text title="Cannot run" text={call.problem} isBad />}
      <Value title="In" value={call.args} />
      {call.mendedFrom !== "" && <Text title="Mended from" text={call.mendedFrom} />}
      {(call.result !== null && call.result !== undefined) || call.error === null
        ? outcome !== null && <Value title="Out" value={call.result} />
        : null}
      {call.notes.map(([title, text]) => (
        <Text key={title} title={title} text={text} />
      ))}
    </article>
  );
}

function Value({ title, value }: { title: string; value: unknown }) {
  return (
    <div class="call-value">
      <span class="call-title">
        {title}
        <CopyButton
          text={() => (typeof value === "string" ? value : JSON.stringify(value, null, 2))}
          label={`Copy ${title.toLowerCase()}`}
          isIcon
        />
      </span>
      <JsonTree value={value} open={2} />
    </div>
  );
}

function Text({ title, text, isBad = false }: { title: string; text: string; isBad?: boolean }) {
  return (
    <div class="call-value">
      <span class="call-title">{title}</span>
      <pre class={isBad ? "plain-text bad-text" : "plain-text"} dir="auto">
        {text}
      </pre>
    </div>
  );
}

/** Returns the calls of a record in their order, with their results. Records of tampered states may have any shape. */
function callsOf(record: Readonly<Record<string, unknown>>): readonly Call[] {
  const results = new Map(
    objectsOf(record["tool_results"]).map((result) => [String(result["id"]), result]),
  );
  const asked = objectsOf(record["tool_predictions"]);
  const ids = new Set(asked.map(({ id }) => String(id)));
  const others = [...results].filter(([id]) => !ids.has(id)).map(([, result]) => result);
  // Without a reason of its own, a call has the thought in one line.
  const { thought } = record;
  const line = typeof thought === "string" ? inOneLine(thought) : "";
  return [...asked, ...others].map((call) => callOf(call, results.get(String(call["id"])), line));
}

function callOf(
  call: Readonly<Record<string, unknown>>,
  result: Readonly<Record<string, unknown>> | undefined,
  thought: string,
): Call {
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  const count = (value: unknown) => (typeof value === "number" ? value : 0);
  const notes = ["insights", "learning", "relevance", "warning"].map(
    (name) => [name[0]!.toUpperCase() + name.slice(1), text(result?.[name])] as const,
  );
  return {
    id: text(call["id"]),
    name: text(call["name"]),
    args: call["args"],
    reason: inOneLine(text(call["reason"])) === thought ? "" : text(call["reason"]),
    problem: text(call["problem"]),
    mendedFrom: text(call["mended_from"]),
    outcome: result === undefined ? null : text(result["outcome"]),
    result: result?.["result"],
    error: typeof result?.["error"] === "string" ? result["error"] : null,
    ms: count(result?.["execution_time_ms"]),
    retries: count(result?.["retries"]),
    recovered: text(result?.["recovered"]),
    asked: count(result?.["asked"]),
    notes: notes.filter(([, note]) => note !== ""),
  };
}

function objectsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!Array.isArray(value)) return [];
  return value.filter((one) => typeof one === "object" && one !== null);
}

function inOneLine(text: string): string {
  const lines = text.split(/[\r\n\u2028\u2029]/).map((line) => line.trim());
  return lines.filter((line) => line !== "").join(" ");
}
