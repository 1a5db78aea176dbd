import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { composeContext } from "../../../src/context/compose/compose-context.ts";
import {
  type ComposedContext,
  type ComposeOptions,
  ContextOverflowError,
} from "../../../src/context/reasoning-context.ts";
import { observedSteps } from "../../../src/context/step-note.ts";
import { loopTranscript, workflowTranscript } from "../../../src/context/transcript.ts";
import { modelProfile } from "../../../src/models/model-profile.ts";
import type { ModelTool } from "../../../src/models/agent-model.ts";
import type { StepRecord } from "../../../src/state/step-record.ts";
import type { FailedAttempt } from "../../../src/state/turn.ts";
import { stepRecord, toolResult } from "../../helpers/step-record.ts";
import { grown, histories, type History } from "./arbitrary-history.ts";

const profile = modelProfile("openai:gpt-4o");

/** What a call of a model is for, and how much it may read. */
interface Call {
  readonly settings: Pick<ComposeOptions, "goal" | "form" | "settings">;
  readonly tools: readonly ModelTool[];
  readonly note: string;
  readonly isWorkflow: boolean;
}

const toolLists: readonly (readonly ModelTool[])[] = [1, 3].map((count) =>
  Array.from({ length: count }, (_, at) => ({
    name: `tool_${at}`,
    description: "Looks something up by its name. ".repeat(4),
    input_schema: { type: "object", properties: { name: { type: "string" } } },
  })),
);

const calls: fc.Arbitrary<Call> = fc.record({
  settings: fc.record({
    goal: fc.constantFrom("planning" as const, "synthesis" as const),
    form: fc.constantFrom("native" as const, "text" as const, "report" as const),
    settings: fc.record(
      {
        budget: fc.oneof(fc.integer({ min: 150, max: 3000 }), fc.constant(60_000)),
        whole: fc.constantFrom("turn" as const, "last_step" as const, "none" as const),
        previewChars: fc.constantFrom(50, 1000),
        shortTerm: fc.record({
          strategy: fc.constantFrom("fifo" as const, "summarize" as const, "hybrid" as const),
          maxTokens: fc.integer({ min: 100, max: 1500 }),
        }),
      },
      { requiredKeys: ["budget", "whole"] },
    ),
  }),
  tools: fc.constantFrom(...toolLists),
  note: fc.constantFrom("", "Plan the next step.", "word ".repeat(300)),
  isWorkflow: fc.boolean(),
});

/** Later steps note something on results of earlier ones, here and there: how many steps back. */
const noted = fc.array(fc.constantFrom(null, null, 1, 2, 10), { maxLength: 40 });

function withNotes({ conversation, steps }: History, notes: readonly (number | null)[]): History {
  const told = steps.map((step, at): StepRecord => {
    const about = steps[at - (notes[at] ?? Infinity)]?.tool_results[0];
    if (about === undefined) return step;
    const one = { id: about.id, insights: `insight ${at}`, learning: "", relevance: "" } as const;
    return { ...step, observations: [one] };
  });
  return { conversation, steps: told };
}

/** The step with what a reflection notes on it. */
function withInsights(step: StepRecord, insights: string): StepRecord {
  const results = step.tool_results.map((result) => ({ ...result, insights }));
  return { ...step, tool_results: results, reflection: insights };
}

/** The steps of two histories in one long turn. */
function joined([{ conversation, steps }, other]: readonly [History, History]): History {
  const all = [...steps, ...other.steps].map((step, step_index): StepRecord => {
    return { ...step, turn_number: 0, step_index };
  });
  return { conversation: conversation.slice(0, 1), steps: all };
}

/** An attempt has four steps. */
function withAttempts({ steps, conversation }: History): History {
  const inTurn = steps.map((step): StepRecord => {
    const attempt_number = Math.floor(step.step_index / 4);
    return { ...step, attempt_number };
  });
  return { conversation, steps: inTurn };
}

function failedBefore(steps: readonly StepRecord[], failed: readonly FailedAttempt[]) {
  return failed.slice(0, steps.at(-1)?.attempt_number ?? 0);
}

function optionsOf(history: History, call: Call, failed: readonly FailedAttempt[]): ComposeOptions {
  const { conversation, steps } = history;
  const turnNumber = steps.at(-1)?.turn_number ?? 0;
  const failedAttempts = failedBefore(steps, failed);
  const { note, tools, settings } = call;
  const ofTurn = steps.filter((step) => step.turn_number === turnNumber);
  return {
    ...settings,
    profile,
    opening: [new HumanMessage("You help people with orders.")],
    tools,
    transcript: call.isWorkflow
      ? workflowTranscript({
          conversation,
          turnNumber,
          node: "ask",
          prompt: "Find what was asked for.",
          steps: ofTurn,
          earlier: [],
          failedAttempts,
          rejections: [{ node: "approve", reason: "too dear", after: 1 }],
          note,
        })
      : loopTranscript({ conversation, steps, turnNumber, failedAttempts, note }),
    observed: observedSteps(steps),
  };
}

/** Null where what always stays is larger than the budget. */
function composed(
  history: History,
  call: Call,
  failed: readonly FailedAttempt[],
): ComposedContext | null {
  try {
    return composeContext(optionsOf(history, call, failed));
  } catch (thrown) {
    if (thrown instanceof ContextOverflowError) return null;
    throw thrown;
  }
}

