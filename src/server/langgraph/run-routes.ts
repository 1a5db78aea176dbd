import { z } from "zod";
import { NotFoundError } from "../../storage/platform/errors.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import type { Run, RunSummary } from "../../storage/platform/runs/runs.ts";
import { checkScopes } from "../authenticate.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, eventStreamType, type Route } from "../route.ts";
import type { StreamCall } from "../runs/event-streams.ts";
import { maxRunBodyBytes } from "../runs/schemas.ts";
import { GraphRuns } from "./graph-runs.ts";
import {
  cancelAction,
  cancelMany,
  flag,
  graphRun,
  isSet,
  newRun,
  newRuns,
  runParams,
  runStatuses,
  threadParams,
  threadRunParams,
} from "./run-schemas.ts";
import { graphRunOf, lastEventId, placeOf, RunAnswers, statesOf } from "./run-streams.ts";

const tag = "langgraph";
const location = { "Content-Location": "Path of the run." };
const events = { schema: z.string(), mediaType: eventStreamType, headers: location };
const values = z.unknown().describe("The last values, or `__error__`.");
const shared = {
  tag,
  scopes: ["runs:write"],
  spends: true,
  maxBodyBytes: maxRunBodyBytes,
  problems: ["conflict", "invalid_input", "not_found"],
} as const;

type RunAnswer = (
  call: StreamCall & { readonly body: z.output<typeof newRun> },
  of: NewRun,
) => Promise<Answered>;
type Answered =
  | Response
  | { readonly status: number; readonly body: unknown; readonly headers: Record<string, string> };
interface NewRun {
  readonly threadId?: string;
}

const ignoredNamespace = z.strictObject({
  namespace: z.string().max(1_000).optional().describe("Ignored."),
});

