import type { BaseMessage } from "@langchain/core/messages";
import { StratagraphError } from "../errors.ts";
import type { ModelTool, StructuredAnswer } from "../models/agent-model.ts";
import type { ModelProfile } from "../models/model-profile.ts";
import type { RunningSummary } from "../state/channels.ts";
import type { StepForm } from "./step-messages.ts";
import type { Observed } from "./step-note.ts";
import type { Transcript } from "./transcript.ts";

/** How a strategy treats earlier turns that exceed their budget, the oldest first. */
interface ShortTermRules {
  /**
   * The form in which turns are measured to decide whether a model has to summarise the oldest: `lines` where they are
   * shortened to lines of calls before. Null where no summary is made.
   */
  readonly summarises: "whole" | "lines" | null;
  /** Whether results of steps become previews, and steps lines, before turns are shortened. */
  readonly shortensSteps: boolean;
  /** Whether a turn is dropped at once, instead of being shortened to its digest, and then to one line. */
  readonly dropsTurns: boolean;
}

/** One object for each strategy of `memory_config.short_term`. */
export const shortTermStrategies = {
  /** Drops the oldest turns. */
  fifo: { summarises: null, shortensSteps: false, dropsTurns: true },
  /** Has a model summarise the oldest turns. */
  summarize: { summarises: "whole", shortensSteps: false, dropsTurns: false },
  /** Shortens steps first, and has a model summarise turns where that is not enough. */
  hybrid: { summarises: "lines", shortensSteps: true, dropsTurns: false },
} as const satisfies Readonly<Record<string, ShortTermRules>>;

export type ShortTermStrategy = keyof typeof shortTermStrategies;

/** What earlier turns may take of a context. */
export interface ShortTermPolicy {
  readonly strategy: ShortTermStrategy;
  /** Tokens. */
  readonly maxTokens: number;
}

/** How contexts are made, where a definition or a caller can say so. */
export interface ContextSettings {
  /** Default `medium`. */
  readonly utilization?: Utilization;
  /** Tokens that messages and tools may have together, instead of a share of the window. */
  readonly budget?: number;
  /**
   * Which results are whole while there is room, for the goal `planning`: those of the last step (the default), of
   * the whole turn under way, where the reply may be the answer, or none. For `synthesis` all are.
   */
  readonly whole?: WholeResults;
  /** Characters from which on a result is previewed where it need not be whole. Default 1,000. */
  readonly previewChars?: number;
  /** Default: earlier turns may take as much as there is. */
  readonly shortTerm?: ShortTermPolicy;
}

/** The steps whose large results are no previews. */
export type WholeResults = "turn" | "last_step" | "none";

/** What a model call is for: to decide the next step, or to write the answer. */
export type Goal = "planning" | "synthesis";

/** How much of the model's window a context may fill: a third, two thirds, all of it. */
export type Utilization = "low" | "medium" | "full";

/**
 * How a step is rendered. `whole`: nothing is left out. `preview`: a result is shortened. `summarised`: a result in a
 * model's words. `line`: one line for each call. `dropped`: not at all, or only by what a summary says of it.
 */
export type StepFidelity = "whole" | "preview" | "summarised" | "line" | "dropped";

/** How a message of the conversation is rendered: `summarised` by its first words, or by a summary that covers it. */
export type MessageFidelity = "whole" | "summarised" | "dropped";

/** What a context is composed of, and for whom. */
export interface ComposeOptions {
  readonly profile: ModelProfile;
  readonly goal: Goal;
  readonly settings: ContextSettings;
  readonly form: StepForm;
  /** What every call begins with: the system prompt and examples. */
  readonly opening: readonly BaseMessage[];
  /** What is remembered from elsewhere; after the opening. */
  readonly memory?: MemorySection;
  /** The tools that the request offers. */
  readonly tools?: readonly ModelTool[];
  /** The schema of the reply, if one is bound. */
  readonly answer?: StructuredAnswer;
  readonly transcript: Transcript;
  /** What a model has written about the first turns. */
  readonly summary?: RunningSummary | null;
  /** What a model has made of large results, by `summaryKey`. */
  readonly summaries?: ReadonlyMap<string, string>;
  readonly summariesMade?: readonly ResultSummaryMade[];
  /** Steps with what later steps noted on their results. */
  readonly observed?: Observed;
}

/** A remembered entry as a context renders it. */
export interface MemoryShown {
  readonly id: string;
  /** `short_term`, `episodic`, `semantic` or `procedural`. */
  readonly type: string;
  readonly tokens: number;
  /** From 0 to 1; null if it was not found by a search. */
  readonly score: number | null;
  /** `cut`: the end of its text is left out. */
  readonly fidelity: "whole" | "cut";
}

