import type { BaseMessage } from "@langchain/core/messages";

/** What a model call is for: to decide the next step, or to write the answer. */
export type Goal = "planning" | "synthesis";

/** How much of the model's window a context may fill: a third, two thirds, all of it. */
export type Utilization = "low" | "medium" | "full";

/**
 * How a step is told. `whole`: nothing is left out. `preview`: a result is shortened. `summarised`: a result is told in a
 * model's words. `line`: one line for each call. `dropped`: not at all, or only by what a summary says of it.
 */
export type StepFidelity = "whole" | "preview" | "summarised" | "line" | "dropped";

/** How a message of the conversation is told: `summarised` by its first words, or by a summary that covers it. */
export type MessageFidelity = "whole" | "summarised" | "dropped";

/** What a model call gets to read, and how it was made. */
export interface ReasoningContext {
  readonly messages: readonly BaseMessage[];
  readonly metadata: ContextMetadata;
}

export interface ContextMetadata {
  readonly goal: Goal;
  /** `provider:model` that the context was made for. */
  readonly model: string;
  /** Tokens of the model's window. */
  readonly window: number;
  /** Tokens that the messages and the tools may have together. */
  readonly budget: number;
  /** Tokens that are kept free for the reply. */
  readonly reserved: number;
  /** Counted when first read. */
  readonly tokens: ContextTokens;
  /** In order; the steps that were given, or are covered by a summary. */
  readonly steps: readonly StepShown[];
  readonly conversation: Readonly<Record<MessageFidelity, number>>;
  /** Calls of a model that summarised results for this context; empty without `summarize`. */
  readonly summaries: readonly ResultSummaryMade[];
  /** What is assumed: of an unknown model its window and tokenizer. */
  readonly notes: readonly string[];
}

export interface ContextTokens {
  /** The sum of the sections. */
  readonly total: number;
  /** System prompt and examples. */
  readonly system: number;
  /** What the model is told of the tools that it is offered, and the schema of its reply where one is bound. */
  readonly tools: number;
  readonly memory: number;
  /** What people said and were answered, what an answer was refused for, and what is asked last. */
  readonly conversation: number;
  readonly steps: number;
  /** What the same sections have with every message and every result whole, as JSON. */
  readonly raw: number;
  /** `raw` less `total`. */
  readonly saved: number;
}

export interface StepShown {
  readonly turn: number;
  readonly step: number;
  readonly fidelity: StepFidelity;
  readonly tokens: number;
}

/** One result that was, or was to be, summarised by a model. */
export interface ResultSummaryMade {
  readonly callId: string;
  readonly model: string;
  /** `cached`: known from before, and free. `timeout` and `failed` fell back to the preview. */
  readonly outcome: "made" | "cached" | "timeout" | "failed";
  readonly latencyMs: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly costUsd: number;
}
