import { z } from "zod";
import type { GraphRequest } from "../../engine/graph/graph-request.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import type { Schedule, ScheduleFilter } from "../../storage/platform/time/schedule-rows.ts";
import { scheduleOrders } from "../../storage/platform/time/schedules.ts";
import { isRecord } from "../../values/json.ts";
import { textUpTo } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, type Route } from "../route.ts";
import { checkedNext } from "../schedules/timing.ts";
import { findAssistant, metadataSchema } from "./assistants.ts";
import { optionsOf } from "./new-run.ts";
import { newRun, threadParams } from "./run-schemas.ts";

const cronParams = z.strictObject({ cron_id: textUpTo(100).describe("Id of the cron.") });

const run = newRun.pick({
  input: true,
  config: true,
  context: true,
  metadata: true,
  stream_mode: true,
  stream_subgraphs: true,
  stream_resumable: true,
  interrupt_before: true,
  interrupt_after: true,
  durability: true,
  checkpoint_during: true,
  webhook: true,
}).shape;
const schedule = z.string().min(1).max(200).describe("Cron expression of five fields.");
const timezone = z.string().min(1).max(64).describe("IANA name. Default UTC.");
const onRunCompleted = z
  .enum(["delete", "keep"])
  .describe("Of a cron without a thread: whether the thread of a run is deleted. Default delete.");
const cronChange = z
  .object({
    ...run,
    schedule: schedule.nullish(),
    timezone: timezone.nullish(),
    enabled: z.boolean().nullish(),
    end_time: z.iso.datetime({ offset: true }).nullish().describe("Null: no end."),
    on_run_completed: onRunCompleted.nullish(),
  })
  .meta({ id: "LangGraphCronChange" });
const newCron = z
  .object({
    ...cronChange.shape,
    assistant_id: newRun.shape.assistant_id,
    schedule,
    multitask_strategy: z
      .enum(["reject", "enqueue"])
      .nullish()
      .describe(
        "`reject` leaves a firing out while a run of the thread is under way. Default enqueue.",
      ),
  })
  .meta({ id: "LangGraphNewCron" });
type CronChange = z.output<typeof cronChange>;

const filter = {
  assistant_id: textUpTo(200).nullish(),
  thread_id: textUpTo(255).nullish(),
  enabled: z.boolean().nullish(),
  metadata: metadataSchema.nullish().describe("Entries that the metadata has."),
};
const sortKeys = ["cron_id", "created_at", "updated_at", "next_run_date"] as const;
const columnOf: Readonly<Record<(typeof sortKeys)[number], (typeof scheduleOrders)[number]>> = {
  cron_id: "id",
  created_at: "created_at",
  updated_at: "updated_at",
  next_run_date: "next_at",
};
const cronSearch = z.object({
  ...filter,
  limit: z.int().min(1).max(1_000).default(10),
  offset: z.int().min(0).max(1_000_000).default(0),
  sort_by: z.enum(sortKeys).nullish(),
  sort_order: z.enum(["asc", "desc"]).nullish().describe("Default desc."),
  select: z.array(z.string().max(100)).max(50).nullish().describe("Keys of the answer."),
});

const time = z.iso.datetime();
const cronSchema = z
  .strictObject({
    cron_id: z.string(),
    assistant_id: z.string(),
    thread_id: z.string().nullable(),
    on_run_completed: z.enum(["delete", "keep"]),
    end_time: time.nullable(),
    schedule: z.string(),
    timezone: z.string(),
    created_at: time,
    updated_at: time,
    payload: z.record(z.string(), z.unknown()),
    user_id: z.null(),
    next_run_date: time.nullable(),
    metadata: z.record(z.string(), z.unknown()),
    enabled: z.boolean(),
  })
  .meta({ id: "LangGraphCron" });

const pointers = { cron: "/schedule", time_zone: "/timezone", end_at: "/end_time" };
const maxBodyBytes = 262_144;