/** The memory section of a context: at most one message, marked as data. */
export interface MemorySection {
  readonly messages: readonly BaseMessage[];
  /** In the order of the message. */
  readonly shown: readonly MemoryShown[];
  /** Ids of entries for which there is no room. */
  readonly dropped: readonly string[];
}

/** What a model call gets to read, and how it was made. */
export interface ReasoningContext {
  readonly messages: readonly BaseMessage[];
  readonly metadata: ContextMetadata;
}

/** A context as it is composed for a call within a run. */
export interface ComposedContext extends ReasoningContext {
  /** Whether a step of the turn under way is rendered with less than its results, or what a model made of them. */
  readonly isShortened: boolean;
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
  /** Why each message is there, in their order. */
  readonly sources: readonly MessageSource[];
  /** The remembered entries, in order. */
  readonly memories: readonly MemoryShown[];
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
  /** The offered tools as the model reads them, and the schema of its reply if one is bound. */
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

/** The part of a context that a message belongs to. */
export interface MessageSource {
  /** `summary` is of earlier turns; `request` is what is asked last. Steps in lines are part of the conversation. */
  readonly section: "system" | "memory" | "summary" | "conversation" | "steps" | "request";
  /** The step that it renders; null for other sections. */
  readonly step: Pick<StepShown, "turn" | "step" | "fidelity"> | null;
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
  readonly costUsd: number | null;
}

const ranks: Readonly<Record<StepFidelity, number>> = {
  dropped: 0,
  line: 1,
  preview: 2,
  summarised: 3,
  whole: 4,
};

/**
 * Whether an answer made from a planning context will be written again from the synthesis context: if that
 * one shows more of a step of the turn which planning was shown shortened.
 */
export function needsSynthesis(made: {
  readonly turn: number;
  readonly planning: ContextMetadata;
  readonly synthesis: ContextMetadata;
}): boolean {
  const { turn, planning, synthesis } = made;
  const shown = new Map<number, StepFidelity>();
  for (const { turn: of, step, fidelity } of synthesis.steps) {
    if (of === turn) shown.set(step, fidelity);
  }
  return planning.steps.some(
    ({ turn: of, step, fidelity }) =>
      of === turn && isShort(fidelity) && ranks[shown.get(step) ?? "dropped"] > ranks[fidelity],
  );
}

/** Whether a step is rendered with less than its results, or what a model made of them. */
export function isShort(fidelity: StepFidelity): boolean {
  return ranks[fidelity] <= ranks.preview;
}

/** Tokens of what always stays in a context, by section. */
export interface FixedTokens {
  readonly system: number;
  readonly tools: number;
  readonly memory: number;
  /** The current request, what an answer was refused for, and what is asked last. */
  readonly conversation: number;
  /** The last step, at its shortest, and unresolved errors. */
  readonly steps: number;
}

/** What always stays in a context is larger than its budget. Becomes the turn's failure. */
export class ContextOverflowError extends StratagraphError {
  readonly code = "context_overflow";
  override readonly kind = "run";
  /** `provider:model` */
  readonly model: string;
  /** Tokens of the model's window. */
  readonly window: number;
  /** Tokens that there are for messages and tools. */
  readonly budget: number;
  /** Tokens that they need at least. */
  readonly needed: number;
  readonly sections: FixedTokens;

  constructor(
    facts: Pick<ContextOverflowError, "model" | "window" | "budget" | "needed" | "sections">,
  ) {
    const { model, window, budget, needed, sections } = facts;
    const parts = Object.entries(sections)
      .filter(([, tokens]) => tokens > 0)
      .map(([name, tokens]) => `${name} ${tokens.toLocaleString("en")}`);
    super(
      `What has to stay in the context needs ${needed.toLocaleString("en")} tokens (${parts.join(", ")}); ` +
        `the budget for "${model}" is ${budget.toLocaleString("en")} of a window of ${window.toLocaleString("en")}. ` +
        "Shorten the request or the instructions, offer fewer tools, raise the budget or the utilization, or take a model with a larger window.",
    );
    this.model = model;
    this.window = window;
    this.budget = budget;
    this.needed = needed;
    this.sections = sections;
  }
}

/** An option of a context is out of range. */
export class InvalidContextOptionError extends StratagraphError {
  readonly code = "invalid_context_option";

  constructor(
    readonly option: string,
    readonly given: unknown,
    expected: string,
  ) {
    super(`The option ${option} of a context must be ${expected}; got ${String(given)}.`);
  }
}
