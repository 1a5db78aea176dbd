import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { Clock } from "../../clock.ts";
import { stepFormOf } from "../../context/step-messages.ts";
import type { ResultSummaries as StoredSummaries, ResultSummary } from "../../state/reducers.ts";
import type { BaseMessage } from "@langchain/core/messages";
import { composeInSlices } from "../../context/compose/compose-context.ts";
import {
  type ComposedContext,
  type ComposeOptions,
  ContextOverflowError,
  type ContextSettings,
  type Goal,
  type MemorySection,
  type ShortTermPolicy,
} from "../../context/reasoning-context.ts";
import { observedSteps } from "../../context/step-note.ts";
import { composeSummarised } from "../../context/summarise/compose-summarised.ts";
import {
  createResultSummaryCache,
  type ResultSummariser,
  type ResultSummaryCache,
  type SummaryOutcome,
} from "../../context/summarise/result-summary.ts";
import { type ResultSummaries, summariseResults } from "../../context/summarise/results.ts";
import { validSummary } from "../../context/summarise/running-summary.ts";
import { type LoopHistory, loopTranscript } from "../../context/transcript.ts";
import type { AgentTool } from "../../definition/tool/tool.ts";
import type { AgentSpec } from "../../definition/schema/agent.ts";
import type { AgentModel, ModelReply, ModelRequest, ModelTool } from "../../models/agent-model.ts";
import type { ModelProfile } from "../../models/model-profile.ts";
import type { CallPurpose } from "../../models/calls/call-log.ts";
import type { GraphState, RunContext } from "../../state/channels.ts";
import type { ToolResult } from "../../state/step-record.ts";

/** A model with its system messages and its tools. */
export interface BoundModel {
  /** The same array for every call, because models cache the binding by identity. */
  readonly modelTools: readonly ModelTool[];
  /** The tools behind `modelTools`, in the same order. */
  readonly candidates: readonly AgentTool[];
  /** Returns the run's model if it sets one, else the definition's. */
  model(context: RunContext | undefined): Promise<AgentModel> | AgentModel;
  /**
   * Returns the system messages at the beginning of every call of a model.
   *
   * @param offered the tools of the request, if only some are offered and they are rendered as text
   */
  promptPrefix(
    model: Pick<AgentModel, "ref" | "toolCalling" | "parallelCalls">,
    offered?: readonly ModelTool[],
  ): readonly BaseMessage[];
  /** Returns the same model with fewer tools. */
  restrictedTo(mayCall: (tool: AgentTool) => boolean): BoundModel;
}

/** What an agent's contexts are composed of. */
export interface ContextSource {
  readonly definition: AgentDefinition;
  readonly clock: Clock;
  /** The agent's own model: in the standard loop it also chooses the approach and judges answers. */
  readonly boundModel: BoundModel;
  /** Summarizes large results; null if that is not enabled. */
  readonly summariser: ResultSummariser | null;
}

/** What composing a context needs of the node that runs. */
export interface ContextRun {
  readonly loop: ContextSource;
  readonly signal: AbortSignal;
  /** Result summaries stored with the thread. */
  readonly summaries: ResultSummaryStore;
  readonly callModel: CallModel;
  /** The turn's memories; null or left out without long-term memory. */
  readonly memories?: MemoryReader | null;
}

/** Renders the memories of a turn. */
interface MemoryReader {
  /**
   * Returns the memory section for a model; null if there is nothing to render. Never fails for the store.
   *
   * @param maxTokens if the definition's are too many
   */
  section(profile: ModelProfile, maxTokens?: number): Promise<MemorySection | null>;
}