/** Creates the routes of crons: schedules whose runs are those of LangGraph's protocol. */
export function cronRoutes(base: ApiBase): readonly Route[] {
  const { agents, audit, instances, schedules } = base.platform;
  const read = { tag: "langgraph", method: "post", scopes: ["runs:read"] } as const;
  const write = {
    tag: "langgraph",
    scopes: ["runs:write"],
    maxBodyBytes,
    answers: { 200: { description: "The cron.", schema: cronSchema } },
    problems: ["conflict", "invalid_input", "not_found"],
  } as const;
  const record = ({ tenantId, keyId }: Principal, action: string, subject: string) =>
    audit.append(tenantId, { actor: `key:${keyId}`, action: `schedule.${action}`, subject });

  const create = async (
    principal: Principal,
    body: z.output<typeof newCron>,
    threadId: string | null,
  ) => {
    const { tenantId } = principal;
    const agent = await findAssistant(agents, tenantId, body.assistant_id);
    if (threadId !== null && (await instances.onThread(tenantId, threadId)) === null)
      throw new NotFoundError("thread", threadId);
    const times = {
      cron: body.schedule,
      timeZone: body.timezone ?? "UTC",
      endAt: body.end_time ?? null,
    };
    const made = await schedules.create(tenantId, {
      ...times,
      agentId: agent.agentId,
      name: null,
      kind: "graph",
      request: {
        ...optionsOf({ ...body, multitask_strategy: "enqueue" }),
        assistant_id: agent.agentId,
        input: isRecord(body.input) ? body.input : null,
      },
      priority: 0,
      metadata: body.metadata ?? {},
      threadId,
      isEphemeral: body.on_run_completed !== "keep",
      isExclusive: body.multitask_strategy === "reject",
      missed: "once",
      maxMissed: 1,
      enabled: body.enabled ?? true,
      nextAt: checkedNext(base, times, { pointers }),
    });
    await record(principal, "create", made.id);
    return { status: 200, body: cronOf(made) };
  };
  /** A schedule of `/v1` is no cron. */
  const find = async ({ tenantId }: Principal, id: string): Promise<Schedule> => {
    const found = await schedules.get(tenantId, id);
    if (found.kind !== "graph") throw new NotFoundError("cron", id);
    return found;
  };
  /** Null if no cron fits. */
  const filterOf = async (
    { tenantId }: Principal,
    given: { readonly [Key in keyof typeof filter]?: z.output<(typeof filter)[Key]> },
  ): Promise<ScheduleFilter | null> => {
    const { assistant_id: idOrName, thread_id: threadId, enabled, metadata } = given;
    const agent = idOrName ? await agents.searches.find(tenantId, { idOrName }) : null;
    if (agent === undefined) return null;
    return {
      kind: "graph",
      ...(agent && { agentId: agent.agentId }),
      ...(threadId && { threadId }),
      ...(enabled != null && { enabled }),
      ...(metadata && { metadata }),
    };
  };

  return [
    defineRoute({
      ...read,
      path: "/runs/crons/search",
      operationId: "searchCrons",
      summary: "Lists crons.",
      body: cronSearch,
      answers: { 200: { description: "The crons.", schema: z.array(cronSchema.partial()) } },
      async handle({ body, principal }) {
        const { limit, offset, sort_by: key, sort_order: order, select } = body;
        const wanted = await filterOf(principal, body);
        if (wanted === null) return { status: 200, body: [] };
        const found = await schedules.search(principal.tenantId, {
          ...wanted,
          limit,
          offset,
          sortBy: columnOf[key ?? "created_at"],
          order: order ?? "desc",
        });
        const keys = select && new Set(select);
        const shown = found
          .map(cronOf)
          .map((cron) =>
            keys
              ? Object.fromEntries(Object.entries(cron).filter(([name]) => keys.has(name)))
              : cron,
          );
        return { status: 200, body: shown };
      },
    }),
    defineRoute({
      ...read,
      path: "/runs/crons/count",
      operationId: "countCrons",
      summary: "Counts crons.",
      body: z.object(filter),
      answers: { 200: { description: "Their number.", schema: z.int() } },
      async handle({ body, principal }) {
        const wanted = await filterOf(principal, body);
        const count = wanted && (await schedules.count(principal.tenantId, wanted));
        return { status: 200, body: count ?? 0 };
      },
    }),
    defineRoute({
      ...write,
      method: "post",
      path: "/runs/crons",
      operationId: "createCron",
      summary: "Creates a cron, each of whose runs has a new thread.",
      body: newCron,
      handle: ({ body, principal }) => create(principal, body, null),
    }),
    defineRoute({
      ...write,
      method: "post",
      path: "/threads/{thread_id}/runs/crons",
      operationId: "createThreadCron",
      summary: "Creates a cron whose runs continue a thread.",
      params: threadParams,
      body: newCron,
      handle: ({ params, body, principal }) => create(principal, body, params.thread_id),
    }),
    defineRoute({
      ...write,
      method: "patch",
      path: "/runs/crons/{cron_id}",
      operationId: "updateCron",
      summary: "Changes a cron.",
      params: cronParams,
      body: cronChange,
      async handle({ params, body, principal }) {
        const { cron_id: id } = params;
        await find(principal, id);
        const changed = await schedules.update(principal.tenantId, id, (before) => ({
          ...timesOf(base, before, body),
          ...(body.enabled != null && { enabled: body.enabled }),
          ...(body.metadata && { metadata: body.metadata }),
          ...(body.on_run_completed && { isEphemeral: body.on_run_completed === "delete" }),
          request: changedRequest(before, body),
        }));
        await record(principal, "update", id);
        return { status: 200, body: cronOf(changed) };
      },
    }),
    defineRoute({
      tag: "langgraph",
      scopes: ["runs:write"],
      params: cronParams,
      answers: { 204: { description: "Deleted." } },
      method: "delete",
      path: "/runs/crons/{cron_id}",
      operationId: "deleteCron",
      summary: "Deletes a cron. Its runs and threads stay.",
      async handle({ params, principal }) {
        await find(principal, params.cron_id);
        await schedules.remove(principal.tenantId, params.cron_id);
        await record(principal, "delete", params.cron_id);
        return { status: 204 };
      },
    }),
  ];
}

