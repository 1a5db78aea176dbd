import type { BaseMessage } from "@langchain/core/messages";
import type { StepRecord } from "../state/step-record.ts";

/** What a model may be told of, in the order in which it happened. */
export interface Transcript {
  readonly entries: readonly Entry[];
  /** Said last and always whole: a request of the loop, an answer to be judged. */
  readonly tail: readonly BaseMessage[];
  /** The turn under way. */
  readonly turn: number;
}

export type Entry = SpokenEntry | StepEntry | FixedEntry;

/** What a person said, or was answered. */
export interface SpokenEntry {
  readonly kind: "spoken";
  readonly turn: number;
  readonly message: BaseMessage;
  /** What its turn is about: it stays while the turn is under way. */
  readonly isRequest: boolean;
}

export interface StepEntry {
  readonly kind: "step";
  readonly turn: number;
  readonly step: StepRecord;
}

/** What stays as it is while its turn is under way: why an answer was refused, the request of a node. */
export interface FixedEntry {
  readonly kind: "fixed";
  readonly turn: number;
  readonly messages: readonly BaseMessage[];
}
