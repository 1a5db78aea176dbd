import type { ModelTool } from "../models/agent-model.ts";
import {
  type Observation,
  type Progress,
  type Relevance,
  type StepRecord,
  withObservation,
} from "../state/step-record.ts";
import { appendFold } from "../state/turn.ts";
import { isRecord } from "../values/json.ts";
import { truncateModelText } from "../values/text.ts";

/** What a model says of its own step. */
export interface StepJudgement extends Pick<StepRecord, "synthesis" | "progress" | "hypothesis"> {}

/** The same, with what it noted on results of steps before. */
export interface StepNote extends StepJudgement {
  readonly observations: readonly Observation[];
}

export type StepWithResults = Pick<StepRecord, "tool_results">;

/** Results that are noted at once; no model has that many to say something about. */
const mostObservations = 50;

export const noNote: StepNote = { observations: [], synthesis: "", progress: "", hypothesis: null };

/**
 * Reads what came as arguments of the note tool, several of them as one in which the first word stands. What is of
 * another type than it should be counts as not said, as do notes on calls that are not known; nothing throws.
 *
 * @param behind the steps whose results may be noted on, in order
 */
export function readStepNote(
  said: readonly unknown[],
  behind: readonly StepWithResults[],
): StepNote {
  const notes = said.filter(isRecord);
  if (notes.length === 0) return noNote;
  const judgements = notes.map(readJudgement);
  const results = notes.flatMap(({ results: list }) => (Array.isArray(list) ? list : []));
  return {
    observations: readObservations(results, behind),
    synthesis: judgements.find((one) => one.synthesis !== "")?.synthesis ?? "",
    progress: judgements.find((one) => one.progress !== "")?.progress ?? "",
    hypothesis: judgements.find((one) => one.hypothesis !== null)?.hypothesis ?? null,
  };
}

export function readJudgement(said: Readonly<Record<string, unknown>>): StepJudgement {
  const { hypothesis } = said;
  const belief = isRecord(hypothesis) ? textOf(hypothesis, "belief") : "";
  const test = isRecord(hypothesis) ? textOf(hypothesis, "test") : "";
  return {
    synthesis: textOf(said, "synthesis"),
    progress: oneOf(progresses, said["progress"]),
    hypothesis: belief === "" && test === "" ? null : { belief, test },
  };
}

/**
 * What is said of results, by the ids of their calls. A name stands for the calls of the last step that has one of it,
 * in their order, each named once: models seldom see ids.
 */
export function readObservations(
  said: unknown,
  behind: readonly StepWithResults[],
): readonly Observation[] {
  const observations: Observation[] = [];
  const noted = new Set<string>();
  for (const one of Array.isArray(said) ? said.slice(0, mostObservations) : []) {
    if (!isRecord(one)) continue;
    const insights = textOf(one, "insights");
    const learning = textOf(one, "learning");
    const relevance = oneOf(relevances, one["relevance"]);
    if (insights === "" && learning === "" && relevance === "") continue;
    const id = idOf(one["call"], behind, noted);
    if (id === null) continue;
    noted.add(id);
    observations.push({ id, insights, learning, relevance });
  }
  return observations;
}

function idOf(
  call: unknown,
  behind: readonly StepWithResults[],
  noted: ReadonlySet<string>,
): string | null {
  if (typeof call !== "string") return null;
  const step = behind.findLast(({ tool_results: results }) =>
    results.some(({ id, name }) => id === call || name === call),
  );
  const results = step?.tool_results ?? [];
  const meant = results.some(({ id }) => id === call) ? "id" : "name";
  return results.find((one) => one[meant] === call && !noted.has(one.id))?.id ?? null;
}

const progresses: ReadonlySet<Progress> = new Set(["advancing", "stuck", "regressing"]);
const relevances: ReadonlySet<Relevance> = new Set(["high", "medium", "low"]);

function oneOf<Word extends string>(words: ReadonlySet<Word>, value: unknown): Word | "" {
  return (words as ReadonlySet<unknown>).has(value) ? (value as Word) : "";
}

