import { z } from "zod";
import { nextTimes } from "../../engine/time/schedule-times.ts";
import { ConflictError } from "../../storage/platform/errors.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import type {
  NewSchedule,
  Schedule,
  ScheduleChange,
} from "../../storage/platform/time/schedule-rows.ts";
import { integerParameter, pageAnswer, pageQuery, pageRequest, pageSchema } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, type Route } from "../route.ts";
import { RunDesk } from "../runs/run-desk.ts";
import { queuedBodyOf, runPath } from "../runs/run-views.ts";
import { queuedRun } from "../runs/schemas.ts";
import {
  firingsSchema,
  newSchedule,
  scheduleChange,
  type ScheduleChangeBody,
  scheduleOf,
  scheduleParams,
  scheduleSchema,
  timesToCheck,
} from "./schemas.ts";
import { checkedNext } from "./timing.ts";

const tag = "schedules";
const base = "/v1/schedules";
const one = `${base}/{schedule_id}`;
/** Bytes of a body: the request of a schedule is stored with it. */
const maxBodyBytes = 262_144;
const pointers = { cron: "/cron", time_zone: "/time_zone", end_at: "/end_at" };

/** Creates the routes of schedules. */
export function scheduleRoutes(api: ApiBase): readonly Route[] {
  const { schedules, firings, runs, audit, usage } = api.platform;
  const desk = new RunDesk(api);
  const read = { tag, scopes: ["runs:read"] } as const;
  const write = { tag, scopes: ["runs:write"] } as const;
  const answers = { 200: { description: "The schedule.", schema: scheduleSchema } };
  const record = (
    { tenantId, keyId }: Principal,
    action: string,
    subject: string,
    after?: object,
  ) =>
    audit.append(tenantId, {
      actor: `key:${keyId}`,
      action: `schedule.${action}`,
      subject,
      ...(after && { after }),
    });
  const setEnabled = async (principal: Principal, id: string, enabled: boolean) => {
    const changed = await schedules.update(principal.tenantId, id, () => ({ enabled }));
    await record(principal, enabled ? "resume" : "pause", id);
    return { status: 200, body: scheduleOf(changed) };
  };

  return [
    defineRoute({
      ...write,
      method: "post",
      path: base,
      operationId: "createSchedule",
      summary: "Creates a schedule, whose firings queue runs of an agent.",
      description:
        "The input is checked by the agent's active version now, and by the version that is active at a firing then.",
      body: newSchedule,
      maxBodyBytes,
      answers: { 201: { description: "The schedule.", schema: scheduleSchema } },
      problems: ["conflict", "invalid_input", "invalid_definition", "not_found"],
      async handle({ body, principal }) {
        const { tenantId } = principal;
        const { agent, input } = await desk.checkInput(tenantId, body.agent_id, body.input);
        const times = { cron: body.cron, timeZone: body.time_zone, endAt: body.end_at };
        const nextAt = checkedNext(api, times, { pointers });
        const made = await schedules.create(tenantId, {
          ...times,
          agentId: agent.agentId,
          name: body.name,
          kind: "turn",
          request: { input, ...settingsOf(body.config) },
          priority: body.config?.priority ?? 0,
          metadata: body.metadata ?? {},
          threadId: await keptThread(tenantId, agent.agentId, body.thread),
          isEphemeral: false,
          isExclusive: false,
          missed: body.missed,
          maxMissed: body.max_missed,
          enabled: body.enabled,
          nextAt,
        });
        await record(principal, "create", made.id, body);
        return { status: 201, body: scheduleOf(made) };
      },
    }),
    defineRoute({
      ...read,
      method: "get",
      path: base,
      operationId: "listSchedules",
      summary: "Lists schedules, newest first.",
      query: z.strictObject({
        ...pageQuery,
        agent_id: z.string().min(1).max(100).optional(),
        enabled: z.enum(["true", "false"]).optional(),
      }),
      answers: {
        200: {
          description: "A page of schedules.",
          schema: pageSchema("schedules", scheduleSchema),
        },
      },
      problems: ["invalid_cursor", "not_found"],
      async handle({ query, principal, request }) {
        const { agent_id: agentId, enabled } = query;
        const page = await schedules.list(principal.tenantId, {
          ...pageRequest(query),
          ...(agentId !== undefined && { agentId }),
          ...(enabled !== undefined && { enabled: enabled === "true" }),
        });
        return pageAnswer(request, page, { name: "schedules", item: scheduleOf });
      },
    }),
    defineRoute({
      ...read,
      method: "get",
      path: one,
      operationId: "getSchedule",
      summary: "Reads a schedule.",
      params: scheduleParams,
      answers,
      handle: async ({ params, principal }) => ({
        status: 200,
        body: scheduleOf(await schedules.get(principal.tenantId, params.schedule_id)),
      }),
    }),
    defineRoute({
      ...write,
      method: "patch",
      path: one,
      operationId: "updateSchedule",
      summary: "Changes a schedule.",
      description:
        "With `cron`, `time_zone` or `end_at` the next firing is the first after now. With `enabled` alone it stays: firings that passed meanwhile are missed ones.",
      params: scheduleParams,
      body: scheduleChange,
      maxBodyBytes,
      answers,
      problems: ["conflict", "invalid_input", "invalid_definition", "not_found"],
      async handle({ params, body, principal }) {
        const { tenantId } = principal;
        const { schedule_id: id } = params;
        const before = await schedules.get(tenantId, id);
        refuseGraph(before, body);
        const input =
          body.input && (await desk.checkInput(tenantId, before.agentId, body.input)).input;
        const threadId = body.thread && (await keptThread(tenantId, before.agentId, body.thread));
        const changed = await schedules.update(tenantId, id, (schedule) => ({
          ...changesOf(api, schedule, body),
          ...requestOf(schedule, { input, config: body.config }),
          ...(threadId !== undefined && { threadId }),
        }));
        await record(principal, "update", id, body);
        return { status: 200, body: scheduleOf(changed) };
      },
    }),
    defineRoute({
      ...write,
      method: "delete",
      path: one,
      operationId: "deleteSchedule",
      summary: "Deletes a schedule. Its runs and threads stay.",
      params: scheduleParams,
      answers: { 204: { description: "Deleted." } },
      async handle({ params, principal }) {
        await schedules.remove(principal.tenantId, params.schedule_id);
        await record(principal, "delete", params.schedule_id);
        return { status: 204 };
      },
    }),
    defineRoute({
      ...write,
      method: "post",
      path: `${one}/pause`,
      operationId: "pauseSchedule",
      summary: "Pauses a schedule. Twice is once.",
      params: scheduleParams,
      answers,
      handle: ({ params, principal }) => setEnabled(principal, params.schedule_id, false),
    }),
    defineRoute({
      ...write,
      method: "post",
      path: `${one}/resume`,
      operationId: "resumeSchedule",
      summary: "Resumes a schedule. Firings that passed meanwhile are missed ones.",
      params: scheduleParams,
      answers,
      handle: ({ params, principal }) => setEnabled(principal, params.schedule_id, true),
    }),
    defineRoute({
      ...read,
      method: "get",
      path: `${one}/next`,
      operationId: "listFirings",
      summary: "Lists the next firings of a schedule, also of one that is paused.",
      params: scheduleParams,
      query: z.strictObject({
        count: integerParameter({ from: 1, to: 100, default: 10, description: "Firings." }),
      }),
      answers: {
        200: {
          description: "The firings.",
          schema: firingsSchema,
        },
      },
      async handle({ params, query, principal }) {
        const schedule = await schedules.get(principal.tenantId, params.schedule_id);
        return { status: 200, body: firingsOf(api, schedule, query.count) };
      },
    }),
    defineRoute({
      ...read,
      method: "post",
      path: `${base}/check`,
      operationId: "checkSchedule",
      summary:
        "Lists the next firings of times that no schedule has yet, or what is wrong with them.",
      body: timesToCheck,
      answers: { 200: { description: "The firings.", schema: firingsSchema } },
      problems: ["invalid_input"],
      async handle({ body: { cron, time_zone: timeZone, end_at: endAt, count } }) {
        const times = { cron, timeZone, endAt };
        checkedNext(api, times, { pointers });
        return { status: 200, body: firingsOf(api, times, count) };
      },
    }),
    defineRoute({
      ...write,
      method: "post",
      path: `${one}/run`,
      operationId: "runSchedule",
      summary: "Queues a run of a schedule now. Its firings stay as they are.",
      spends: true,
      params: scheduleParams,
      answers: {
        202: {
          description: "The run, queued.",
          schema: queuedRun,
          headers: { Location: "Path of the run." },
        },
      },
      problems: ["conflict"],
      async handle({ params, principal }) {
        const { tenantId } = principal;
        const { agentId } = await schedules.get(tenantId, params.schedule_id);
        const runId = await firings.runNow(tenantId, params.schedule_id);
        api.queue.wake();
        usage.count(tenantId, { runs: 1 });
        const path = runPath(agentId, runId);
        const run = await runs.get(tenantId, runId);
        await record(principal, "run", params.schedule_id);
        const body = queuedBodyOf({ ...run, state: "queued" }, path);
        return { status: 202, body, headers: { Location: path } };
      },
    }),
  ];

  /** The thread of all runs; null for new ones. @throws ConflictError for a thread of another agent */
  async function keptThread(
    tenantId: string,
    agentId: string,
    { policy, thread_id: named }: z.output<typeof newSchedule>["thread"],
  ): Promise<string | null> {
    if (policy === "new") return null;
    if (!named) return api.ids();
    await desk.checkThread(tenantId, { threadId: named, agentId });
    return named;
  }
}

