import { z } from "zod";
import type { Run } from "../../storage/platform/runs/runs.ts";
import { checkScopes } from "../authenticate.ts";
import { pageAnswer, pageQuery, pageRequest, pageSchema } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { type Answer, defineRoute, eventStreamType, type Route } from "../route.ts";
import { EventStreams, type StreamCall } from "./event-streams.ts";
import { RunDesk } from "./run-desk.ts";
import { queuedBodyOf, runBodyOf, runPath, summaryOf, turnBodyOf } from "./run-views.ts";
import {
  agentParams,
  cancelledRun,
  maxRunBodyBytes,
  queuedRun,
  resumeBody,
  runParams,
  runSchema,
  runState,
  runSummary,
  startBody,
  threadId,
  turnBody,
  turnResult,
  waitLimitMs,
} from "./schemas.ts";

export interface RunRoutesOptions {
  /** Streams of events of one tenant at the same time. Default 1,000. */
  readonly maxStreams?: number;
}

const locationOfRun = { Location: "Path of the run." };
const locationOfEvents = { Location: "Path of the same events, from where the stream begins." };
const events = { schema: z.string(), mediaType: eventStreamType };
const lastEventId = "Number of the event after which the stream goes on. Goes before `after`.";
const base = "/v1/agents/{agent_id}/runs";
const one = `${base}/{run_id}`;

