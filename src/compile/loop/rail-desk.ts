import type { AgentRails } from "../../guardrails/create-rails.ts";
import type { RailsEnd } from "../../guardrails/run-rails.ts";
import type { AgentEventBody } from "../../state/event.ts";
import type { RailRecord, RailSide } from "../../state/rail-record.ts";
import type { Redactions } from "../../state/redactions.ts";
import type { ToolPrediction } from "../../state/step-record.ts";
import type { CallFinding } from "../../tools/argument-rules.ts";
import type { AskModel } from "./ask-model.ts";
import type { Marks } from "./marks.ts";
import type { LoopParts } from "./parts.ts";

/** Where in a turn something is checked. */
export interface RailPlace {
  readonly turnNumber: number;
  readonly attemptNumber: number;
  /** Null on input and output. */
  readonly stepIndex: number | null;
  readonly callId: string | null;
}

export interface RailCheck {
  readonly on: Exclude<RailSide, "tool_call">;
  /** Which rails are asked. Default: all on that side. */
  readonly rails?: keyof AgentRails;
  readonly value: unknown;
  readonly tool: string | null;
  /** What the person asked. */
  readonly request: string;
  /** What an answer may rest on; empty on input and results. */
  readonly evidence: readonly string[];
}

/** Runs the rails of one node, and keeps what they say and what they redact until it is written. */
export interface RailDesk extends Marks {
  /** Whether it neither knows a redaction nor may make one. */
  readonly isIdle: boolean;
  check(of: RailCheck, place: RailPlace): Promise<RailsEnd>;
  /** Writes down what tool rails found of a call. */
  note(
    call: ToolPrediction,
    findings: readonly CallFinding[],
    place: Omit<RailPlace, "callId">,
  ): void;
  /** All that the thread and the agents around it know. */
  redactions(): Redactions;
  /** Takes in what was redacted for this node before, when it was cut off. */
  enter(redactions: Redactions): void;
  /** What the node has to write. */
  made(): { readonly rails?: readonly RailRecord[]; readonly redactions?: Redactions };
}

export interface RailDeskOptions {
  readonly parts: LoopParts;
  readonly signal: AbortSignal;
  /** Of the thread. */
  readonly redactions: Redactions;
  /** Of the agents around. */
  readonly inherited: Redactions;
  /** Put after the labels of marks that are made; set where nodes beside this one make some too. */
  readonly suffix?: string;
  readonly ask: AskModel;
  readonly emit: (body: AgentEventBody, of: { turnNumber: number; attemptNumber: number }) => void;
}
