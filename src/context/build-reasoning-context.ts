import { SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { systemClock } from "../clock.ts";
import type { AgentModel, ModelTool } from "../models/agent-model.ts";
import { modelProfile, type ModelProfile } from "../models/model-profile.ts";
import type { RunningSummary } from "../state/channels.ts";
import type { StepRecord } from "../state/step-record.ts";
import {
  askModel,
  composeSummarised,
  type SummaryRequest,
} from "./summarise/compose-summarised.ts";
import { composeContext } from "./compose/compose-context.ts";
import {
  type ComposeOptions,
  type ContextSettings,
  type Goal,
  InvalidContextOptionError,
  type ReasoningContext,
} from "./reasoning-context.ts";
import { memorySection } from "./memory-section.ts";
import { loopTranscript } from "./transcript.ts";
import { observedSteps } from "./step-note.ts";
import type { StepForm } from "./step-messages.ts";
import { createResultSummaryCache, type ResultSummaryCache } from "./summarise/result-summary.ts";
import { summariseResults } from "./summarise/results.ts";

export interface BuildReasoningContextOptions extends ContextSettings {
  /** The target model: its `provider:model`, or its profile. */
  readonly model: string | ModelProfile;
  /**
   * Messages of the user and final answers, oldest first. Messages of tool calls may stand between them: they are not
   * told again, and say which turn is which.
   */
  readonly conversation: readonly BaseMessage[];
  readonly steps: readonly StepRecord[];
  readonly goal: Goal;
  readonly systemPrompt?: string;
  /** What is known from elsewhere, one text each. */
  readonly memories?: readonly string[];
  /** What the execution state holds, as text; said last. */
  readonly executionView?: string;
  /** The turn under way. Default: the last one that the conversation or the steps know of. */
  readonly turnNumber?: number;
  /** How steps are rendered. Default `native`; `report` for a request that offers no tools. */
  readonly form?: StepForm;
  /** Counted within the budget. */
  readonly tools?: readonly ModelTool[];
  /** What a model has written about the first turns. */
  readonly summary?: RunningSummary | null;
}

export interface SummarizeOptions {
  /** Asked for the summaries. */
  readonly model: AgentModel;
  /** Successful results with more tokens are summarised. Default 2,000. */
  readonly thresholdTokens?: number;
  /** Milliseconds that all summaries of one context may take together. Default 15,000. */
  readonly timeoutMs?: number;
  /** Summaries made before. Default: one for the model, shared by all contexts of the process. */
  readonly cache?: ResultSummaryCache;
  /** Ends the summaries, and the context with them. */
  readonly signal?: AbortSignal;
}

/**
 * What a model call gets to read, made from records: the system prompt, what is remembered, and for each turn what was
 * asked, the steps and what was answered. A `planning` context has what chooses the next step, with large results as
 * previews that keep ids, URLs, counts and keys; one for `synthesis` has whole results. What the budget has no room for
 * falls away in the order of the documentation, docs/context.md, in rare large moves.
 *
 * The same options give the same bytes. Records and messages are not changed; each is rendered and counted once.
 *
 * With `summarize` a model's words stand for results that would be previewed, and the context is a promise. A summary that
 * fails or takes too long leaves the preview; what it cost is in the metadata.
 *
 * @throws ContextOverflowError when what always stays does not fit
 * @throws InvalidContextOptionError
 * @example
 * const { messages, metadata } = buildReasoningContext({ model: "openai:gpt-4o", conversation, steps, goal: "planning" });
 */
export function buildReasoningContext(
  options: BuildReasoningContextOptions & { readonly summarize: SummarizeOptions },
): Promise<ReasoningContext>;
export function buildReasoningContext(
  options: BuildReasoningContextOptions & { readonly summarize?: undefined },
): ReasoningContext;
export function buildReasoningContext(
  options: BuildReasoningContextOptions & { readonly summarize?: SummarizeOptions | undefined },
): ReasoningContext | Promise<ReasoningContext> {
  const composed = composeOptions(options);
  const { summarize } = options;
  if (summarize === undefined) return composeContext(composed);
  const { model, thresholdTokens = 2000, timeoutMs = 15_000, signal } = summarize;
  const summarise = (wish: SummaryRequest) =>
    summariseResults({
      ...wish,
      goal: options.goal,
      ask: askModel(model),
      profile: model.profile,
      thresholdTokens,
      timeoutMs,
      clock: systemClock,
      cache: summarize.cache ?? cacheOf(model),
      signal,
    });
  return composeSummarised(composed, summarise, signal);
}

const caches = new WeakMap<AgentModel, ResultSummaryCache>();

function cacheOf(model: AgentModel): ResultSummaryCache {
  const known = caches.get(model);
  if (known !== undefined) return known;
  const made = createResultSummaryCache();
  caches.set(model, made);
  return made;
}

function composeOptions(options: BuildReasoningContextOptions): ComposeOptions {
  const { model, goal, systemPrompt = "", memories = [], executionView = "", turnNumber } = options;
  if (goal !== "planning" && goal !== "synthesis") {
    throw new InvalidContextOptionError("goal", goal, '"planning" or "synthesis"');
  }
  const profile = typeof model === "string" ? modelProfile(model) : model;
  const transcript = loopTranscript({
    conversation: options.conversation,
    steps: options.steps,
    note: executionView,
    ...(turnNumber !== undefined && { turnNumber }),
  });
  return {
    profile,
    goal,
    settings: options,
    form: options.form ?? "native",
    opening: systemPrompt === "" ? [] : [new SystemMessage(systemPrompt)],
    memory: memorySection(
      memories.map((text) => ({ text })),
      { count: profile.count },
    ),
    transcript,
    summary: options.summary ?? null,
    observed: observedSteps(options.steps),
    ...(options.tools !== undefined && { tools: options.tools }),
  };
}
