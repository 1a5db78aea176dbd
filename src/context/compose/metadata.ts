import type { BaseMessage } from "@langchain/core/messages";
import { messagesTokens } from "../../models/usage/message-tokens.ts";
import type { TokenCounter } from "../../models/usage/tokens.ts";
import { pairedCalls, type StepRecord } from "../../state/step-record.ts";
import type {
  ComposeOptions,
  ContextMetadata,
  ContextTokens,
  MessageFidelity,
  MessageSource,
  StepFidelity,
  StepShown,
} from "../reasoning-context.ts";
import { plainResultText, type StepForm, stepMessages, renderCall } from "../step-messages.ts";
import type { Entry } from "../transcript.ts";
import { level, type Fit, type Level } from "./fit.ts";
import { lineTokens, tokensBound } from "./sizes.ts";
import type { RenderedEntries } from "./rendered-entries.ts";

export interface Composed {
  readonly options: ComposeOptions;
  readonly budget: number;
  readonly reserved: number;
  readonly rendered: RenderedEntries;
  readonly fit: Fit;
  /** Entries that the summary stands for. */
  readonly covered: readonly Entry[];
  readonly sections: {
    readonly opening: readonly BaseMessage[];
    readonly memory: readonly BaseMessage[];
    /** The summary. */
    readonly before: readonly BaseMessage[];
    readonly tail: readonly BaseMessage[];
    /** All of them with the entries between. */
    readonly messages: readonly BaseMessage[];
  };
}

/** The figures of a context, each counted when it is first read. */
export function contextMetadata(composed: Composed): ContextMetadata {
  const { options, budget, reserved } = composed;
  const { profile } = options;
  let tokens: ContextTokens | undefined;
  let steps: readonly StepShown[] | undefined;
  let spoken: ContextMetadata["conversation"] | undefined;
  let sources: readonly MessageSource[] | undefined;
  return {
    goal: options.goal,
    model: profile.ref,
    window: profile.window,
    budget,
    reserved,
    get tokens() {
      return (tokens ??= countSections(composed));
    },
    get steps() {
      return (steps ??= stepsShown(composed));
    },
    get conversation() {
      return (spoken ??= countSpoken(composed));
    },
    get sources() {
      return (sources ??= messageSources(composed));
    },
    memories: options.memory?.shown ?? [],
    summaries: options.summariesMade ?? [],
    notes: profile.notes,
  };
}

function messageSources({ sections, rendered, fit }: Composed): readonly MessageSource[] {
  const { opening, memory, before, tail, messages } = sections;
  const steps = new Map<BaseMessage, MessageSource["step"]>();
  for (let at = fit.from; at < fit.levels.length; at += 1) {
    const entry = rendered.entry(at);
    const as = fit.levels[at] as Level;
    if (entry.kind !== "step" || as === level.dropped || as >= level.line) continue;
    const { turn_number: turn, step_index: step } = entry.step;
    const form = rendered.step(at, as);
    for (const message of form.messages)
      steps.set(message, { turn, step, fidelity: form.fidelity });
  }
  const sectionOf = (message: BaseMessage, at: number): MessageSource["section"] => {
    if (at < opening.length) return "system";
    if (at >= messages.length - tail.length) return "request";
    if (memory.includes(message)) return "memory";
    if (before.includes(message)) return "summary";
    return steps.has(message) ? "steps" : "conversation";
  };
  return messages.map((message, at) => {
    const section = sectionOf(message, at);
    return { section, step: section === "steps" ? (steps.get(message) ?? null) : null };
  });
}

function countSections(composed: Composed): ContextTokens {
  const { options, sections, rendered, fit } = composed;
  const { count } = options.profile;
  const sum = (messages: readonly BaseMessage[]): number => messagesTokens(messages, count);
  const system = sum(sections.opening);
  const tools = tokensBound(options, count);
  const memory = sum(sections.memory);
  const messages = sum(sections.messages);
  const steps = stepTokens(rendered, fit, count);
  // What is rendered in lines has a heading, and the summary may tell of steps: both count as conversation.
  const conversation = Math.max(0, messages - system - memory - steps);
  const raw =
    system +
    tools +
    memory +
    sum(sections.tail) +
    rawTokens(composed.covered, options.form, count) +
    rawTokens(entriesOf(composed), options.form, count);
  const total = messages + tools;
  return { total, system, tools, memory, conversation, steps, raw, saved: raw - total };
}

