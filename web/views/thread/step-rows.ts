import { failureOf, groupBy, type Step } from "./thread-records.ts";

/** Steps that a filter lets through. Empty texts let all through. */
export interface StepFilter {
  readonly turn: string;
  readonly attempt: string;
  readonly node: string;
  readonly outcome: string;
  readonly text: string;
}

/** A row of the list: a step, or the heading of an attempt. */
export type StepRow =
  | { readonly kind: "step"; readonly key: string; readonly step: Step }
  | {
      readonly kind: "attempt";
      readonly key: string;
      readonly turn: number;
      readonly attempt: number;
      /** Whether another attempt of the turn came after it, or the turn failed with it. */
      readonly hasFailed: boolean;
      readonly steps: number;
      readonly tokens: number;
      readonly ms: number;
    };

/** Outcomes by which steps are filtered. */
export const outcomes = ["failed", "success", "open"] as const;

export function outcomeOf(step: Step): (typeof outcomes)[number] {
  if (step.is_open) return "open";
  return failureOf(step) === null ? "success" : "failed";
}

export function filterSteps(steps: readonly Step[], filter: StepFilter): readonly Step[] {
  const text = filter.text.trim().toLowerCase();
  return steps.filter(
    (step) =>
      (filter.turn === "" || String(step.turn) === filter.turn) &&
      (filter.attempt === "" || String(step.attempt) === filter.attempt) &&
      (filter.node === "" || step.node === filter.node) &&
      (filter.outcome === "" || outcomeOf(step) === filter.outcome) &&
      (text === "" || textOf(step).includes(text)),
  );
}

function textOf({ id, node, thought, problem, model, calls }: Step): string {
  const said = calls.map(({ tool, error }) => `${tool} ${error ?? ""}`);
  return [id, node, thought, problem, model, ...said].join("\n").toLowerCase();
}

/**
 * Returns the rows of a list: each attempt begins with a heading.
 *
 * @param of all steps, by which it is known which attempts were followed by another one, and whether the last turn has
 * failed
 */
export function stepRows(
  steps: readonly Step[],
  { all, hasFailed }: { readonly all: readonly Step[]; readonly hasFailed: boolean },
): readonly StepRow[] {
  const last = new Map<number, number>();
  for (const { turn, attempt } of all) last.set(turn, Math.max(last.get(turn) ?? 0, attempt));
  const lastTurn = all.at(-1)?.turn;
  const rows: StepRow[] = [];
  const byAttempt = groupBy(steps, ({ turn, attempt }) => `${turn}.${attempt}`);
  for (const [id, own] of byAttempt) {
    const { turn, attempt } = own[0]!;
    rows.push({
      kind: "attempt",
      key: `attempt ${id}`,
      turn,
      attempt,
      hasFailed: attempt < (last.get(turn) ?? 0) || (hasFailed && turn === lastTurn),
      steps: own.length,
      tokens: sum(own, (step) => step.tokens_in + step.tokens_out),
      ms: sum(own, (step) => step.duration_ms),
    });
    rows.push(...own.map((step) => ({ kind: "step" as const, key: step.id, step })));
  }
  return rows;
}

function sum(steps: readonly Step[], of: (step: Step) => number): number {
  return steps.reduce((total, step) => total + of(step), 0);
}

/** Returns the first line of a text that says something. */
export function firstLine(text: string): string {
  return text.split("\n").find((line) => line.trim() !== "") ?? "";
}

/** Returns the step to open for "where it failed": the last that has failed, else the last one. */
export function failedStep(steps: readonly Step[]): Step | undefined {
  return steps.findLast((step) => outcomeOf(step) === "failed") ?? steps.at(-1);
}
