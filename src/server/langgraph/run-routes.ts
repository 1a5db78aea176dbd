import { z } from "zod";
import type { StoredRunEvent } from "../../storage/platform/runs/events.ts";
import type { Run } from "../../storage/platform/runs/runs.ts";
import { textUpTo } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { type Call, defineRoute, type Route } from "../route.ts";
import { EventStreams, eventText } from "../runs/event-streams.ts";
import { GraphRuns } from "./graph-runs.ts";
import { refuseRollback, runBody, runSchema } from "./run-schemas.ts";

const tag = "langgraph";

const threadParams = z.strictObject({ thread_id: textUpTo(255) });
const runParams = z.strictObject({ thread_id: textUpTo(255), run_id: textUpTo(100) });
const statelessParams = z.strictObject({ run_id: textUpTo(100) });
const flag = z.enum(["true", "false", "1", "0", "yes", "no"]).optional();
const isSet = (value: string | undefined) => ["true", "1", "yes"].includes(value ?? "");
const joinQuery = z.strictObject({
  cancel_on_disconnect: flag,
  stream_mode: z
    .string()
    .max(200)
    .optional()
    .describe("Ignored: a run has the modes it began with."),
});

/** Names of events that the protocol knows. The log of a run has others for /v1. */
const known =
  /^(?:values|updates|messages(?:\/\w+)?|events|tasks|checkpoints|debug|custom|tools|metadata|omitted|error)(?:\||$)/;

function shownEvent({ seq, event, data }: StoredRunEvent): string {
  if (!known.test(event)) return "";
  if (event !== "error") return eventText({ seq, event, data });
  const { code, message } = data;
  return eventText({ seq, event, data: { error: code, message } });
}

