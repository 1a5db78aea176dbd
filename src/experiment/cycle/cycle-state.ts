import type { RunnableConfig } from "@langchain/core/runnables";
import { schemaMetaRegistry } from "@langchain/langgraph/zod";
import { z } from "zod";
import type { ToolForm } from "../../context/step-messages.ts";
import type { ToolPrediction } from "../../state/step-record.ts";
import { addUsage, noUsage, type Usage, usageSchema } from "../../state/usage.ts";
import { isRecord } from "../../values/json.ts";
import type { RunSpec } from "../config/run-spec.ts";
import { type CycleMetrics, type LogMessage, noMetrics } from "../log/log-entry.ts";
import { emptyLog, type LogPosition } from "../log/log-file.ts";

/** The value of every channel of an experiment's graph, as nodes read it. */
export interface CycleState {
  /** As it was given: a config of one run. */
  readonly config: unknown;
  /** The config with its defaults; null before the run has begun. */
  readonly run: RunSpec | null;
  readonly run_id: string;
  readonly model_name: string;
  /** From 1; 0 before the first cycle. */
  readonly cycle_number: number;
  /** Of the present cycle, or the last one. */
  readonly message_history: readonly LogMessage[];
  readonly reflection_history: readonly string[];
  /** Model calls of the present cycle. */
  readonly iteration: number;
  /** Calls that were asked for and not made yet. */
  readonly calls: readonly ToolPrediction[];
  readonly tool_form: ToolForm;
  readonly metrics: CycleMetrics;
  /** Of all cycles. */
  readonly usage: Usage;
  /** Changes that were made to the memory so far. */
  readonly changes: number;
  readonly log: LogPosition;
  readonly status: "EXECUTING" | "COMPLETED";
}

/** What a node may return: `usage` is added, everything else replaces. */
export type CycleUpdate = Partial<CycleState>;

const count = z.number().int().nonnegative();

/** The channels as a zod object with LangGraph's metadata, which LangGraph keeps until the process ends. */
export const cycleStateSchema = z.object({
  config: channel(z.any().describe("The config that the run was given."), () => null),
  run: channel(z.any().describe("The config with its defaults."), () => null),
  run_id: channel(z.string().describe("Names the run, its memory and its log."), () => ""),
  model_name: channel(z.string().describe("provider:model"), () => ""),
  cycle_number: channel(count.describe("Number of the cycle, from 1."), () => 0),
  message_history: channel(
    z.array(z.any()).describe("What was said in the present cycle: role, content and tool calls."),
    () => [],
  ),
  reflection_history: channel(
    z.array(z.string()).describe("What the agent said at the end of each cycle."),
    () => [],
  ),
  iteration: channel(count.describe("Model calls of the present cycle."), () => 0),
  calls: channel(z.array(z.any()).describe("Pending tool calls."), () => []),
  tool_form: channel(
    z.enum(["native", "text"]).describe("How the model calls tools."),
    () => "native",
  ),
  metrics: channel(z.any().describe("What the present cycle has counted."), () => noMetrics),
  usage: channel(
    usageSchema.describe("What the run has spent, all cycles."),
    () => noUsage,
    addUsage,
  ),
  changes: channel(count.describe("Changes made to the memory."), () => 0),
  log: channel(z.any().describe("How much of the log belongs to this state."), () => emptyLog),
  status: channel(
    z.enum(["EXECUTING", "COMPLETED"]).describe("Whether all cycles have ended."),
    () => "EXECUTING",
  ),
} satisfies Record<keyof CycleState, z.ZodType>);

/** What the graph returns. */
export const cycleOutputSchema = cycleStateSchema.pick({
  run_id: true,
  model_name: true,
  cycle_number: true,
  message_history: true,
  reflection_history: true,
  usage: true,
  status: true,
});

function channel<S extends z.ZodType>(
  schema: S,
  initial: () => unknown,
  reduce: (value: never, update: never) => unknown = (_, update) => update,
): S {
  schemaMetaRegistry.extend(schema, () => ({
    default: initial,
    reducer: { fn: reduce as (value: unknown, update: unknown) => unknown },
  }));
  return schema;
}

/** What the nodes of an experiment's graph write to LangGraph's `custom` stream. */
export type CycleEvent = { readonly type: "experiment"; readonly run_id: string } & (
  | {
      readonly event: "doing";
      readonly cycle_number: number;
      /** `thinking`, `reflecting`, or the name of a tool; with the number of the try where a model was out of reach. */
      readonly doing: string;
    }
  /** What the run has spent so far. */
  | { readonly event: "spent"; readonly usage: Usage }
  /** A cycle's last line is in the log. */
  | { readonly event: "cycle_end"; readonly cycle_number: number; readonly reflection: string }
  | { readonly event: "message"; readonly cycle_number: number; readonly text: string }
);

export function isCycleEvent(chunk: unknown): chunk is CycleEvent {
  return isRecord(chunk) && chunk["type"] === "experiment" && typeof chunk["event"] === "string";
}

/** LangGraph's config of a node. */
export type NodeConfig = RunnableConfig & {
  readonly writer?: (chunk: unknown) => void;
  /** `nodeAttempt` counts from 1. */
  readonly executionInfo?: { readonly nodeAttempt: number };
};