/** Composes the context of a model call in this run, with its trailing messages. */
export async function contextOf(
  state: GraphState,
  run: ContextRun,
  last: {
    readonly model: AgentModel;
    readonly goal: Goal;
    /** The tools of the request; without them, calls are rendered as text. */
    readonly tools?: readonly ModelTool[];
  } & Pick<LoopHistory, "note" | "pending" | "openStep">,
): Promise<ComposedContext> {
  const { model, goal, tools = [], ...rest } = last;
  const { boundModel, definition } = run.loop;
  return composeFor(run, model, {
    profile: model.profile,
    goal,
    settings: contextSettingsOf(definition.spec, model.profile),
    form: stepFormOf(model, tools),
    opening: boundModel.promptPrefix(model, tools),
    tools: model.toolCalling ? tools : [],
    transcript: loopTranscript({
      conversation: state.messages,
      steps: state.steps,
      turnNumber: state.turn_number ?? 0,
      failedAttempts: state.turn?.failed_attempts ?? [],
      ...rest,
    }),
    summary: validSummary(state.summary, state),
    observed: observedSteps(state.steps),
  });
}

/**
 * Composes a context within a run, with the turn's memories. Large results are summarized for it if the definition
 * enables that. Where the rest leaves too little room, the memories are rendered in what it leaves, or not at all.
 */
export async function composeFor(
  run: ContextRun,
  reader: AgentModel,
  options: ComposeOptions,
): Promise<ComposedContext> {
  const memory = (await run.memories?.section(reader.profile)) ?? null;
  if (memory === null) return composeRest(run, reader, options);
  try {
    return await composeRest(run, reader, { ...options, memory });
  } catch (thrown) {
    if (!(thrown instanceof ContextOverflowError)) throw thrown;
    const { sections, needed, budget } = thrown;
    const left = sections.memory - (needed - budget);
    const smaller = left > 0 ? await run.memories?.section(reader.profile, left) : null;
    return composeRest(run, reader, smaller ? { ...options, memory: smaller } : options);
  }
}

async function composeRest(
  run: ContextRun,
  reader: AgentModel,
  options: ComposeOptions,
): Promise<ComposedContext> {
  const { summariser } = run.loop;
  if (summariser === null) return composeInSlices(options, run.signal);
  const { goal } = options;
  return composeSummarised(
    options,
    (wish) => resultSummaries(run, { summariser, reader }, { ...wish, goal }),
    run.signal,
  );
}

/**
 * Returns null if the definition does not enable it.
 *
 * @param modelFor resolves a `provider:model`
 */
export async function resultSummariserOf(
  { context_config }: AgentSpec,
  modelFor: (model: string) => Promise<Pick<BoundModel, "model">>,
): Promise<ResultSummariser | null> {
  const { summarize_results: written } = context_config;
  if (written === undefined) return null;
  const boundModel = written.model === undefined ? null : await modelFor(written.model);
  return {
    thresholdTokens: written.threshold_tokens,
    timeoutMs: written.timeout_seconds * 1000,
    model: boundModel === null ? null : await boundModel.model(undefined),
    cache: createResultSummaryCache(),
  };
}

/**
 * Returns summaries of the large `results`, made within the run: the run counts their usage and aborts them. Summaries
 * stored with the thread are reused. A dry run reads only those.
 *
 * @param reader the model that reads the context
 * @throws the reason of the run's signal if that aborts
 */
export function resultSummaries(
  run: ContextRun,
  { summariser, reader }: { readonly summariser: ResultSummariser; readonly reader: AgentModel },
  about: {
    readonly results: readonly ToolResult[];
    readonly goal: Goal;
    /** The request of the running turn. */
    readonly question: string;
  },
): Promise<ResultSummaries> {
  const { thresholdTokens, timeoutMs, cache } = summariser;
  const model = summariser.model ?? reader;
  return summariseResults({
    ...about,
    profile: model.profile,
    thresholdTokens,
    timeoutMs,
    cache: run.summaries.isReadOnly
      ? justKept(run.summaries)
      : keptWithThread(cache, run.summaries),
    clock: run.loop.clock,
    signal: run.signal,
    ask: run.summaries.isReadOnly ? null : ask,
  });

  async function ask(messages: readonly BaseMessage[], signal: AbortSignal) {
    const request = { messages };
    const reply = await callModelWithSignal(signal, run, { model, request, purpose: "summary" });
    return { text: reply.message.text, usage: reply.usage, model: reply.model };
  }
}

/**
 * Returns a cache that first reads the thread's store, and adds to it every summary it reads. Failures are not stored.
 */
