import { z } from "zod";
import { missedPolicies, type Schedule } from "../../storage/platform/time/schedule-rows.ts";
import { isRecord } from "../../values/json.ts";
import { parameterText } from "../paging.ts";
import { message, modelOverride, runMetadata, threadId } from "../runs/schemas.ts";

export const scheduleParams = z.strictObject({
  schedule_id: z.string().min(1).max(100).describe("Id of the schedule."),
});

const cron = z
  .string()
  .min(1)
  .max(200)
  .describe(
    "Minutes, hours, days of the month, months, days of the week; as in `0 9 * * MON-FRI`, or `@daily`.",
  );
const timeZone = z.string().min(1).max(64).describe("IANA name, as in `Europe/Berlin`.");
const input = z
  .looseObject({ message })
  .refine(
    (given) => given["attachments"] === undefined,
    "expected no attachments: a schedule has none",
  )
  .meta({ id: "ScheduleInput", description: "As the agent's input schema." });
const config = z
  .strictObject({
    model_override: modelOverride,
    user: parameterText.nullish().describe("Whose memories the runs read and write."),
    priority: z.int().min(-1_000).max(1_000).default(0).describe("Higher ones are first."),
  })
  .meta({ id: "ScheduleConfig" });
const thread = z
  .strictObject({
    policy: z
      .enum(["new", "keep"])
      .describe("`new`: each run has a new thread. `keep`: all runs have the same one."),
    thread_id: threadId.nullish().describe("The thread that is kept. Default: a new one."),
  })
  .refine(
    ({ policy, thread_id: kept }) => policy === "keep" || !kept,
    "expected no thread_id: each run has a new thread",
  )
  .meta({ id: "ScheduleThread" });
const missed = z
  .enum(missedPolicies)
  .describe(
    "Of firings that passed while no server ran or the schedule was paused: `once` makes one run, `all` one for each, `none` none.",
  );
const maxMissed = z
  .int()
  .min(1)
  .max(100)
  .describe("With `all`: the newest missed firings that make runs.");
const endAt = z.iso.datetime({ offset: true }).nullable().describe("No firing after it.");
const name = parameterText.nullable().describe("Unique among the schedules of the tenant.");
const enabled = z.boolean().describe("False: it is paused.");

export const newSchedule = z
  .strictObject({
    name: name.default(null),
    agent_id: z.string().min(1).max(100),
    cron,
    time_zone: timeZone.default("UTC"),
    input,
    config: config.optional(),
    metadata: runMetadata.optional().describe("Of its runs."),
    thread: thread.default({ policy: "new" }),
    missed: missed.default("once"),
    max_missed: maxMissed.default(10),
    enabled: enabled.default(true),
    end_at: endAt.default(null),
  })
  .meta({ id: "NewSchedule" });

export const scheduleChange = z
  .strictObject({
    name: name.optional(),
    cron: cron.optional(),
    time_zone: timeZone.optional(),
    input: input.optional(),
    config: config.optional().describe("Replaces the config."),
    metadata: runMetadata.optional(),
    thread: thread.optional(),
    missed: missed.optional(),
    max_missed: maxMissed.optional(),
    enabled: enabled.optional(),
    end_at: endAt.optional(),
  })
  .meta({ id: "ScheduleChange" });
export type ScheduleChangeBody = z.output<typeof scheduleChange>;

export const timesToCheck = z
  .strictObject({
    cron,
    time_zone: timeZone.default("UTC"),
    end_at: endAt.default(null),
    count: z.int().min(1).max(100).default(10).describe("Firings."),
  })
  .meta({ id: "ScheduleTimes" });

const time = z.iso.datetime();
export const firingsSchema = z.strictObject({ firings: z.array(time) }).meta({ id: "Firings" });
export const scheduleSchema = z
  .strictObject({
    id: z.string(),
    name: z.string().nullable(),
    agent_id: z.string(),
    kind: z
      .enum(["turn", "graph"])
      .describe("`graph`: a cron of LangGraph's protocol, which changes it."),
    cron: z.string(),
    time_zone: z.string(),
    input: z.unknown(),
    config: z.strictObject({
      model_override: z.string().nullable(),
      user: z.string().nullable(),
      priority: z.int(),
    }),
    metadata: z.record(z.string(), z.unknown()),
    thread: z.strictObject({ policy: z.enum(["new", "keep"]), thread_id: z.string().nullable() }),
    missed: z.enum(missedPolicies),
    max_missed: z.int(),
    enabled: z.boolean(),
    next_at: time.nullable().describe("Null after the last firing."),
    last_at: time.nullable().describe("The newest firing that made a run."),
    last_run_id: z.string().nullable(),
    last_problem: z
      .string()
      .nullable()
      .describe("Why the newest firing made no run; null if it made one."),
    end_at: time.nullable(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: "Schedule" });

export function scheduleOf(schedule: Schedule): z.output<typeof scheduleSchema> {
  const { request, threadId: kept } = schedule;
  const context = isRecord(request["context"]) ? request["context"] : request;
  const text = (value: unknown) => (typeof value === "string" ? value : null);
  return {
    id: schedule.id,
    name: schedule.name,
    agent_id: schedule.agentId,
    kind: schedule.kind,
    cron: schedule.cron,
    time_zone: schedule.timeZone,
    input: request["input"] ?? null,
    config: {
      model_override: text(context["model"]),
      user: text(context["user"]),
      priority: schedule.priority,
    },
    metadata: schedule.metadata,
    thread: { policy: kept === null ? "new" : "keep", thread_id: kept },
    missed: schedule.missed,
    max_missed: schedule.maxMissed,
    enabled: schedule.enabled,
    next_at: schedule.nextAt,
    last_at: schedule.lastAt,
    last_run_id: schedule.lastRunId,
    last_problem: schedule.lastProblem,
    end_at: schedule.endAt,
    created_at: schedule.createdAt,
    updated_at: schedule.updatedAt,
  };
}
