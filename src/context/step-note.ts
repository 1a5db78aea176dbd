import type { ModelTool } from "../models/agent-model.ts";
import {
  type Observation,
  type Progress,
  type Relevance,
  type StepRecord,
  withObservations,
} from "../state/step-record.ts";
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
export function observedSteps(steps: readonly StepRecord[]): ReadonlyMap<StepRecord, StepRecord> {
  const observed = withObservations(steps);
  if (observed === steps) return none;
  const changed = new Map<StepRecord, StepRecord>();
  for (const [at, step] of steps.entries()) {
    const own = observed[at] as StepRecord;
    if (own !== step) changed.set(step, own);
  }
  return changed;
}

const none: ReadonlyMap<StepRecord, StepRecord> = new Map();
