import { z } from "zod";
import { hasScope } from "../../storage/platform/api-keys.ts";
import { runKinds } from "../../storage/platform/runs/run-rows.ts";
import type {
  QueueDepth,
  QueueState,
  Worker,
  Workers,
} from "../../storage/platform/runs/workers.ts";
import type { MetricSource } from "../metrics.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, type Route } from "../route.ts";

const count = z.int().min(0);
const time = z.iso.datetime();

const workerSchema = z
  .strictObject({
    name: z.string(),
    host: z.string(),
    pid: z.int(),
    version: z.string(),
    kinds: z.array(z.enum(runKinds)).nullable().describe("Kinds of runs that it takes; null: all."),
    labels: z.array(z.string()),
    concurrency: count,
    running: count.describe("Runs that it executed when it was last seen."),
    watched: z
      .boolean()
      .describe("Whether others see its end at once. Otherwise the leases of its runs decide."),
    started_at: time,
    seen_at: time,
    silent_ms: count.describe(
      "Milliseconds since it was seen; more than 15,000: it may be frozen.",
    ),
  })
  .meta({ id: "Worker" });

const depth = {
  queued: count.describe("Runs that are due, also those behind another run of their thread."),
  delayed: count.describe("Runs whose time has not come."),
  running: count,
  awaiting_human: count,
  awaiting_tool: count,
  awaiting_event: count.describe("Runs that wait for a time or an event."),
  dead: count.describe("Runs whose workers were lost one after the other: retry or cancel them."),
  oldest_seconds: z.number().min(0).nullable().describe("For which the oldest run is due."),
};

const queueSchema = z
  .strictObject({
    ...depth,
    fleet: z
      .strictObject({
        ...depth,
        workers: z.array(z.strictObject({ name: z.string(), running: count })),
        ended_leases: count.describe("Runs that were put back since their lease had ended."),
        takeovers: count.describe("Runs that were put back since their worker had died."),
      })
      .nullable()
      .describe("The runs of all tenants, for keys with the scope `operator`; else null."),
  })
  .meta({ id: "Queue" });

/** Creates the routes of the processes that take runs, and of the queue. */
export function workerRoutes({ platform, clock }: ApiBase): readonly Route[] {
  const { workers } = platform;
  return [
    defineRoute({
      method: "get",
      path: "/v1/workers",
      operationId: "listWorkers",
      summary: "Lists the processes that take runs, by name. Names no tenant.",
      tag: "workers",
      scopes: ["operator"],
      answers: {
        200: {
          description: "The workers, at most 1,000.",
          schema: z.strictObject({ workers: z.array(workerSchema) }),
        },
      },
      handle: async () => ({
        status: 200,
        body: { workers: (await workers.list()).map(workerBodyOf) },
      }),
    }),
    defineRoute({
      method: "get",
      path: "/v1/queue",
      operationId: "getQueue",
      summary: "Counts the runs of the tenant that have not ended, and the dead ones.",
      description: "With the scope `operator` as well those of all tenants, by worker.",
      tag: "workers",
      scopes: ["runs:read"],
      answers: { 200: { description: "The queue.", schema: queueSchema } },
      async handle({ principal }) {
        const own = await workers.depthOf(principal.tenantId);
        const fleet = hasScope(principal, "operator") ? await workers.state() : null;
        const now = clock.now();
        return {
          status: 200,
          body: { ...depthBodyOf(own, now), fleet: fleet && queueBodyOf(fleet, now) },
        };
      },
    }),
  ];
}

export function workerBodyOf(worker: Worker) {
  const { name, host, pid, version, kinds, labels, concurrency, running } = worker;
  return {
    name,
    host,
    pid,
    version,
    kinds,
    labels,
    concurrency,
    running,
    watched: worker.isWatched,
    started_at: worker.startedAt,
    seen_at: worker.seenAt,
    silent_ms: worker.silentMs,
  };
}

export function queueBodyOf(state: QueueState, now: Date) {
  return {
    ...depthBodyOf(state, now),
    workers: state.runningBy.map(({ worker: name, runs: running }) => ({ name, running })),
    ended_leases: state.endedLeases,
    takeovers: state.takeovers,
  };
}

function depthBodyOf(of: QueueDepth, now: Date) {
  const { queued, delayed, running, dead, oldestAt } = of;
  return {
    queued,
    delayed,
    running,
    awaiting_human: of.awaitingHuman,
    awaiting_tool: of.awaitingTool,
    awaiting_event: of.awaitingEvent,
    dead,
    oldest_seconds: oldestAt === null ? null : secondsSince(oldestAt, now),
  };
}

function secondsSince(past: string, now: Date): number {
  return Math.max(0, now.getTime() - Date.parse(past)) / 1_000;
}

/** The metrics of the queue of all tenants: the same from every process, without names of tenants and workers. */
export function queueMetrics({
  workers,
  now,
}: {
  readonly workers: Pick<Workers, "list" | "state">;
  readonly now: () => Date;
}): MetricSource {
  return async () => {
    const [state, listed] = await Promise.all([workers.state(), workers.list()]);
    const { running, queued, delayed, dead } = state;
    const states = { queued, delayed, running, dead };
    const waiting = {
      awaiting_human: state.awaitingHuman,
      awaiting_tool: state.awaitingTool,
      awaiting_event: state.awaitingEvent,
    };
    const lost = { takeovers: state.takeovers, ended_leases: state.endedLeases };
    const seconds = state.oldestAt === null ? 0 : secondsSince(state.oldestAt, now());
    return [
      ...Object.entries({ ...states, ...waiting }).map(([name, value]) => ({
        name: "stratagraph_queue_depth",
        help: "Runs of all tenants by state; those that have ended are left out, apart from dead ones.",
        value,
        labels: { state: name },
      })),
      {
        name: "stratagraph_queue_oldest_seconds",
        help: "Seconds for which the oldest queued run is due.",
        value: seconds,
      },
      ...Object.entries(lost).map(([name, value]) => ({
        name: `stratagraph_queue_${name}_total`,
        help:
          name === "takeovers"
            ? "Runs that were put back since their worker had died."
            : "Runs that were put back since their lease had ended.",
        type: "counter" as const,
        value,
      })),
      {
        name: "stratagraph_workers",
        help: "Processes that take runs.",
        value: listed.length,
      },
      {
        name: "stratagraph_workers_silent",
        help: "Processes that take runs and have not been seen for 15 seconds.",
        value: listed.filter(({ silentMs }) => silentMs > 15_000).length,
      },
    ];
  };
}