/** Creates the routes of runs, on threads and without. */
export function langgraphRunRoutes(base: ApiBase): readonly Route[] {
  const runs = new GraphRuns(base);
  const streams = new EventStreams(base, 1_000);
  const answer = { description: "The run.", schema: runSchema };
  const eventsAnswer = { description: "Its events.", mediaType: "text/event-stream" };
  const valuesAnswer = {
    description: "The values of the thread at the end of the run, or `__error__`.",
    schema: z.unknown(),
  };
  const problems = ["conflict", "invalid_input", "not_found", "quota_exceeded"] as const;
  const writes = { tag, scopes: ["runs:write"], spends: true, problems } as const;

  const stream = (
    call: Pick<Call<unknown, unknown, unknown>, "principal" | "request" | "closing">,
    run: Pick<Run, "id" | "threadId">,
    of: { readonly cancels: boolean; readonly isStateless: boolean; readonly after?: number },
  ) =>
    streams.respond(call, {
      runId: run.id,
      after: of.after ?? 0,
      until: "turn",
      headers: { "Content-Location": pathOf(run, of.isStateless) },
      show: shownEvent,
      ...(of.cancels && { onCancel: () => runs.cancel(call.principal, run.id) }),
    });

  /** Routes that create a run, on a thread or on one of its own. */
  const creating = (prefix: string, isStateless: boolean): readonly Route[] => {
    const id = (name: string) => (isStateless ? `${name}StatelessRun` : `${name}ThreadRun`);
    const params = isStateless ? undefined : threadParams;
    const threadOf = (given: unknown) =>
      isStateless ? undefined : (given as z.output<typeof threadParams>).thread_id;
    return [
      defineRoute({
        ...writes,
        method: "post",
        path: `${prefix}/runs`,
        operationId: id("create"),
        summary: isStateless ? "Queues a run on a thread of its own." : "Queues a run on a thread.",
        ...(params && { params }),
        body: runBody,
        answers: { 200: answer },
        async handle({ params: given, body, principal }) {
          const run = await runs.create(principal, threadOf(given), body);
          const headers = { "Content-Location": pathOf(run, isStateless) };
          return { status: 200, body: runs.show(run, principal), headers };
        },
      }),
      defineRoute({
        ...writes,
        method: "post",
        path: `${prefix}/runs/stream`,
        operationId: id("stream"),
        scopes: ["runs:write", "runs:read"],
        summary: "Queues a run and streams its events.",
        ...(params && { params }),
        body: runBody,
        timeoutMs: 0,
        answers: { 200: eventsAnswer },
        async handle(call) {
          streams.check(call.principal);
          const run = await runs.create(call.principal, threadOf(call.params), call.body);
          const cancels = call.body.on_disconnect === "cancel";
          return stream(call, run, { cancels, isStateless });
        },
      }),
      defineRoute({
        ...writes,
        method: "post",
        path: `${prefix}/runs/wait`,
        operationId: id("wait"),
        scopes: ["runs:write", "runs:read"],
        summary: "Queues a run and answers with the values at its end.",
        ...(params && { params }),
        body: runBody,
        timeoutMs: 0,
        answers: { 200: valuesAnswer },
        async handle({ params: given, body, principal, closing }) {
          const run = await runs.create(principal, threadOf(given), body);
          const headers = { "Content-Location": pathOf(run, isStateless) };
          const cancels = body.on_disconnect === "cancel";
          return keptAlive(base, {
            headers,
            ending: (signal) =>
              runs.valuesAtEnd(principal, run, AbortSignal.any([signal, closing])),
            ...(cancels && { onCancel: () => runs.cancel(principal, run.id) }),
          });
        },
      }),
    ];
  };

  return [
    ...creating("/threads/{thread_id}", false),
    ...creating("", true),
    defineRoute({
      ...writes,
      method: "post",
      path: "/runs/batch",
      operationId: "createRunBatch",
      summary: "Queues runs, each on a thread of its own.",
      body: z.array(runBody).min(1).max(100).meta({ id: "LangGraphRunBatch" }),
      answers: { 200: { description: "The runs.", schema: z.array(runSchema) } },
      async handle({ body, principal }) {
        const made: Run[] = [];
        for (const one of body) made.push(await runs.create(principal, undefined, one));
        return { status: 200, body: made.map((run) => runs.show(run, principal)) };
      },
    }),
    defineRoute({
      method: "post",
      path: "/runs/cancel",
      operationId: "cancelRuns",
      summary: "Cancels runs.",
      tag,
      scopes: ["runs:write"],
      query: z.strictObject({ action: z.enum(["interrupt", "rollback"]).optional() }),
      body: z
        .object({
          thread_id: textUpTo(255).nullish(),
          run_ids: z.array(textUpTo(100)).max(1_000).nullish(),
          status: z.enum(["pending", "running", "all"]).nullish(),
        })
        .meta({ id: "LangGraphRunsCancel" }),
      answers: { 204: { description: "Cancelled, or asked to end." } },
      problems: ["invalid_input", "not_found"],
      async handle({ query, body, principal }) {
        refuseRollback(query.action);
        const { thread_id: threadId, run_ids: runIds, status } = body;
        const found = runIds
          ? await Promise.all(runIds.map((runId) => runs.get(principal, { runId, threadId })))
          : await runs.underWay(principal, { threadId, status: status ?? "all" });
        for (const { id } of found) await runs.cancel(principal, id);
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "get",
      path: "/threads/{thread_id}/runs",
      operationId: "listThreadRuns",
      summary: "Lists the runs of a thread, newest first.",
      tag,
      scopes: ["runs:read"],
      params: threadParams,
      query: z.strictObject({
        limit: z.coerce.number().int().min(1).max(1_000).optional(),
        offset: z.coerce.number().int().min(0).max(10_000).optional(),
        status: z.string().max(50).optional(),
        select: z.string().max(1_000).optional().describe("Ignored."),
      }),
      repeated: ["select"],
      answers: { 200: { description: "The runs.", schema: z.array(runSchema) } },
      async handle({ params, query, principal }) {
        const found = await runs.list(principal, params.thread_id, query);
        return { status: 200, body: found };
      },
    }),
    defineRoute({
      method: "get",
      path: "/threads/{thread_id}/runs/{run_id}",
      operationId: "getThreadRun",
      summary: "Reads a run.",
      tag,
      scopes: ["runs:read"],
      params: runParams,
      answers: { 200: answer },
      async handle({ params, principal }) {
        return {
          status: 200,
          body: runs.show(await runs.get(principal, idsIn(params)), principal),
        };
      },
    }),
    defineRoute({
      method: "get",
      path: "/threads/{thread_id}/runs/{run_id}/join",
      operationId: "joinThreadRun",
      summary: "Waits for the end of a run and answers with the values of its thread.",
      tag,
      scopes: ["runs:read"],
      params: runParams,
      query: joinQuery,
      timeoutMs: 0,
      answers: { 200: valuesAnswer },
      async handle({ params, query, principal, closing }) {
        const run = await runs.get(principal, idsIn(params));
        const cancels = isSet(query.cancel_on_disconnect);
        return keptAlive(base, {
          ending: (signal) => runs.valuesAtEnd(principal, run, AbortSignal.any([signal, closing])),
          ...(cancels && { onCancel: () => runs.cancel(principal, run.id) }),
        });
      },
    }),
    defineRoute({
      method: "get",
      path: "/threads/{thread_id}/runs/{run_id}/stream",
      operationId: "streamThreadRunEvents",
      summary: "Streams the events of a run, after Last-Event-ID.",
      tag,
      scopes: ["runs:read"],
      params: runParams,
      query: joinQuery,
      timeoutMs: 0,
      headers: { "Last-Event-ID": "Number of the event after which the stream begins." },
      answers: { 200: eventsAnswer },
      async handle(call) {
        streams.check(call.principal);
        const run = await runs.get(call.principal, idsIn(call.params));
        const cancels = isSet(call.query.cancel_on_disconnect);
        return stream(call, run, { cancels, isStateless: false, after: lastEventId(call.request) });
      },
    }),
    defineRoute({
      method: "get",
      path: "/runs/{run_id}/stream",
      operationId: "streamStatelessRunEvents",
      summary: "Streams the events of a run without a thread, after Last-Event-ID.",
      tag,
      scopes: ["runs:read"],
      params: statelessParams,
      query: joinQuery,
      timeoutMs: 0,
      headers: { "Last-Event-ID": "Number of the event after which the stream begins." },
      answers: { 200: eventsAnswer },
      async handle(call) {
        streams.check(call.principal);
        const run = await runs.get(call.principal, { runId: call.params.run_id });
        const cancels = isSet(call.query.cancel_on_disconnect);
        return stream(call, run, { cancels, isStateless: true, after: lastEventId(call.request) });
      },
    }),
    defineRoute({
      method: "post",
      path: "/threads/{thread_id}/runs/{run_id}/cancel",
      operationId: "cancelThreadRun",
      summary: "Cancels a run.",
      tag,
      scopes: ["runs:write"],
      params: runParams,
      query: z.strictObject({
        wait: flag,
        action: z.enum(["interrupt", "rollback"]).optional(),
      }),
      timeoutMs: 0,
      answers: {
        202: { description: "It was asked to end." },
        204: { description: "It has ended, with `wait`." },
      },
      problems: ["invalid_input"],
      async handle({ params, query, principal, closing }) {
        refuseRollback(query.action);
        const run = await runs.get(principal, idsIn(params));
        await runs.cancel(principal, run.id);
        if (!isSet(query.wait)) return { status: 202 };
        await runs.ended(principal, run.id, closing);
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/threads/{thread_id}/runs/{run_id}",
      operationId: "deleteThreadRun",
      summary: "Deletes a run that has ended. The states of its thread stay.",
      tag,
      scopes: ["runs:write"],
      params: runParams,
      answers: { 204: { description: "Deleted." } },
      problems: ["conflict"],
      async handle({ params, principal }) {
        const run = await runs.get(principal, idsIn(params));
        await runs.remove(principal, run.id);
        return { status: 204 };
      },
    }),
  ];
}

const idsIn = (params: z.output<typeof runParams>) => ({
  threadId: params.thread_id,
  runId: params.run_id,
});

function pathOf({ id, threadId }: Pick<Run, "id" | "threadId">, isStateless: boolean): string {
  return isStateless ? `/runs/${id}` : `/threads/${encodeURIComponent(threadId)}/runs/${id}`;
}

/** The number after which a stream begins. Clients send -1 for all events. */
function lastEventId(request: Request): number {
  const given = request.headers.get("last-event-id") ?? "";
  const number = /^\d{1,9}$/.test(given) ? Number(given) : 0;
  return number;
}

/** Milliseconds between two line breaks that keep a connection alive. */
const keepAliveMs = 5_000;

/** An answer of JSON that takes long: line breaks come before it, which JSON allows. */
function keptAlive(
  { clock, logger }: Pick<ApiBase, "clock" | "logger">,
  of: {
    readonly ending: (signal: AbortSignal) => Promise<unknown>;
    readonly headers?: Readonly<Record<string, string>>;
    readonly onCancel?: () => Promise<unknown>;
  },
): Response {
  const stop = new AbortController();
  const encoder = new TextEncoder();
  let cancelTimer = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const beat = () => {
        controller.enqueue(encoder.encode("\n"));
        cancelTimer = clock.after(keepAliveMs, beat);
      };
      cancelTimer = clock.after(keepAliveMs, beat);
      void of
        .ending(stop.signal)
        .catch((err: unknown) => {
          if (!stop.signal.aborted) logger.error({ err }, "run could not be awaited");
          return {
            __error__: { error: "unavailable", message: "The run goes on: join it again." },
          };
        })
        .then((values) => {
          cancelTimer();
          if (stop.signal.aborted) return;
          controller.enqueue(encoder.encode(JSON.stringify(values)));
          controller.close();
        });
    },
    async cancel() {
      cancelTimer();
      stop.abort();
      await of.onCancel?.();
    },
  });
  return new Response(body, { headers: { "Content-Type": "application/json", ...of.headers } });
}
