import type { Durability } from "../compile/agent-graph.ts";

/** What of LangGraph's protocol a run may stream. */
export const streamModes = [
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
export type StreamMode = (typeof streamModes)[number];

/** A command of LangGraph's protocol. */
export interface GraphCommand {
  readonly resume?: unknown;
  readonly update?: unknown;
  readonly goto?: GraphTarget | readonly GraphTarget[];
}

type GraphTarget = string | { readonly node: string; readonly input?: unknown };

/** What a claim of a run of kind `graph` executes, as the row of the run stores it. */
export interface GraphRequest {
  /** The version of the agent. */
  readonly definition_id: string;
  /** Names the turn that begins or goes on, so that it is executed once however often the run is claimed. */
  readonly turn_id: string;
  readonly assistant_id: string;
  /** The input of the graph; null resumes it. */
  readonly input?: unknown;
  /** Instead of an input. */
  readonly command?: GraphCommand;
  readonly stream_mode: readonly StreamMode[];
  /** Whether nested agents stream too. */
  readonly subgraphs: boolean;
  readonly interrupt_before?: "*" | readonly string[];
  readonly interrupt_after?: "*" | readonly string[];
  /** Where the run starts. Default: the newest checkpoint. */
  readonly checkpoint?: Readonly<Record<string, unknown>>;
  readonly recursion_limit?: number;
  readonly tags?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly durability?: Durability;
  /** `provider:model` instead of the definition's. */
  readonly model?: string;
  readonly temperature?: number;
  /** Whose memories the run reads and writes. */
  readonly user?: string;
  readonly multitask_strategy: string;
}