/** The same history of objects that no context has seen. */
function copied({ conversation, steps }: History): History {
  return {
    conversation: conversation.map((message) =>
      message.type === "human" ? new HumanMessage(message.text) : new AIMessage(message.text),
    ),
    steps: structuredClone(steps),
  };
}

/** All that a model reads, and what is said of it. */
function shown(context: ComposedContext | null) {
  if (context === null) return null;
  const { messages, metadata, isShortened } = context;
  return {
    messages: messages.map((message: BaseMessage) => JSON.stringify(message)),
    isShortened,
    metadata: { ...metadata },
  };
}

const failures = [0, 1, 2].map((attempt_number): FailedAttempt => {
  return {
    attempt_number,
    errors: [`wrong ${attempt_number}`],
    answer: `answer ${attempt_number}`,
  };
});

/** A context of the thread as it grew, and one of a copy that no context was composed of before. */
function pair(history: History, call: Call) {
  return {
    grown: shown(composed(history, call, failures)),
    cold: shown(composed(copied(history), call, structuredClone(failures))),
  };
}

/** {@link pair} after each step, for the calls in turns. */
function* pairs(steps: readonly History[], round: readonly Call[]) {
  for (const [at, history] of steps.entries()) {
    yield pair(history, round[at % round.length] as Call);
  }
}

const rounds = fc.array(calls, { minLength: 1, maxLength: 3 });
const threads = fc
  .tuple(fc.oneof(histories, fc.tuple(histories, histories).map(joined)), noted)
  .map(([history, notes]) => withAttempts(withNotes(history, notes)));

describe("A context of a thread that grew", () => {
  it("has the bytes and the figures of one that is composed at once", () => {
    fc.assert(
      fc.property(threads, rounds, (history, round) => {
        for (const one of pairs(grown(history), round)) expect(one.grown).toEqual(one.cold);
      }),
      { numRuns: 15 },
    );
  });

  it("has them in each of two branches that go on in turns", () => {
    fc.assert(
      fc.property(threads, threads, calls, fc.nat(), (history, other, call, place) => {
        const at = place % (history.steps.length + 1);
        const { conversation } = history;
        const turn = history.steps[at - 1]?.turn_number ?? 0;
        const further = other.steps.map((step): StepRecord => {
          return { ...step, turn_number: turn, step_index: step.step_index + 100 };
        });
        const fork = { conversation, steps: [...history.steps.slice(0, at), ...further] };
        const [own, others] = [grown(history), grown(fork)];
        const inTurns = own.flatMap((one, next) =>
          next < at ? [one] : [one, others[next] ?? one],
        );
        const all = [...inTurns, ...others.slice(own.length)];
        for (const one of pairs(all, [call])) expect(one.grown).toEqual(one.cold);
      }),
      { numRuns: 8 },
    );
  });

  it("has none of the notes that another branch has made since", () => {
    const [first, second, third] = [0, 1, 2].map((at) => {
      const { id, name, args, ...rest } = toolResult({ id: `call-${at}`, result: "found" });
      const asked = [{ id, name, args, reason: "" }];
      const own = [{ id, name, args, ...rest }];
      return stepRecord({ step_index: at, tool_predictions: asked, tool_results: own });
    }) as [StepRecord, StepRecord, StepRecord];
    const noteOf = (insights: string) =>
      ({ id: "call-0", insights, learning: "", relevance: "" }) as const;
    const noting: StepRecord = { ...second, observations: [noteOf("own")] };
    const before = observedSteps([first, noting]);
    const further = { ...third, observations: [noteOf("of the branch")] };
    const after = observedSteps([first, noting, further]);
    expect(before.get(first)?.tool_results[0]?.insights).toBe("own");
    expect(after.get(first)?.tool_results[0]?.insights).toBe("of the branch");
  });

  it("has them after an edit in its middle", () => {
    fc.assert(
      fc.property(threads, calls, fc.nat(), (history, call, place) => {
        const before = grown(history);
        const at = place % Math.max(1, history.steps.length);
        const steps = history.steps.map((step, one) =>
          one === at ? { ...step, thought: "edited" } : step,
        );
        const after = grown({ ...history, steps }).slice(at);
        const [first, ...others] = history.conversation;
        const said = new HumanMessage(`${first?.text} and more`);
        const all = [...before, ...after, { ...history, conversation: [said, ...others] }];
        for (const one of pairs(all, [call])) expect(one.grown).toEqual(one.cold);
      }),
      { numRuns: 15 },
    );
  });

  it("has them where each step is reflected on before it is recorded", () => {
    fc.assert(
      fc.property(threads, rounds, (history, round) => {
        const steps = history.steps.map((step) => withInsights(step, "reflected"));
        const all = grown({ ...history, steps }).flatMap((one): History[] => {
          const last = one.steps.at(-1);
          if (last === undefined) return [one];
          return [{ ...one, steps: [...one.steps.slice(0, -1), withInsights(last, "")] }, one];
        });
        for (const one of pairs(all, round)) expect(one.grown).toEqual(one.cold);
      }),
      { numRuns: 15 },
    );
  });

  it("has them after looks at steps long past", () => {
    fc.assert(
      fc.property(threads, calls, fc.array(fc.nat(), { maxLength: 4 }), (history, call, places) => {
        const all = grown(history).flatMap((one, at, steps) => [
          one,
          ...places.map((place) => steps[place % (at + 1)] as History),
        ]);
        for (const one of pairs(all, [call])) expect(one.grown).toEqual(one.cold);
      }),
      { numRuns: 8 },
    );
  });
});
