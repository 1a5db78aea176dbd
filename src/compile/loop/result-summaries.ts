import type { BaseMessage } from "@langchain/core/messages";
import type { Goal } from "../../context/context-metadata.ts";
import type { ResultSummariser } from "../../context/summarise/result-summariser.ts";
import {
  createResultSummaryCache,
  type ResultSummaryCache,
  type SummaryOutcome,
} from "../../context/summarise/result-summary-cache.ts";
import {
  summariseResults,
  type ResultSummaries,
} from "../../context/summarise/summarise-results.ts";
import type { AgentSpec } from "../../definition/schema.ts";
import type { AgentModel } from "../../models/agent-model.ts";
import type { ToolResult } from "../../state/step-record.ts";
import { askUntil } from "./ask-until.ts";
import type { KeptSummaries } from "./kept-summaries.ts";
import type { NodeRun } from "./node-body.ts";
import type { Thinker } from "./parts.ts";

/**
 * Null where a definition does not ask for it.
 *
 * @param thinkerOf what thinks with a `provider:model`
 */
export async function resultSummariserOf(
  { context_config }: AgentSpec,
  thinkerOf: (model: string) => Promise<Pick<Thinker, "model">>,
): Promise<ResultSummariser | null> {
  const { summarize_results: written } = context_config;
  if (written === undefined) return null;
  const thinker = written.model === undefined ? null : await thinkerOf(written.model);
  return {
    thresholdTokens: written.threshold_tokens,
    timeoutMs: written.timeout_seconds * 1000,
    model: thinker === null ? null : await thinker.model(undefined),
    cache: createResultSummaryCache(),
  };
}

/**
 * What a model says of the large ones among `results`, within a run: its cost is counted there, and it ends with the run.
 * What the thread keeps is not asked for. Who looks at a run is told of that alone.
 *
 * @param reader the model that reads the context
 * @throws the reason of the run's signal when that aborts
 */
export function resultSummaries(
  run: NodeRun,
  { summariser, reader }: { readonly summariser: ResultSummariser; readonly reader: AgentModel },
  about: {
    readonly results: readonly ToolResult[];
    readonly goal: Goal;
    /** The request of the turn under way. */
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
    cache: run.summaries.only ? justKept(run.summaries) : keptWithThread(cache, run.summaries),
    clock: run.parts.clock,
    signal: run.signal,
    ask: run.summaries.only ? null : ask,
  });

  async function ask(messages: readonly BaseMessage[], signal: AbortSignal) {
    const reply = await askUntil(signal, run, { model, request: { messages } });
    return { text: reply.message.text, usage: reply.usage, model: reply.model };
  }
}

/** A cache behind what a thread keeps, which keeps every summary that is read. Failures stay where they are. */
function keptWithThread(cache: ResultSummaryCache, kept: KeptSummaries): ResultSummaryCache {
  const keep = (key: string, outcome: SummaryOutcome | undefined) => {
    if (outcome?.outcome === "made") kept.keep(key, { text: outcome.text, model: outcome.model });
  };
  const own = justKept(kept);
  return {
    underWay: cache.underWay,
    get(key) {
      const stored = own.get(key);
      if (stored !== undefined) return stored;
      // Another thread may have had it made.
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

function justKept(kept: KeptSummaries): ResultSummaryCache {
  return {
    underWay: new Map(),
    get(key) {
      const summary = kept.get(key);
      return summary && { outcome: "made", text: summary.text, model: summary.model };
    },
    set() {},
  };
}