export function textOf(from: Readonly<Record<string, unknown>>, key: string): string {
  const value = from[key];
  return typeof value === "string" ? truncateModelText(value) : "";
}

/**
 * The tool by which a model notes its step together with its next calls or its answer, so that no extra call is needed. It
 * stands among the tools that are offered and is never run: see `readStepNote`.
 */
export const noteTool: ModelTool = {
  name: "note_step",
  description:
    "Notes on the last results and this step. Call it beside your next tool call or your answer, never alone.",
  input_schema: {
    type: "object",
    properties: {
      results: {
        type: "array",
        items: {
          type: "object",
          properties: {
            call: { type: "string", description: "id or name of the call" },
            insights: { type: "string", description: "what matters in its result" },
            learning: { type: "string", description: "what to do differently" },
            relevance: { type: "string", enum: ["high", "medium", "low"] },
          },
        },
      },
      synthesis: { type: "string", description: "how this step advances the goal" },
      progress: { type: "string", enum: ["advancing", "stuck", "regressing"] },
      hypothesis: {
        type: "object",
        properties: { belief: { type: "string" }, test: { type: "string" } },
      },
    },
  },
};

/** Steps on whose results later steps noted something, with what they noted. */
export interface Observed {
  /** How many of `changed` are part of it; 0 if nothing was noted. */
  readonly size: number;
  get(step: StepRecord): StepRecord | undefined;
  /** The steps in the order in which they changed, each as often as it did. Branches that go on add to its end. */
  readonly changed?: readonly StepRecord[];
}

export const noneObserved: Observed = new Map<StepRecord, StepRecord>();

class ObservedSteps {
  readonly changed: StepRecord[] = [];
  /** Each version with the number of changes up to it, the oldest first. */
  readonly #versions = new Map<
    StepRecord,
    { readonly size: number; readonly step: StepRecord }[]
  >();
  /** By turn and id of a call, the steps with a result of it and what was noted on that. */
  readonly #turns = new Map<
    number,
    Map<string, { steps: StepRecord[]; noted: Observation | null }>
  >();

  /** Returns what is noted now: a branch that goes on from here notes other things. */
  now(): Observed {
    const { changed } = this;
    const size = changed.length;
    const get = (of: StepRecord): StepRecord | undefined =>
      this.#versions.get(of)?.findLast((version) => version.size <= size)?.step;
    return { size, get, changed };
  }

  add(step: StepRecord): void {
    const { turn_number: turn, tool_results: results, observations = [] } = step;
    let isNoted = false;
    for (const { id } of results) {
      const call = this.#call(turn, id);
      call.steps.push(step);
      isNoted ||= call.noted !== null;
    }
    const changed = new Set(isNoted ? [step] : []);
    for (const one of observations) {
      const call = this.#call(turn, one.id);
      call.noted = withObservation(call.noted ?? one, one);
      for (const noted of call.steps) changed.add(noted);
    }
    for (const noted of changed) this.#change(noted);
  }

  #call(turn: number, id: string) {
    const calls = this.#turns.get(turn) ?? new Map();
    this.#turns.set(turn, calls);
    const call = calls.get(id) ?? { steps: [], noted: null };
    calls.set(id, call);
    return call;
  }

  #change(step: StepRecord): void {
    const results = step.tool_results.map((result) => {
      const { noted } = this.#call(step.turn_number, result.id);
      return noted === null ? result : withObservation(result, noted);
    });
    this.changed.push(step);
    const version = { size: this.changed.length, step: { ...step, tool_results: results } };
    const versions = this.#versions.get(step);
    if (versions === undefined) this.#versions.set(step, [version]);
    else versions.push(version);
  }
}

const observing = appendFold<StepRecord, ObservedSteps>(
  () => new ObservedSteps(),
  (observed, step) => observed.add(step),
);

/** Returns what later steps noted on results. */
export function observedSteps(steps: readonly StepRecord[]): Observed {
  return observing(steps).now();
}
