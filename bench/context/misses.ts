import type { Asked } from "./curve.ts";
import { contextAt, type Budget } from "./readers.ts";
import type { Outcome } from "./score.ts";
import type { Thread } from "./threads.ts";
import { dataPieces } from "./trajectories.ts";

interface Made {
  readonly asked: Asked;
  readonly budget: Budget;
}

/** Prints each needed value that a context left out, where it was last to be read, and how that step is told. */
export function printMisses(title: string, outcomes: readonly Outcome[], options: Made): void {
  const missed = outcomes.filter(({ missing }) => missing.length > 0);
  console.log(`\nMisses of ${title}, ${options.budget.name}: ${missed.length} calls\n`);
  for (const outcome of missed) {
    const { thread, call } = outcome;
    const told = outcome.overflow ? null : fidelities(outcome, options);
    for (const value of outcome.missing) {
      const step = lastStepWith(thread, value, call.before.steps);
      const record = thread.steps[step];
      const where =
        record === undefined
          ? lastMessageWith(thread, value, call.before.messages)
          : `${record.tool_predictions.map(({ name }) => name).join(", ")}, step ${step} of ` +
            `${call.before.steps} (turn ${record.turn_number}.${record.step_index}): ` +
            (told?.get(`${record.turn_number}.${record.step_index}`) ?? "nothing fits");
      const asks = thread.steps[call.before.steps]?.tool_predictions[0]?.name ?? "";
      console.log(`${call.run} message ${call.at} ${asks}: ${value}, last in ${where}`);
    }
  }
}

function fidelities(
  { thread, call }: Outcome,
  { asked, budget }: Made,
): ReadonlyMap<string, string> {
  const { metadata } = contextAt(thread, call, { ...asked, budget: budget.tokens(call) });
  return new Map(
    metadata.steps.map(({ turn, step, fidelity }) => [`${turn}.${step}`, fidelity] as const),
  );
}

/** Index of the last step before `end` whose results or calls have the value; -1 where none has. */
function lastStepWith(thread: Thread, value: string, end: number): number {
  return thread.steps
    .slice(0, end)
    .findLastIndex(({ tool_results: results }) =>
      JSON.stringify(results.map(({ args, result, error }) => [args, result, error])).includes(
        value,
      ),
    );
}

function lastMessageWith(thread: Thread, value: string, end: number): string {
  const at = thread.raw
    .slice(0, end)
    .findLastIndex((message) => dataPieces(message).some((piece) => piece.includes(value)));
  return at < 0 ? "no message" : `${thread.raw[at]?.role} message ${at} of ${end}`;
}
