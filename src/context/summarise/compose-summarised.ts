import type { RunnableConfig } from "@langchain/core/runnables";
import type { AgentModel } from "../../models/agent-model.ts";
import type { ToolResult } from "../../state/step-record.ts";
import { composeInSlices } from "../compose/compose-context.ts";
import { summaryKey } from "../compose/step-variant.ts";
import type {
  ComposedContext,
  ComposeOptions,
  ReasoningContext,
  ResultSummaryMade,
} from "../reasoning-context.ts";
import type { Transcript } from "../transcript.ts";
import type { AskForSummary, ResultSummaries } from "./results.ts";

/** Results of one turn, and the request that they were for. */
export interface SummaryRequest {
  readonly results: readonly ToolResult[];
  readonly question: string;
}

/**
 * A context in which a model's words stand for results that would be previewed. A result is summarised for the request of
 * its own turn, so that its rendering stays the same. Contexts with the goal `synthesis` are
 * for whole results, and are made as they are.
 *
 * @throws ContextOverflowError, InvalidContextOptionError, what `summarise` throws, and the reason of the signal
 */
export async function composeSummarised(
  options: ComposeOptions,
  summarise: (wish: SummaryRequest) => Promise<ResultSummaries>,
  signal?: AbortSignal,
): Promise<ComposedContext> {
  const context = await composeInSlices(options, signal);
  if (options.goal === "synthesis") return context;
  const wishes = wishesOf(context, options.transcript);
  if (wishes.size === 0) return context;
  const all = await Promise.all([...wishes.values()].map(summarise));
  const summaries = new Map(all.flatMap((one) => [...one.summaries]));
  const made = all.flatMap((one) => one.made.map(withOwnId));
  const unknown = all.flatMap((one) => one.unknown.map(ownId));
  const told =
    made.length === 0
      ? context
      : await composeInSlices({ ...options, summaries, summariesMade: made }, signal);
  if (unknown.length === 0) return told;
  const { metadata } = told;
  const notes = [...metadata.notes, notKept(unknown)];
  return { ...told, metadata: { ...metadata, notes } };
}

function notKept(calls: readonly string[]): string {
  return calls.length === 1
    ? `A summary of the result of ${calls[0]} is not kept: it is shown as a preview.`
    : `Summaries of the results of ${calls.join(", ")} are not kept: they are shown as previews.`;
}

/** By turn. The ids of calls are made unique in the thread, which they are in their turn alone. */
function wishesOf(
  { metadata }: ReasoningContext,
  { entries }: Transcript,
): ReadonlyMap<number, SummaryRequest> {
  const previewed = new Set(
    metadata.steps
      .filter(({ fidelity }) => fidelity === "preview")
      .map(({ turn, step }) => `${turn}:${step}`),
  );
  const wishes = new Map<number, { results: ToolResult[]; question: string }>();
  if (previewed.size === 0) return wishes;
  let question = "";
  for (const entry of entries) {
    const isRequest = entry.kind === "spoken" && entry.isRequest;
    if (isRequest && entry.message.type === "human") question = entry.message.text;
    if (entry.kind !== "step") continue;
    const { step, turn } = entry;
    if (!previewed.has(`${turn}:${step.step_index}`)) continue;
    const wish = wishes.get(turn) ?? { results: [], question };
    wishes.set(turn, wish);
    for (const result of step.tool_results) {
      wish.results.push({ ...result, id: summaryKey(step, result.id) });
    }
  }
  return wishes;
}

function withOwnId(made: ResultSummaryMade): ResultSummaryMade {
  return { ...made, callId: ownId(made.callId) };
}

function ownId(key: string): string {
  return key.slice(key.indexOf(":") + 1);
}

/** Asks a model outside of any run. @param config callbacks and tags; its signal is not looked at */
export function askModel(model: AgentModel, config: RunnableConfig = {}): AskForSummary {
  return async (messages, signal) => {
    const reply = await model.call({ messages }, { ...config, signal });
    return { text: reply.message.text, usage: reply.usage, model: reply.model };
  };
}