/** @throws HttpProblem `invalid_input` */
function timesOf(base: ApiBase, before: Schedule, body: CronChange) {
  if (!body.schedule && !body.timezone && body.end_time === undefined) return {};
  const times = {
    cron: body.schedule ?? before.cron,
    timeZone: body.timezone ?? before.timeZone,
    endAt: body.end_time === undefined ? before.endAt : body.end_time,
  };
  return { ...times, nextAt: checkedNext(base, times, { pointers }) };
}

/** The request with the parts that a body has. @throws HttpProblem `invalid_input` */
function changedRequest({ request }: Schedule, body: CronChange): Schedule["request"] {
  const given = optionsOf({ ...body, assistant_id: "" });
  const { config, context, stream_mode: modes, stream_subgraphs: subgraphs } = body;
  return {
    ...request,
    ...((config || body.metadata) && { config: given.config }),
    ...(context && { context: given.context }),
    ...(modes && { stream_mode: given.stream_mode }),
    ...(subgraphs != null && { subgraphs: given.subgraphs }),
    ...(given.interrupt_before && { interrupt_before: given.interrupt_before }),
    ...(given.interrupt_after && { interrupt_after: given.interrupt_after }),
    ...(given.durability && { durability: given.durability }),
    ...(isRecord(body.input) && { input: body.input }),
  };
}

function cronOf(found: Schedule): z.output<typeof cronSchema> {
  const { request, metadata, threadId, isEphemeral, isExclusive } = found;
  const {
    turn_id: _turn,
    multitask_strategy: _strategy,
    ...payload
  } = request as unknown as GraphRequest;
  return {
    cron_id: found.id,
    assistant_id: found.agentId,
    thread_id: threadId,
    on_run_completed: threadId === null && isEphemeral ? "delete" : "keep",
    end_time: found.endAt,
    schedule: found.cron,
    timezone: found.timeZone,
    created_at: found.createdAt,
    updated_at: found.updatedAt,
    payload: {
      ...payload,
      metadata,
      multitask_strategy: isExclusive ? "reject" : "enqueue",
    },
    user_id: null,
    next_run_date: found.enabled ? found.nextAt : null,
    metadata,
    enabled: found.enabled,
  };
}
