import { attemptFeedback } from "../context/prompts.ts";
import type { StructuredAnswer } from "../models/agent-model.ts";
import { cutText, headOf } from "../state/cut-text.ts";
import type { Subtask } from "../state/task-plan.ts";
import type { PlanProblem } from "./check-plan.ts";
import type { WorkerProfile } from "./match-worker.ts";

/** What a planner asks of its model. The form of each reply is in the request too, for models that no schema reaches. */

export interface PlanRequest {
  readonly workers: readonly WorkerProfile[];
  /** Subtasks that may still be planned. */
  readonly most: number;
  /** Empty where the model is to say what the result is judged by. */
  readonly criteria: string;
  /** What is missing, when the plan is to close gaps; else empty. */
  readonly gaps: readonly string[];
  /** What is done already. */
  readonly done: readonly Pick<Subtask, "id" | "description">[];
  /** Ids of all other subtasks of earlier plans. */
  readonly taken: readonly string[];
}

const planForm =
  'Reply with one JSON object: {"subtasks": [{"id": string (1 to 64 letters, digits, _ . and -), "description": string (what to do, complete in itself), ' +
  '"dependencies": [string (ids of subtasks whose results it needs)], "worker": string (one of the workers; optional), ' +
  '"expected_output": string (optional)}], "success_criteria": string (what the joined result is judged by, unless that is said above)}';

/** Asks for a plan, said last. */
export function planRequest({ workers, most, criteria, gaps, done, taken }: PlanRequest): string {
  const listed = workers.map(({ name, description, tools }) => {
    const names = tools.map((tool) => tool.name).join(", ");
    return `- ${name}: ${oneLine(description, 500)}${names === "" ? "" : ` (tools: ${names})`}`;
  });
  const parts = [
    gaps.length === 0
      ? "Break the task down into subtasks for these workers:"
      : "The results so far leave gaps. Plan subtasks for these gaps only, for these workers:",
    ...listed,
    ...section("Gaps:", gaps),
    ...doneLines(done),
    ...takenLine(done, taken),
    `At most ${most.toLocaleString("en")} subtasks. A worker sees its subtask and the results of its dependencies, nothing else. ` +
      "Subtasks that do not depend on each other run at the same time: depend only on what is needed.",
    ...(criteria === "" ? [] : [`The result is judged by: ${criteria}`]),
    planForm,
  ];
  return parts.join("\n");
}

/** Characters of descriptions that are done, of each and together. */
const doneCharacters = 200;
const allDoneCharacters = 20_000;

function doneLines(done: PlanRequest["done"]): readonly string[] {
  if (done.length === 0) return [];
  const each = Math.min(doneCharacters, Math.floor(allDoneCharacters / done.length));
  return [
    "Done already; give the id as a dependency where the result is needed:",
    // Of very many the ids alone say what they are.
    ...done.map(({ id, description }) =>
      each < 20 ? `- ${id}` : `- ${id}: ${oneLine(description, each)}`,
    ),
  ];
}

function takenLine(done: PlanRequest["done"], taken: readonly string[]): readonly string[] {
  if (done.length + taken.length === 0) return [];
  if (taken.length === 0) return ["Use new ids; those are taken."];
  const these = done.length === 0 ? "these are taken" : "those are taken, and these";
  return [`Use new ids; ${these}: ${taken.join(", ")}`];
}

/** The same as a schema. */
export function planAnswer(workers: readonly WorkerProfile[]): StructuredAnswer {
  return {
    name: "plan",
    description: "Gives the plan: subtasks, and what the joined result is judged by.",
    schema: {
      type: "object",
      properties: {
        subtasks: {
          type: "array",
          items: {
            type: "object",
            properties: {
              id: { type: "string", description: "1 to 64 letters, digits, _ . and -." },
              description: { type: "string", description: "What to do, complete in itself." },
              dependencies: {
                type: "array",
                items: { type: "string" },
                description: "Ids of the subtasks whose results it needs.",
              },
              worker: { type: "string", enum: workers.map(({ name }) => name) },
              expected_output: { type: "string", description: "What the result has to be." },
            },
            required: ["id", "description", "dependencies"],
          },
        },
        success_criteria: { type: "string", description: "What the joined result is judged by." },
      },
      required: ["subtasks"],
    },
  };
}

/** Asks once more, after a plan that cannot be run. */
export function planRetry(problems: readonly Pick<PlanProblem, "message">[]): string {
  return `${attemptFeedback(problems.map(({ message }) => message))}\n${planForm}`;
}

/** Asks for the result, said last. */
export function synthesisRequest(of: {
  readonly criteria: string;
  /** What was missing before the last subtasks. */
  readonly before: readonly string[];
  /** Subtasks that gave nothing. */
  readonly failed: readonly string[];
  /** The form of the answer; empty for text. */
  readonly form: string;
}): string {
  const { criteria, before, failed, form } = of;
  return [
    "Give the result of the whole task from the results of the subtasks.",
    ...(criteria === "" ? [] : [`It is judged by: ${criteria}`]),
    ...section(
      "These were missing before; add what there is now, or say that it is still missing:",
      before,
    ),
    ...section("These subtasks gave nothing; say what is missing for it:", failed),
    form,
  ]
    .filter((part) => part !== "")
    .join("\n");
}

const gapForm =
  'Reply with one JSON object: {"gaps": [string (what is missing or wrong, one thing each; none when the result is good enough)]}';

/** Asks what a result lacks, said after it. */
export function gapRequest(of: {
  readonly criteria: string;
  /** What was missing before the last subtasks. */
  readonly before: readonly string[];
}): string {
  const { criteria, before } = of;
  const by = criteria === "" ? "the task." : `the task and these criteria: ${criteria}`;
  return [
    `Judge the result above against ${by}`,
    ...section("These were missing before; list those that still are, and what else is:", before),
    gapForm,
  ].join("\n");
}

/** Asks once more, after a verdict that cannot be read. */
export function gapRetry(problem: string): string {
  return `${attemptFeedback([problem])}\n${gapForm}`;
}

/** The same as a schema. */
export const gapAnswer: StructuredAnswer = {
  name: "judge",
  description: "Lists what the result lacks; nothing when it is good enough.",
  schema: {
    type: "object",
    properties: {
      gaps: {
        type: "array",
        items: { type: "string" },
        description: "What is missing or wrong, one thing each.",
      },
    },
    required: ["gaps"],
  },
};

/** Items that a list names, and characters of each. */
const mostListed = 100;
const listedCharacters = 4000;

/** A list under its heading; nothing without items. */
function section(heading: string, items: readonly string[]): readonly string[] {
  if (items.length === 0) return [];
  const listed = items.slice(0, mostListed).map((item) => `- ${cutText(item, listedCharacters)}`);
  const more = items.length - listed.length;
  return [heading, ...listed, ...(more > 0 ? [`… and ${more.toLocaleString("en")} more`] : [])];
}

function oneLine(text: string, most: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > most ? `${headOf(line, most - 1)}…` : line;
}