/** Creates the routes of runs of LangGraph's protocol. */
export function runRoutes(base: ApiBase): readonly Route[] {
  const { platform } = base;
  const runs = new GraphRuns(base);
  const answers = new RunAnswers(base, runs);

  const shown = async (run: Run) => {
    const ids = await platform.instances.agentIds(run.tenantId, [run.instanceId]);
    return graphRunOf(run, ids.get(run.instanceId) ?? null);
  };
  const forms: Readonly<Record<"" | "/stream" | "/wait", RunAnswer>> = {
    "": async (call, { threadId }) => {
      const run = await runs.create(call, threadId ?? null, call.body);
      const place = { ...(threadId !== undefined && { threadId }), run };
      return {
        status: 200,
        body: await shown(run),
        headers: { "Content-Location": placeOf(place) },
      };
    },
    "/stream": async (call, { threadId }) => {
      checkScopes(call.principal, ["runs:read"]);
      answers.check(call.principal);
      const run = await runs.create(call, threadId ?? null, call.body);
      const cancels = call.body.on_disconnect === "cancel";
      return answers.stream(
        call,
        { ...(threadId !== undefined && { threadId }), run },
        { cancels },
      );
    },
    "/wait": async (call, { threadId }) => {
      checkScopes(call.principal, ["runs:read"]);
      const run = await runs.create(call, threadId ?? null, call.body);
      const cancels = call.body.on_disconnect === "cancel";
      return answers.wait(call, { ...(threadId !== undefined && { threadId }), run }, { cancels });
    },
  };
  const creating = Object.entries(forms).flatMap(([suffix, answer]) => {
    const name = suffix === "" ? "create" : suffix === "/wait" ? "wait" : "stream";
    const ok =
      suffix === "/stream"
        ? { description: "The events of the run.", ...events }
        : suffix === "/wait"
          ? { description: "The values at its end.", schema: values, headers: location }
          : { description: "The run, queued.", schema: graphRun, headers: location };
    const what =
      name === "create"
        ? "Queues a run"
        : name === "wait"
          ? "Queues a run and waits for its end,"
          : "Queues a run and streams its events,";
    return [
      defineRoute({
        ...shared,
        method: "post",
        path: `/threads/{thread_id}/runs${suffix}`,
        operationId: `${name}LangGraphThreadRun`,
        summary: `${what} on a thread.`,
        params: threadParams,
        query: ignoredNamespace,
        repeated: ["namespace"],
        body: newRun,
        answers: { 200: ok },
        handle: (call) => answer(call, { threadId: call.params.thread_id }),
      }),
      defineRoute({
        ...shared,
        method: "post",
        path: `/runs${suffix}`,
        operationId: `${name}LangGraphRun`,
        summary: `${what} on a thread of its own.`,
        description:
          "The thread is deleted a minute after the end, unless `on_completion` is `keep`.",
        query: ignoredNamespace,
        repeated: ["namespace"],
        body: newRun,
        answers: { 200: ok },
        handle: (call) => answer(call, {}),
      }),
    ];
  });

  const streamRoute = (path: string, params: typeof runParams, operationId: string) =>
    defineRoute({
      method: "get",
      path,
      operationId,
      summary: "Streams the events of a run from its beginning, or after Last-Event-ID.",
      tag,
      scopes: ["runs:read"],
      params,
      query: z.strictObject({
        cancel_on_disconnect: flag,
        stream_mode: z.string().max(500).optional().describe("A mode of those that the run has."),
        namespace: z.string().max(1_000).optional().describe("Ignored."),
        checkpoint_id: z.string().max(200).optional().describe("Ignored."),
      }),
      repeated: ["stream_mode", "namespace"],
      headers: { "Last-Event-ID": "Number of the event after which the stream goes on." },
      answers: { 200: { description: "The events.", ...events } },
      async handle(call) {
        const { params: given, query, principal, request } = call;
        const { run_id: id, thread_id: threadId } = given as { run_id: string; thread_id?: string };
        const after = lastEventId(request);
        const cancels = isSet(query.cancel_on_disconnect);
        if (cancels) checkScopes(principal, ["runs:write"]);
        answers.check(principal);
        const run = await runs.find(principal, id, threadId);
        const modes = modesIn(query.stream_mode);
        const place = { ...(threadId !== undefined && { threadId }), run };
        return answers.stream(call, place, { after, cancels, ...(modes !== null && { modes }) });
      },
    });

  return [
    ...creating,
    defineRoute({
      ...shared,
      method: "post",
      path: "/runs/batch",
      operationId: "createLangGraphRuns",
      summary: "Queues runs on threads of their own.",
      body: newRuns,
      answers: { 200: { description: "The runs, queued.", schema: z.array(graphRun) } },
      async handle(call) {
        const made: unknown[] = [];
        for (const body of call.body) made.push(await shown(await runs.create(call, null, body)));
        return { status: 200, body: made };
      },
    }),
    defineRoute({
      method: "post",
      path: "/runs/cancel",
      operationId: "cancelLangGraphRuns",
      summary: "Cancels runs by their ids, or those of a thread.",
      tag,
      scopes: ["runs:write"],
      query: z.strictObject({ action: cancelAction }),
      body: cancelMany,
      answers: { 204: { description: "Cancelled." } },
      problems: ["conflict", "not_found"],
      async handle({ body, query, principal }) {
        const found = await listed(principal, body);
        for (const run of found) await runs.cancel(principal, run, query.action);
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "get",
      path: "/threads/{thread_id}/runs",
      operationId: "listLangGraphRuns",
      summary: "Lists the runs of a thread, newest first.",
      tag,
      scopes: ["runs:read"],
      params: threadParams,
      query: z.strictObject({
        limit: z.coerce.number().int().min(1).max(1_000).default(10),
        offset: z.coerce.number().int().min(0).max(10_000).default(0),
        status: z.enum(runStatuses).optional(),
        select: z.string().max(500).optional().describe("Ignored."),
      }),
      repeated: ["select"],
      answers: { 200: { description: "The runs.", schema: z.array(graphRun) } },
      async handle({ params, query, principal }) {
        const { tenantId } = principal;
        const { thread_id: threadId } = params;
        const instance = await platform.instances.onThread(tenantId, threadId);
        if (instance === null) throw new NotFoundError("thread", threadId);
        const { limit, offset, status } = query;
        const found: RunSummary[] = [];
        let cursor: string | null | undefined;
        while (cursor !== null && found.length < offset + limit) {
          const page = await platform.runs.list(tenantId, {
            threadId,
            limit: 100,
            ...(status !== undefined && { state: statesOf(status) }),
            ...(cursor !== undefined && { cursor }),
          });
          found.push(...page.items);
          cursor = page.next;
        }
        const body = found
          .slice(offset, offset + limit)
          .map((run) => graphRunOf(run, instance.agentId));
        return { status: 200, body };
      },
    }),
    defineRoute({
      method: "get",
      path: "/threads/{thread_id}/runs/{run_id}",
      operationId: "getLangGraphRun",
      summary: "Reads a run.",
      tag,
      scopes: ["runs:read"],
      params: threadRunParams,
      answers: { 200: { description: "The run.", schema: graphRun } },
      handle: async ({ params, principal }) => ({
        status: 200,
        body: await shown(await runs.find(principal, params.run_id, params.thread_id)),
      }),
    }),
    defineRoute({
      method: "delete",
      path: "/threads/{thread_id}/runs/{run_id}",
      operationId: "deleteLangGraphRun",
      summary: "Removes a run that is not under way. The states of its thread stay.",
      tag,
      scopes: ["runs:write"],
      params: threadRunParams,
      answers: { 204: { description: "Removed." } },
      problems: ["conflict"],
      async handle({ params, principal }) {
        await runs.remove(principal, await runs.find(principal, params.run_id, params.thread_id));
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "get",
      path: "/threads/{thread_id}/runs/{run_id}/join",
      operationId: "joinLangGraphRun",
      summary: "Waits for the end of a run.",
      tag,
      scopes: ["runs:read"],
      params: threadRunParams,
      query: z.strictObject({ cancel_on_disconnect: flag }),
      answers: {
        200: { description: "The values at its end.", schema: values, headers: location },
      },
      async handle(call) {
        const { params, query, principal } = call;
        const cancels = isSet(query.cancel_on_disconnect);
        if (cancels) checkScopes(principal, ["runs:write"]);
        const run = await runs.find(principal, params.run_id, params.thread_id);
        return answers.wait(call, { threadId: params.thread_id, run }, { cancels });
      },
    }),
    streamRoute(
      "/threads/{thread_id}/runs/{run_id}/stream",
      threadRunParams,
      "streamLangGraphThreadRunEvents",
    ),
    streamRoute("/runs/{run_id}/stream", runParams, "streamLangGraphRunEvents"),
    defineRoute({
      method: "post",
      path: "/threads/{thread_id}/runs/{run_id}/cancel",
      operationId: "cancelLangGraphRun",
      summary: "Cancels a run that is queued or running. One that has ended stays as it is.",
      tag,
      scopes: ["runs:write"],
      params: threadRunParams,
      query: z.strictObject({
        wait: flag,
        action: cancelAction,
        reason: z.string().max(1_000).optional().describe("Ignored."),
      }),
      answers: {
        202: { description: "It is asked to end." },
        204: { description: "With `wait`: it has ended." },
      },
      problems: ["conflict"],
      async handle({ params, query, principal, signal }) {
        const run = await runs.find(principal, params.run_id, params.thread_id);
        await runs.cancel(principal, run, query.action);
        if (!isSet(query.wait)) return { status: 202 };
        if (query.action === "interrupt") await runs.awaitEnd(run, signal);
        return { status: 204 };
      },
    }),
  ];

  async function listed(
    principal: Principal,
    { thread_id: threadId, run_ids: ids, status }: z.output<typeof cancelMany>,
  ): Promise<readonly Run[]> {
    if (ids) {
      return Promise.all(ids.map((id) => runs.find(principal, id, threadId ?? undefined)));
    }
    const states = {
      pending: ["queued"],
      running: ["running"],
      all: ["queued", "running"],
    } as const;
    const { items } = await platform.runs.list(principal.tenantId, {
      ...(threadId && { threadId }),
      state: states[status ?? "all"],
      limit: 100,
    });
    return Promise.all(items.map(({ id }) => runs.find(principal, id)));
  }
}

/** The modes of a query: a name, or a list of them as JSON. Null for all. */
function modesIn(text: string | undefined): ReadonlySet<string> | null {
  if (text === undefined || text === "") return null;
  return new Set(text.match(/[a-z-]+/g) ?? []);
}