function keptWithThread(cache: ResultSummaryCache, kept: ResultSummaryStore): ResultSummaryCache {
  const keep = (key: string, outcome: SummaryOutcome | undefined) => {
    if (outcome?.outcome === "made") kept.add(key, { text: outcome.text, model: outcome.model });
  };
  const own = justKept(kept);
  return {
    underWay: cache.underWay,
    get(key) {
      const stored = own.get(key);
      if (stored !== undefined) return stored;
      // Another thread may have requested it.
      const known = cache.get(key);
      keep(key, known);
      return known;
    },
    set(key, outcome) {
      cache.set(key, outcome);
      keep(key, outcome);
    },
  };
}

function justKept(kept: ResultSummaryStore): ResultSummaryCache {
  return {
    underWay: new Map(),
    get(key) {
      const summary = kept.get(key);
      return summary && { outcome: "made", text: summary.text, model: summary.model };
    },
    set() {},
  };
}

/**
 * Calls a model outside the run's steps: its usage is counted, and nothing is streamed.
 *
 * @param signal aborts the call; aborts no later than the run's own
 */
export function callModelWithSignal(
  signal: AbortSignal,
  run: Pick<ContextRun, "callModel">,
  {
    model,
    request,
    purpose,
  }: {
    readonly model: AgentModel;
    readonly request: ModelRequest;
    readonly purpose: CallPurpose;
  },
): Promise<ModelReply> {
  const bounded: AgentModel = {
    ...model,
    call: (asked, config) => model.call(asked, { ...config, signal }),
  };
  return run.callModel(bounded, request, { purpose, isUnseen: true });
}

/** Returns the context settings of a definition for a model. */
export function contextSettingsOf(
  spec: AgentSpec,
  profile: Pick<ModelProfile, "cachedShare">,
): ContextSettings {
  const { utilization, budget, whole_results, preview_chars } = spec.context_config;
  return {
    utilization,
    ...(budget !== undefined && { budget }),
    whole: whole_results,
    previewChars: preview_chars,
    shortTerm: shortTermOf(spec, profile),
  };
}

/** Tokens of earlier turns by the price of cached tokens, if a definition sets none. */
const earlierTurns = { cheap: 8000, other: 4000 } as const;
const cheapShare = 0.25;

/**
 * Returns what earlier turns may take. Every call sends them again: where cached tokens are cheap, more of them is worth
 * its price. An unknown price counts as one without a discount.
 */
export function shortTermOf(
  { memory_config }: AgentSpec,
  { cachedShare = 1 }: Pick<ModelProfile, "cachedShare">,
): ShortTermPolicy {
  const { strategy, max_tokens } = memory_config.short_term;
  const usual = cachedShare <= cheapShare ? earlierTurns.cheap : earlierTurns.other;
  return { strategy, maxTokens: max_tokens ?? usual };
}

/** Calls a model within the turn's timeout, counts its usage and logs its requests. */
export type CallModel = (
  model: AgentModel,
  request: ModelRequest,
  of: {
    readonly purpose: CallPurpose;
    /** `step_index` of the record that the call is made for, if there is one. */
    readonly step?: number | undefined;
    /** Whether the reply is internal and is not streamed. Default false. */
    readonly isUnseen?: boolean;
  },
) => Promise<ModelReply>;

/** The result summaries of a thread, and those that a node adds. */
export interface ResultSummaryStore {
  /** Whether missing summaries are not requested, as in a dry run. */
  readonly isReadOnly: boolean;
  get(key: string): ResultSummary | undefined;
  add(key: string, summary: ResultSummary): void;
  /** Returns the summaries that the thread does not store yet; null if there are none. */
  added(): StoredSummaries | null;
}

export function createResultSummaryStore(
  stored: StoredSummaries = {},
  isReadOnly = false,
): ResultSummaryStore {
  const added = new Map<string, ResultSummary>();
  return {
    isReadOnly,
    get: (key) => (Object.hasOwn(stored, key) ? stored[key] : added.get(key)),
    add: (key, summary) => void added.set(key, summary),
    added: () => (added.size === 0 ? null : Object.fromEntries(added)),
  };
}
