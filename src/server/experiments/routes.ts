import { z } from "zod";
import type { FolderExperiment, LogFolder } from "../../experiment/report/log-folder.ts";
import { logEntrySchema } from "../../experiment/log/log-entry.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import { integerParameter, pageAnswer, pageQuery, pageRequest, pageSchema } from "../paging.ts";
import { defineRoute, type Route } from "../route.ts";

const count = z.int().min(0);
const time = z.iso.datetime();
const counts = z.array(count);
const knownCounts = z.array(count.nullable());

const experiment = {
  id: z.string(),
  title: z.string().describe("What the ids of its runs begin with, or its folder's name."),
  folder: z.string().describe("Path from the folder that is served; `.` for that folder."),
  logs: count,
  bytes: count.describe("Size of its logs."),
  updated_at: time.describe("When one of its logs was last written."),
};
const experimentSchema = z.strictObject(experiment).meta({ id: "Experiment" });

const runSchema = z
  .strictObject({
    run_id: z.string(),
    model_name: z.string().describe("`provider:model`."),
    seed: z.int().nullable(),
    prompt_name: z.string().nullable().describe("Name of the system prompt in the matrix."),
    config_hash: z.string().describe("SHA-256 of what makes the run, in hex."),
    model_options: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .describe("Of the first model call. Values that are no scalars are JSON texts."),
    cycles_done: count.describe("Cycles that have ended. The lists have the first 10,000."),
    unfinished_cycle: z.int().nullable().describe("The cycle that has begun and not ended."),
    started_at: z.array(time),
    reflections: z.array(z.string()).describe("Truncated after 2,000 characters."),
    memory_ops_total: counts,
    messages_to_operator: counts,
    response_chars: counts,
    memory_write_chars: counts,
    duration_ms: counts,
    llm_invocations: counts,
    tool_calls: counts,
    tool_errors: counts,
    memory_keys: counts,
    memory_chars: counts,
    tokens_in: knownCounts,
    tokens_out: knownCounts,
    cost_usd: z.array(z.number().min(0).nullable()),
  })
  .describe("The cycle at index i of a list is number i + 1.")
  .meta({ id: "ExperimentRun" });

const leftOutSchema = z
  .strictObject({
    file: z.string(),
    reason: z.enum(["broken", "empty", "too_large", "unreadable"]),
    problem_count: count,
    first_problem: z.string().nullable(),
  })
  .meta({ id: "LeftOutLog" });

const limitOf = (to: number) =>
  integerParameter({ from: 1, to: 200, default: to, description: "Entries of a page." });

const experimentId = z.string().min(1).max(100).describe("Id of the experiment.");

/**
 * Creates the routes of experiments, whose logs are in a folder of the server.
 *
 * @param folder null where the server serves none
 */
export function experimentRoutes({
  experiments: folder,
}: {
  readonly experiments: LogFolder | null;
}): readonly Route[] {
  const tag = "experiments";
  const scopes = ["experiments:read"] as const;
  return [
    defineRoute({
      method: "get",
      path: "/v1/experiments",
      operationId: "listExperiments",
      summary:
        "Lists the experiments in the folder that the server serves, the last written first.",
      description: "They belong to the server, not to a tenant.",
      tag,
      scopes,
      query: z.strictObject(pageQuery),
      answers: {
        200: {
          description: "A page of experiments.",
          schema: pageSchema("experiments", experimentSchema).extend({
            is_served: z.boolean().describe("Whether the server was given a folder."),
          }),
        },
      },
      problems: ["invalid_cursor"],
      async handle({ query, request }) {
        const none = { items: [], next: null };
        const page = (await folder?.list(pageRequest(query))) ?? none;
        const item = (of: FolderExperiment) => of;
        const answer = pageAnswer(request, page, { name: "experiments", item });
        return { ...answer, body: Object.assign({ is_served: folder !== null }, answer.body) };
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/experiments/{experiment_id}",
      operationId: "getExperiment",
      summary: "Reads the runs of an experiment with the figures of their cycles, by id.",
      description:
        "A page ends after some 4 MiB too. Logs that are not as runs write them are left out, with the reason.",
      tag,
      scopes,
      params: z.strictObject({ experiment_id: experimentId }),
      query: z.strictObject({ ...pageQuery, limit: limitOf(50) }),
      answers: {
        200: {
          description: "A page of runs.",
          schema: z
            .strictObject({
              ...experiment,
              runs: z.array(runSchema),
              left_out: z.array(leftOutSchema),
              next_cursor: z
                .string()
                .nullable()
                .describe("Cursor of the next page; null at the end."),
            })
            .meta({ id: "ExperimentPage" }),
        },
      },
      problems: ["invalid_cursor"],
      async handle({ params: { experiment_id: id }, query, request, signal }) {
        if (folder === null) throw new NotFoundError("experiment", id);
        const read = await folder.read(id, { ...pageRequest(query), signal });
        const { runs, leftOut, next } = read;
        const answer = pageAnswer(
          request,
          { items: runs, next },
          { name: "runs", item: (run) => run },
        );
        const body = Object.assign({}, read.experiment, answer.body, { left_out: leftOut });
        return { ...answer, body };
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/experiments/{experiment_id}/runs/{run_id}/cycles/{cycle_number}",
      operationId: "getExperimentCycle",
      summary: "Reads what a run logged in one cycle: prompts, replies, calls and the reflection.",
      description: "Texts are truncated after 100,000 characters.",
      tag,
      scopes,
      params: z.strictObject({
        experiment_id: experimentId,
        run_id: z.string().regex(/^[A-Za-z0-9._-]{1,128}$/),
        cycle_number: z
          .string()
          .regex(/^[1-9]\d{0,8}$/, "expected a whole number from 1")
          .transform(Number)
          .meta({ type: "integer", minimum: 1, maximum: 999_999_999 }),
      }),
      query: z.strictObject({ ...pageQuery, limit: limitOf(200) }),
      answers: {
        200: {
          description: "A page of entries of the log.",
          schema: pageSchema("entries", logEntrySchema.meta({ id: "ExperimentLogEntry" })),
        },
      },
      problems: ["invalid_cursor"],
      async handle({ params, query, request, signal }) {
        const { experiment_id: id, run_id: runId, cycle_number: cycle } = params;
        if (folder === null) throw new NotFoundError("experiment", id);
        const wish = { runId, cycle, ...pageRequest(query), signal };
        const page = await folder.cycle(id, wish);
        return pageAnswer(request, page, { name: "entries", item: (entry) => entry });
      },
    }),
  ];
}
