import type { Goal } from "../../context/context-metadata.ts";
import type { ResultSummariser } from "../../context/summarise/result-summariser.ts";
import { createResultSummaryCache } from "../../context/summarise/result-summary-cache.ts";
import {
  summariseResults,
  type ResultSummaries,
} from "../../context/summarise/summarise-results.ts";
import type { AgentSpec } from "../../definition/schema.ts";
import type { AgentModel } from "../../models/agent-model.ts";
import type { ToolResult } from "../../state/step-record.ts";
import { askUntil } from "./ask-until.ts";
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
    cache,
    clock: run.parts.clock,
    signal: run.signal,
    async ask(messages, signal) {
      const reply = await askUntil(signal, run, { model, request: { messages } });
      return { text: reply.message.text, usage: reply.usage, model: reply.model };
    },
  });
}
