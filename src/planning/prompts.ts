import { preview } from "../context/preview/preview.ts";
import { attemptFeedback } from "../context/prompts.ts";
import type { StructuredAnswer } from "../models/agent-model.ts";
import type { Subtask } from "../state/plan.ts";
import { truncateText, headOf } from "../values/text.ts";
import type { PlanProblem } from "./check-plan.ts";
import type { WorkerProfile } from "./match-worker.ts";

/**
 * The data of a planning request. The form of each reply is in the request too, for models without structured output.
 */

export interface PlanRequest {
  readonly workers: readonly WorkerProfile[];
  /** Number of subtasks that may still be planned. */
  readonly most: number;
  /** Empty if the model must state the criteria itself. */
  readonly criteria: string;
  /** The gaps that the plan must close; empty for a first plan. */
  readonly gaps: readonly string[];
  /** Completed subtasks. */
  readonly done: readonly Pick<Subtask, "id" | "description">[];
  /** Ids of all other subtasks of earlier plans. */
  readonly taken: readonly string[];
  /** The last plan that a person rejected, as text, and the reasons of all rejections. Default: none was rejected. */
  readonly rejected?: { readonly plan: string; readonly reasons: readonly string[] } | undefined;
}

/** Maximum characters of a rejected plan. */
const rejectedCharacters = 8000;

function rejectedLines({ rejected }: PlanRequest): readonly string[] {
  if (rejected === undefined) return [];
  const reasons = rejected.reasons.filter((reason) => reason !== "");
  return [
    "A person rejected this plan. Plan it differently:",
    truncateText(rejected.plan, rejectedCharacters),
    ...section("Reasons, oldest first:", reasons),
  ];
}

const planForm =
  'Reply with one JSON object: {"subtasks": [{"id": string (1 to 64 letters, digits, _ . and -), "description": string (what to do, complete in itself), ' +
  '"dependencies": [string (ids of subtasks whose results it needs)], "worker": string (one of the workers; optional), ' +
  '"expected_output": string (optional)}], "success_criteria": string (what the joined result is judged by, unless that is said above)}';

/** Renders the request for a plan, which is the last message. */
export function planRequest(request: PlanRequest): string {
  const { workers, most, criteria, gaps, done, taken } = request;
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
    ...rejectedLines(request),
    `At most ${most.toLocaleString("en")} subtasks. A worker sees its subtask and the results of its dependencies, nothing else. ` +
      "Subtasks that do not depend on each other run at the same time: depend only on what is needed.",
    ...(criteria === "" ? [] : [`The result is judged by: ${criteria}`]),
    planForm,
  ];
  return parts.join("\n");
}

/** Maximum characters of completed subtasks' descriptions, each and in total. */
const doneCharacters = 200;
const allDoneCharacters = 20_000;

function doneLines(done: PlanRequest["done"]): readonly string[] {
  if (done.length === 0) return [];
  const each = Math.min(doneCharacters, Math.floor(allDoneCharacters / done.length));
  return [
    "Done already; give the id as a dependency where the result is needed:",
    // With very many, only the ids are listed.
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

/** The form of a plan as a schema. */
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
              expected_output: { type: "string", description: "What the result must be." },
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

/** Renders the retry request after a plan that cannot be run. */
export function planRetry(problems: readonly Pick<PlanProblem, "message">[]): string {
  return `${attemptFeedback(problems.map(({ message }) => message))}\n${planForm}`;
}

/** Renders the request for the joined result, which is the last message. */
export function synthesisRequest(of: {
  readonly criteria: string;
  /** The gaps before the last subtasks. */
  readonly before: readonly string[];
  /** Subtasks without a result. */
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

/** Renders the request to judge a result, which follows the result. */
export function gapRequest(of: {
  readonly criteria: string;
  /** The gaps before the last subtasks. */
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

/** Renders the retry request after an unreadable verdict. */
export function gapRetry(problem: string): string {
  return `${attemptFeedback([problem])}\n${gapForm}`;
}

/** The form of a verdict as a schema. */
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

/** Maximum items of a list, and characters of each. */
const mostListed = 100;
const listedCharacters = 4000;

/** Renders a list under its heading; empty without items. */
function section(heading: string, items: readonly string[]): readonly string[] {
  if (items.length === 0) return [];
  const listed = items
    .slice(0, mostListed)
    .map((item) => `- ${truncateText(item, listedCharacters)}`);
  const more = items.length - listed.length;
  return [heading, ...listed, ...(more > 0 ? [`… and ${more.toLocaleString("en")} more`] : [])];
}

function oneLine(text: string, most: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > most ? `${headOf(line, most - 1)}…` : line;
}

/**
 * Maximum characters of the results in a worker's message. They are shared equally, and unused parts go to the others.
 */
const shownCharacters = 40_000;

/** Heading before the results. */
const resultsHeading = "Results of earlier subtasks:";

/**
 * Renders the message of a worker: the subtask's description, the expected output, and the results of its dependencies,
 * large ones as previews. It contains nothing else of the plan. A multi-line result is fenced, so that none of its
 * lines looks like another result.
 *
 * @param dependencies in the order in which the subtask names them
 */
export function workerMessage(
  { description, expected_output = "" }: Pick<Subtask, "description" | "expected_output">,
  dependencies: readonly {
    readonly id: string;
    readonly description: string;
    readonly result: unknown;
  }[],
): string {
  const parts = [
    description,
    ...(expected_output === "" ? [] : [`Expected output: ${expected_output}`]),
  ];
  if (dependencies.length === 0) return parts.join("\n\n");
  const texts = shownResults(dependencies.map(({ result }) => result));
  const results = dependencies.map(
    ({ id, description: about }, i) => `### ${id}: ${onOneLine(about)}\n${fenced(texts[i] ?? "")}`,
  );
  return [...parts, resultsHeading, ...results].join("\n\n");
}

/** Returns small results whole; the remaining characters are shared among the large ones. */
function shownResults(results: readonly unknown[]): readonly string[] {
  const whole = results.map(textOf);
  const bySize = whole.map((_, i) => i).toSorted((a, b) => lengthAt(whole, a) - lengthAt(whole, b));
  const texts = [...whole];
  let left = shownCharacters;
  bySize.forEach((at, i) => {
    const share = Math.max(1000, Math.floor(left / (bySize.length - i)));
    if (lengthAt(whole, at) > share) {
      texts[at] = textOf(
        preview(results[at], { maxChars: Math.ceil(share / 4), maxItems: 20, maxTotal: share }),
      );
    }
    left = Math.max(0, left - lengthAt(texts, at));
  });
  return texts;
}

function lengthAt(texts: readonly string[], at: number): number {
  return texts[at]?.length ?? 0;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
}

/** Returns a text unchanged if it is one line and neither a heading nor a fence. */
function fenced(text: string): string {
  if (!/[\n\r\u2028\u2029]|^(?:#|```)/.test(text) && text !== resultsHeading) return text;
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

function onOneLine(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 200 ? `${headOf(line, 199)}…` : line;
}
