import type { RunnableConfig } from "@langchain/core/runnables";
import { isRecord } from "../../state/is-record.ts";
import type { Usage } from "../../state/usage.ts";

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
