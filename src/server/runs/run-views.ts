import type { RunRequest, RunResult } from "../../engine/run-request.ts";
import type { PendingRequest } from "../../state/human-request.ts";
import type { Run, RunSummary } from "../../storage/platform/runs/runs.ts";
import { toJson } from "../../values/bounded-json.ts";
import type { TurnResultBody } from "./schemas.ts";

export function runPath(agentId: string, runId: string): string {
  return `/v1/agents/${encodeURIComponent(agentId)}/runs/${runId}`;
}

export function requestOf({ request }: Pick<Run, "request">): RunRequest {
  return request as unknown as RunRequest;
}

/** How the last turn of a run ended. Null until then. */
export function resultOf({ result }: Pick<Run, "result">): RunResult | null {
  return result as unknown as RunResult | null;
}

export function turnBodyOf(runId: string, result: RunResult): TurnResultBody {
  const { turn_id, usage, checkpoint_id, output: value, ...rest } = result;
  const { message, tool_calls, requests, waits, status, cause, incomplete } = rest;
  return {
    turn_id,
    run_id: runId,
    output: {
      message,
      value,
      tool_calls: tool_calls.map((call) => ({ ...call })),
      requests: requests
        .filter(({ kind }) => kind !== "tool_calls")
        .map((request) => ({ ...request })),
      ...(waits && { waits: waits.map(waitOf) }),
      status,
      cause,
      incomplete,
    },
    usage: { ...usage },
    checkpoint_id,
  };
}

/** What a wait node waits for. */
function waitOf({ id, node, prompt, event, schema, expires_at }: PendingRequest) {
  // A wait for a time takes no payload.
  const taken = event === undefined ? {} : schema;
  return { id, node, prompt, event: event ?? null, schema: taken, expires_at };
}

export function queuedBodyOf(run: Run, path: string) {
  const { id: run_id, threadId: thread_id, state: status } = run;
  return { run_id, thread_id, turn_id: requestOf(run).turn_id, status, links: linksOf(path) };
}

export function summaryOf(run: RunSummary, agentId: string) {
  return {
    run_id: run.id,
    agent_id: agentId,
    thread_id: run.threadId,
    status: run.state,
    kind: run.kind,
    priority: run.priority,
    run_at: run.runAt,
    attempts: run.attempts,
    last_event: run.lastEvent,
    metadata: run.metadata,
    created_at: run.createdAt,
    started_at: run.startedAt,
    ended_at: run.endedAt,
    cancel_requested_at: run.cancelRequestedAt,
  };
}

export function runBodyOf(run: Run, agentId: string) {
  const result = resultOf(run);
  return {
    ...summaryOf(run, agentId),
    turn_id: requestOf(run).turn_id,
    result: result && turnBodyOf(run.id, result),
    cause: result?.cause ?? null,
    links: linksOf(runPath(agentId, run.id)),
  };
}

/** UTF-8 bytes of JSON of a proposal, a prompt and a schema in the list of requests. */
const maxListedBytes = 65_536;

/** Where a listed item belongs. */
export interface RunPlace {
  readonly run_id: string;
  readonly agent_id: string;
  readonly thread_id: string;
}

/** A wait in a list, without a schema that is large. */
export function listedWaitOf(request: PendingRequest, of: RunPlace) {
  const wait = waitOf(request);
  const { whole } = toJson(wait.schema, maxListedBytes);
  return { ...of, ...wait, schema: whole ? wait.schema : {} };
}

/** A request to people in a list, which shows the beginning of what is proposed. */
export function listedRequestOf(request: PendingRequest, of: RunPlace) {
  const { id, kind, node, prompt, proposed, schema, expires_at, hash } = request;
  const bounded = [proposed, prompt, schema].map((value) => toJson(value, maxListedBytes));
  const [shown, text, form] = bounded;
  const isWhole = bounded.every(({ whole }) => whole);
  return {
    ...of,
    id,
    kind,
    node,
    prompt: text?.value,
    proposed: shown?.value,
    schema: form?.whole === true ? schema : {},
    expires_at,
    ...(hash !== undefined && { hash }),
    ...(!isWhole && { truncated: true }),
  };
}

function linksOf(self: string) {
  const [events, turns, cancel] = [`${self}/events`, `${self}/turns`, `${self}/cancel`];
  return { self, events, turns, cancel };
}
