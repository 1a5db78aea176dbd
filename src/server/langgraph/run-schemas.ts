import { z } from "zod";
import { streamModes } from "../../engine/graph-request.ts";
import type { RunState } from "../../storage/platform/runs/runs.ts";
import { HttpProblem } from "../problems.ts";
import { anything } from "./thread-view.ts";

const node = z.string().min(1).max(200);
const nodes = z.union([z.literal("*"), z.array(node).max(100)]);
const target = z.union([node, z.object({ node, input: z.unknown().optional() })]);
const mode = z.enum(streamModes);

const command = z.object({
  resume: z.unknown().optional().describe("The answer to the only request, or answers by id."),
  update: z
    .union([anything, z.array(z.tuple([z.string(), z.unknown()])).max(1_000)])
    .nullish()
    .describe("Refused: change the state with POST /threads/{thread_id}/state."),
  goto: z
    .union([target, z.array(target).max(100)])
    .nullish()
    .describe("Refused: the agent decides which nodes follow."),
});

export const runBody = z
  .object({
    assistant_id: z.string().min(1).max(200).describe("Id or name of an agent."),
    input: z.unknown().optional(),
    command: command.nullish(),
    stream_mode: z
      .union([mode, z.array(mode).max(10)])
      .nullish()
      .describe("Default `values`."),
    stream_subgraphs: z.boolean().nullish(),
    stream_resumable: z.boolean().nullish().describe("Streams always are."),
    config: z
      .object({
        recursion_limit: z.int().min(1).max(10_000).optional(),
        tags: z.array(z.string().max(200)).max(50).optional(),
        configurable: anything.optional(),
      })
      .nullish(),
    context: anything.nullish().describe("`model`, `temperature` and `user` of the run."),
    metadata: anything.nullish(),
    checkpoint_id: z.string().max(100).nullish(),
    checkpoint: z
      .object({
        checkpoint_id: z.string().max(100).nullish(),
        checkpoint_ns: z.string().max(1_000).nullish(),
        checkpoint_map: z.record(z.string(), z.string()).nullish(),
      })
      .nullish(),
    interrupt_before: nodes.nullish(),
    interrupt_after: nodes.nullish(),
    multitask_strategy: z.enum(["reject", "enqueue", "interrupt", "rollback"]).nullish(),
    if_not_exists: z.enum(["reject", "create"]).nullish(),
    on_disconnect: z.enum(["cancel", "continue"]).nullish(),
    on_completion: z.enum(["delete", "keep"]).nullish(),
    after_seconds: z.number().min(0).max(31_536_000).nullish(),
    durability: z.enum(["sync", "async", "exit"]).nullish(),
    webhook: z.string().max(2_000).nullish().describe("Refused: make one with POST /v1/webhooks."),
    feedback_keys: z.array(z.string()).nullish().describe("Ignored: there is no LangSmith here."),
  })
  .meta({ id: "LangGraphRunCreate" });
export type RunBody = z.output<typeof runBody>;

export const runSchema = z
  .looseObject({
    run_id: z.string(),
    thread_id: z.string(),
    assistant_id: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    status: z.enum(["pending", "running", "error", "success", "timeout", "interrupted"]),
    metadata: anything,
    kwargs: anything,
    multitask_strategy: z.string(),
  })
  .meta({ id: "LangGraphRun" });

/** The statuses of runs as LangGraph names them. */
export const statuses: Readonly<Record<RunState, z.output<typeof runSchema>["status"]>> = {
  queued: "pending",
  running: "running",
  complete: "success",
  awaiting_human: "interrupted",
  awaiting_tool: "interrupted",
  failed: "error",
  dead: "error",
  cancelled: "interrupted",
};

/** @throws HttpProblem `invalid_input` */
export function refuseRollback(action: string | null | undefined): void {
  if (action !== "rollback") return;
  throw new HttpProblem("invalid_input", {
    detail: "This server keeps the states of a run that is cancelled: use interrupt.",
    extensions: { code: "rollback_unavailable" },
  });
}