/** Returns the next firings of times, at most `count`. */
function firingsOf(
  { clock }: Pick<ApiBase, "clock">,
  times: Pick<Schedule, "cron" | "timeZone" | "endAt">,
  count: number,
) {
  const { endAt } = times;
  const firings = nextTimes(times, clock.now(), count).filter(
    (time) => endAt === null || time <= new Date(endAt),
  );
  return { firings: firings.map((time) => time.toISOString()) };
}

/** @throws ConflictError */
function refuseGraph({ kind }: Schedule, { input, config, thread }: ScheduleChangeBody): void {
  if (kind === "turn" || (!input && !config && !thread)) return;
  const problem = "The schedule is a cron of LangGraph's protocol. Change its runs there.";
  throw new ConflictError("schedule", problem);
}

function settingsOf(config: ScheduleChangeBody["config"]) {
  const { model_override: model, user } = config ?? {};
  return { ...(model && { model }), ...(user && { user }) };
}

function requestOf(
  { request, priority }: Schedule,
  given: { readonly input: unknown; readonly config: ScheduleChangeBody["config"] },
): Partial<Pick<NewSchedule, "request" | "priority">> {
  const { input, config } = given;
  if (input === undefined && config === undefined) return {};
  const { model, user } = request;
  return {
    request: {
      ...request,
      ...(config && { model: undefined, user: undefined }),
      ...(config ? settingsOf(config) : { model, user }),
      ...(input !== undefined && { input }),
    },
    priority: config?.priority ?? priority,
  };
}

/** @throws HttpProblem `invalid_input` */
function changesOf(api: ApiBase, schedule: Schedule, body: ScheduleChangeBody): ScheduleChange {
  const { name, metadata, missed, max_missed: maxMissed, enabled } = body;
  const timed = [body.cron, body.time_zone, body.end_at].some((value) => value !== undefined);
  const times = {
    cron: body.cron ?? schedule.cron,
    timeZone: body.time_zone ?? schedule.timeZone,
    endAt: body.end_at === undefined ? schedule.endAt : body.end_at,
  };
  return {
    ...(name !== undefined && { name }),
    ...(metadata && { metadata }),
    ...(missed && { missed }),
    ...(maxMissed !== undefined && { maxMissed }),
    ...(enabled !== undefined && { enabled }),
    ...(timed && { ...times, nextAt: checkedNext(api, times, { pointers }) }),
  };
}
