import { z } from "zod";
import { durabilities } from "../../compile/agent-graph.ts";
import { graphStreamModes, multitaskStrategies } from "../../engine/graph/graph-request.ts";
import { jsonbText } from "../../storage/platform/checks.ts";
import { textUpTo } from "../paging.ts";

const name = z.string().min(1).max(200);

const anything = z.record(z.string().max(1_000), z.unknown()).refine((value) => {
  try {
    jsonbText("value", value, 65_536);
    return true;
  } catch {
    return false;
  }
}, "expected at most 65,536 bytes of JSON without NUL");

const nodes = z.union([z.literal("*"), z.array(name).max(100)]);
const mode = z.enum(graphStreamModes);
const goto = z.union([name, z.object({ node: name, input: z.unknown().optional() })]);

const modelName = z
  .string()
  .max(300)
  .regex(/^[^\s:]+:\S+$/, "expected provider:model");
const context = z.object({
  model: modelName.nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  user: z.string().min(1).max(200).nullish(),
});

/** The body of a new run. LangGraph's server ignores fields that it does not know. */
export const newRun = z
  .object({
    assistant_id: textUpTo(200).describe("Id or name of the agent."),
    input: z.unknown().optional().describe("Null continues the thread."),
    command: z
      .object({
        resume: z.unknown().optional(),
        update: z
          .union([
            z.record(z.string(), z.unknown()),
            z.array(z.tuple([z.string(), z.unknown()])).max(1_000),
          ])
          .nullish(),
        goto: z.union([goto, z.array(goto).max(100)]).nullish(),
      })
      .nullish(),
    config: z
      .object({
        tags: z.array(name).max(100).nullish(),
        recursion_limit: z.int().min(1).max(10_000).nullish(),
        configurable: anything.nullish(),
        metadata: anything.nullish(),
      })
      .nullish(),
    context: context.nullish(),
    metadata: anything.nullish(),
    stream_mode: z.union([mode, z.array(mode).max(graphStreamModes.length)]).nullish(),
    stream_subgraphs: z.boolean().nullish(),
    stream_resumable: z.boolean().nullish().describe("Ignored: every stream can be resumed."),
    interrupt_before: nodes.nullish(),
    interrupt_after: nodes.nullish(),
    multitask_strategy: z.enum(multitaskStrategies).nullish().describe("Default `reject`."),
    on_completion: z.enum(["delete", "keep"]).nullish(),
    on_disconnect: z.enum(["cancel", "continue"]).nullish(),
    after_seconds: z.number().min(0).max(2_678_400).nullish(),
    if_not_exists: z.enum(["reject", "create"]).nullish(),
    durability: z.enum(durabilities).nullish(),
    checkpoint_during: z.boolean().nullish(),
    checkpoint_id: name.nullish(),
    checkpoint: z
      .object({ checkpoint_id: name.nullish(), checkpoint_ns: z.string().max(1_000).nullish() })
      .nullish(),
    webhook: z.string().max(8_192).nullish().describe("Refused: register webhooks instead."),
  })
  .meta({ id: "LangGraphNewRun" });
export type NewGraphRun = z.output<typeof newRun>;

export const newRuns = z.array(newRun).min(1).max(50);

export const runStatuses = [
  "pending",
  "running",
  "error",
  "success",
  "timeout",
  "interrupted",
] as const;

export const graphRun = z
  .looseObject({
    run_id: z.string(),
    thread_id: z.string(),
    assistant_id: z.string().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    status: z.enum(runStatuses),
    metadata: z.record(z.string(), z.unknown()),
    kwargs: z.record(z.string(), z.unknown()).optional(),
    multitask_strategy: z.enum(multitaskStrategies).optional(),
  })
  .meta({ id: "LangGraphRun" });

/** `1` and `true`, as clients send them. */
export const flag = z.enum(["0", "1", "true", "false", ""]).optional();

export function isSet(given: z.output<typeof flag>): boolean {
  return given === "1" || given === "true";
}

export const threadParams = z.strictObject({
  thread_id: textUpTo(255).describe("Id of the thread."),
});
export const runParams = z.strictObject({ run_id: textUpTo(100).describe("Id of the run.") });
export const threadRunParams = threadParams.extend(runParams.shape);

export const cancelAction = z.enum(["interrupt", "rollback"]).default("interrupt");

export const cancelMany = z
  .object({
    thread_id: textUpTo(255).nullish(),
    run_ids: z.array(textUpTo(100)).max(100).nullish(),
    status: z.enum(["pending", "running", "all"]).nullish(),
  })
  .meta({ id: "LangGraphCancelRuns" });