function entriesOf({ rendered, fit }: Pick<Composed, "rendered" | "fit">): readonly Entry[] {
  return fit.levels.map((_, at) => rendered.entry(at));
}

function stepTokens(rendered: RenderedEntries, fit: Fit, count: TokenCounter): number {
  let sum = 0;
  for (let at = fit.from; at < fit.levels.length; at += 1)
    sum += tokensOfStep(rendered, fit, at, count);
  return sum;
}

function tokensOfStep(
  rendered: RenderedEntries,
  { levels, from, lastStep }: Fit,
  at: number,
  count: TokenCounter,
) {
  const as = levels[at] as Level;
  if (rendered.entry(at).kind !== "step" || as === level.dropped) return 0;
  if (as >= level.line) {
    const lines = rendered.lines(at, as, { from, isLast: at === lastStep });
    return lines.reduce((sum, line) => sum + lineTokens(line, count), 0);
  }
  return messagesTokens(rendered.step(at, as).messages, count);
}

function stepsShown({ options, rendered, fit, covered }: Composed): readonly StepShown[] {
  const { count } = options.profile;
  const shown = (step: StepRecord, fidelity: StepFidelity, tokens: number): StepShown => ({
    turn: step.turn_number,
    step: step.step_index,
    fidelity,
    tokens,
  });
  const summarised = covered.flatMap((entry) =>
    entry.kind === "step" ? [shown(entry.step, "summarised", 0)] : [],
  );
  const own = entriesOf({ rendered, fit }).flatMap((entry, at) => {
    if (entry.kind !== "step") return [];
    const tokens = tokensOfStep(rendered, fit, at, count);
    return [shown(entry.step, fidelityOf(rendered, fit, at), tokens)];
  });
  return [...summarised, ...own];
}

function fidelityOf(rendered: RenderedEntries, { levels }: Fit, at: number): StepFidelity {
  const as = levels[at] as Level;
  if (as === level.dropped) return "dropped";
  return as >= level.line ? "line" : rendered.step(at, as).fidelity;
}

function countSpoken({ rendered, fit, covered }: Composed): Record<MessageFidelity, number> {
  const counts = { whole: 0, summarised: 0, dropped: 0 };
  counts.summarised = covered.filter(({ kind }) => kind === "spoken").length;
  for (let at = 0; at < fit.levels.length; at += 1) {
    if (rendered.entry(at).kind !== "spoken") continue;
    const as = fit.levels[at] as Level;
    if (as === level.dropped) counts.dropped += 1;
    else if (as >= level.digest) counts.summarised += 1;
    else counts.whole += 1;
  }
  return counts;
}

const rawSteps: Readonly<Record<StepForm, WeakMap<StepRecord, Map<TokenCounter, number>>>> = {
  native: new WeakMap(),
  text: new WeakMap(),
  report: new WeakMap(),
};

function rawTokens(entries: readonly Entry[], form: StepForm, count: TokenCounter): number {
  let sum = 0;
  for (const entry of entries) {
    if (entry.kind === "step") sum += rawStepTokens(entry.step, form, count);
    else {
      const messages = entry.kind === "spoken" ? [entry.message] : entry.messages;
      sum += messagesTokens(messages, count);
    }
  }
  return sum;
}

function rawStepTokens(step: StepRecord, form: StepForm, count: TokenCounter): number {
  let known = rawSteps[form].get(step);
  if (known === undefined) rawSteps[form].set(step, (known = new Map()));
  const tokens = known.get(count);
  if (tokens !== undefined) return tokens;
  const plain = () =>
    pairedCalls(step).map((result) => renderCall(result, plainResultText(result)));
  const made = messagesTokens(stepMessages(step, form, plain), count);
  known.set(count, made);
  return made;
}
