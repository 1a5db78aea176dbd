import type { Durability } from "../../compile/agent-graph.ts";
import type { SavedWrites } from "../../durable-saver.ts";
import type { RunContext } from "../../state/channels.ts";

/** The stream modes of LangGraph's protocol. `messages-tuple` is LangGraph's own `messages`. */
export const graphStreamModes = [
  "values",
  "messages",
  "messages-tuple",
  "updates",
  "events",
  "tasks",
  "checkpoints",
  "debug",
  "custom",
  "tools",
] as const;
export type GraphStreamMode = (typeof graphStreamModes)[number];

export const multitaskStrategies = ["reject", "enqueue", "interrupt", "rollback"] as const;
export type MultitaskStrategy = (typeof multitaskStrategies)[number];

/** A command of LangGraph's protocol. */
export interface GraphCommand {
  /** Answers by id of their interrupts, or the answer to the only one. */
  readonly resume?: unknown;
  readonly update?: Readonly<Record<string, unknown>>;
  readonly goto?: readonly string[];
}

/** What a claim of a run of kind `graph` executes, as the row of the run stores it. */
export interface GraphRequest {
  /** The version of the agent. */
  readonly definition_id: string;
  /** Names the turn that an input begins; without an input the turn that the run continues, as far as it was known. */
  readonly turn_id: string;
  readonly assistant_id: string;
  /** Null resumes the thread. */
  readonly input: Readonly<Record<string, unknown>> | null;
  readonly command?: GraphCommand;
  readonly context: RunContext;
  readonly config: {
    readonly tags?: readonly string[];
    readonly recursion_limit?: number;
    readonly configurable?: Readonly<Record<string, unknown>>;
    readonly metadata?: Readonly<Record<string, unknown>>;
  };
  readonly stream_mode: readonly GraphStreamMode[];
  readonly subgraphs: boolean;
  /** Whether the log has the events of LangGraph's event streaming (`streamEvents` v3) instead of stream modes. */
  readonly protocol?: true;
  readonly interrupt_before?: "*" | readonly string[];
  readonly interrupt_after?: "*" | readonly string[];
  readonly durability?: Durability;
  /** The checkpoint from which the run starts. Default: the newest. */
  readonly checkpoint_id?: string;
  readonly multitask_strategy: MultitaskStrategy;
  /** Pending writes of the checkpoint that the run continues, as they were before it. Written by its first claim. */
  readonly saved_writes?: SavedWrites;
}