/** Creates the routes of runs, their turns, their events and what waits for people. */
export function runRoutes(api: ApiBase, options: RunRoutesOptions = {}): readonly Route[] {
  const { platform } = api;
  const desk = new RunDesk(api);
  const streams = new EventStreams(api, options.maxStreams ?? 1_000);

  /** The events of the turn that was just queued, whose first one is the next of the run. */
  const turnEvents = (call: StreamCall, run: Run, path: string): Response => {
    const { id: runId, lastEvent: after } = run;
    const headers = { Location: `${path}/events?after=${after}` };
    return streams.respond(call, { runId, after, until: "turn", headers });
  };
  const queuedAnswer = (run: Run, path: string): Answer => {
    return { status: 202, body: queuedBodyOf(run, path), headers: { Location: path } };
  };
  const turnAnswer = async (
    { closing }: StreamCall,
    run: Run,
    of: { readonly path: string; readonly timeout_s: number | undefined },
  ): Promise<Answer> => {
    const timeoutMs = (of.timeout_s ?? 300) * 1_000;
    const result = await desk.awaitEnd(run, { path: of.path, timeoutMs, closing });
    return { status: 200, body: turnBodyOf(run.id, result), headers: { Location: of.path } };
  };

  return [
    defineRoute({
      method: "post",
      path: base,
      operationId: "createRun",
      summary: "Queues a run of an agent, with its first turn.",
      description:
        "A thread that exists goes on. With `config.stream`, or `Accept: text/event-stream`, the answer is the run's events. A stream is not replayed for its Idempotency-Key: read the events at its `Location`.",
      tag: "runs",
      scopes: ["runs:write"],
      spends: true,
      params: agentParams,
      body: startBody,
      maxBodyBytes: maxRunBodyBytes,
      answers: {
        200: { description: "The events of the run.", ...events, headers: locationOfEvents },
        202: { description: "The run, queued.", schema: queuedRun, headers: locationOfRun },
      },
      problems: ["conflict", "invalid_definition"],
      async handle(call) {
        const { params, body, principal, request } = call;
        const isStream = body.config?.stream ?? prefersEvents(request);
        if (isStream) streams.check(principal);
        const run = await desk.start(principal, params.agent_id, body);
        const path = runPath(params.agent_id, run.id);
        return isStream ? turnEvents(call, run, path) : queuedAnswer(run, path);
      },
    }),
    defineRoute({
      method: "get",
      path: base,
      operationId: "listRuns",
      summary: "Lists the runs of an agent, newest first.",
      tag: "runs",
      scopes: ["runs:read"],
      params: agentParams,
      query: z.strictObject({
        ...pageQuery,
        status: runState.optional(),
        thread_id: threadId.optional(),
      }),
      answers: { 200: { description: "A page of runs.", schema: pageSchema("runs", runSummary) } },
      problems: ["invalid_cursor"],
      async handle({ params, query, principal, request }) {
        const { tenantId } = principal;
        const { agent_id: agentId } = params;
        // An unknown agent has no list.
        await platform.agents.versions(tenantId, agentId, { limit: 1 });
        const { status, thread_id: thread } = query;
        const page = await platform.runs.list(tenantId, {
          ...pageRequest(query),
          agentId,
          ...(status !== undefined && { state: status }),
          ...(thread !== undefined && { threadId: thread }),
        });
        return pageAnswer(request, page, { name: "runs", item: (run) => summaryOf(run, agentId) });
      },
    }),
    defineRoute({
      method: "get",
      path: one,
      operationId: "getRun",
      summary: "Reads a run, with how its last turn ended.",
      tag: "runs",
      scopes: ["runs:read"],
      params: runParams,
      answers: { 200: { description: "The run.", schema: runSchema } },
      handle: async ({ params, principal }) => ({
        status: 200,
        body: runBodyOf(await desk.find(principal, params), params.agent_id),
      }),
    }),
    defineRoute({
      method: "post",
      path: `${one}/cancel`,
      operationId: "cancelRun",
      summary: "Cancels a run. Twice is once.",
      description:
        "A run that is queued or waits ends at once, with its open turn. A running one is asked to end: its model and tool calls are aborted. An ended run stays as it is.",
      tag: "runs",
      scopes: ["runs:write"],
      params: runParams,
      answers: { 202: { description: "The run as it is now.", schema: cancelledRun } },
      problems: ["conflict"],
      async handle({ params, principal }) {
        const run = await desk.cancel(principal, await desk.find(principal, params));
        const { id: run_id, state: status, cancelRequestedAt: cancel_requested_at } = run;
        return { status: 202, body: { run_id, status, cancel_requested_at } };
      },
    }),
    defineRoute({
      method: "post",
      path: `${one}/turns`,
      operationId: "createTurn",
      summary: "Sends the next turn of a run, and waits for its end.",
      description:
        "With `input.tool_results` the open turn continues. A turn that failed or was cancelled is answered with 200 as well. After `config.timeout_s` the answer is 504, and the run goes on; the same request with its Idempotency-Key is not executed again.",
      tag: "runs",
      scopes: ["runs:write"],
      spends: true,
      params: runParams,
      body: turnBody,
      maxBodyBytes: maxRunBodyBytes,
      timeoutMs: waitLimitMs,
      answers: {
        200: { description: "How the turn ended.", schema: turnResult, headers: locationOfRun },
      },
      problems: ["conflict", "invalid_definition"],
      async handle(call) {
        const { params, body, principal } = call;
        const path = runPath(params.agent_id, params.run_id);
        const run = await desk.find(principal, params);
        const queued = await desk.nextTurn(principal, run, { path, body });
        return turnAnswer(call, queued, { path, timeout_s: body.config?.timeout_s });
      },
    }),
    defineRoute({
      method: "post",
      path: `${one}/turns/stream`,
      operationId: "streamTurn",
      summary: "Sends the next turn of a run, and answers with its events.",
      description:
        "The last event is `done`. A client that goes away cancels nothing. The stream is not replayed for its Idempotency-Key: read the events at its `Location`.",
      tag: "runs",
      scopes: ["runs:write"],
      spends: true,
      params: runParams,
      body: turnBody,
      maxBodyBytes: maxRunBodyBytes,
      answers: {
        200: { description: "The events of the turn.", ...events, headers: locationOfEvents },
      },
      problems: ["conflict", "invalid_definition"],
      async handle(call) {
        const { params, body, principal } = call;
        streams.check(principal);
        const path = runPath(params.agent_id, params.run_id);
        const run = await desk.find(principal, params);
        return turnEvents(call, await desk.nextTurn(principal, run, { path, body }), path);
      },
    }),
    defineRoute({
      method: "get",
      path: `${one}/events`,
      operationId: "followRun",
      summary: "Reads the events of a run as a stream.",
      description:
        "`id` is the number of an event in its run. The stream ends when the run is over or waits for an answer, and when the key is no longer valid. A comment is sent after 15 s without events.",
      tag: "runs",
      scopes: ["runs:read"],
      params: runParams,
      query: z.strictObject({
        after: z
          .string()
          .regex(/^\d{1,9}$/, "expected the number of an event")
          .describe("Number of the event after which the stream begins. Default 0.")
          .optional(),
        follow: z
          .enum(["true", "false"])
          .default("true")
          .describe("`false`: only the events that are there."),
      }),
      headers: { "Last-Event-ID": lastEventId },
      answers: { 200: { description: "The events.", ...events } },
      async handle(call) {
        const { params, query, principal, request } = call;
        const header = request.headers.get("last-event-id");
        if (header !== null && !/^\d{1,9}$/.test(header)) {
          throw new HttpProblem("invalid_request", {
            detail: "Last-Event-ID must be the number of an event.",
            errors: [
              { pointer: "/Last-Event-ID", in: "header", detail: "expected a whole number" },
            ],
          });
        }
        streams.check(principal);
        const { id: runId } = await desk.find(principal, params);
        const after = Number(header ?? query.after ?? "0");
        const until = query.follow === "true" ? "run" : "now";
        return streams.respond(call, { runId, after, until });
      },
    }),
    defineRoute({
      method: "post",
      path: `${one}/resume`,
      operationId: "resumeRun",
      summary: "Answers requests to people, so that the run goes on.",
      description:
        "Answers are checked by the requests before anything is written. While others are missing, the run waits again. Events and results need the scope `runs:read` as well.",
      tag: "runs",
      scopes: ["requests:answer"],
      spends: true,
      params: runParams,
      body: resumeBody,
      timeoutMs: waitLimitMs,
      answers: {
        200: {
          description: "With `config.wait`, how the turn ended.",
          schema: turnResult,
          orEvents: true,
          headers: { Location: "Path of the run, or of its events." },
        },
        202: { description: "The run, queued.", schema: queuedRun, headers: locationOfRun },
      },
      problems: ["conflict"],
      async handle(call) {
        const { params, body, principal, request } = call;
        const { stream = prefersEvents(request), wait = false, timeout_s } = body.config ?? {};
        if (stream || wait) checkScopes(principal, ["runs:read"]);
        if (stream) streams.check(principal);
        const path = runPath(params.agent_id, params.run_id);
        const run = await desk.resume(principal, await desk.find(principal, params), body);
        if (stream) return turnEvents(call, run, path);
        return wait ? turnAnswer(call, run, { path, timeout_s }) : queuedAnswer(run, path);
      },
    }),
  ];
}

/** Whether a request names events in its Accept header before anything else. */
function prefersEvents({ headers }: Request): boolean {
  const [first = ""] = (headers.get("accept") ?? "").split(",");
  return first.split(";")[0]?.trim().toLowerCase() === eventStreamType;
}
