import { median } from "../helpers/median.ts";
import { countingModel, pieces } from "./counting.ts";
import type { Asked } from "./curve.ts";
import { generatedThread, type GeneratedThread } from "./generated-steps.ts";
import {
  buildReasoningContext,
  type BuildReasoningContextOptions as ContextOptions,
} from "../../src/context/build-reasoning-context.ts";
import { printTable } from "../helpers/table.ts";

interface Case {
  readonly steps: number;
  readonly name: string;
  readonly options: Partial<ContextOptions>;
  /** Steps that are added one by one after those that are known. */
  readonly added: number;
}

const medium = { name: "window of 128,000, medium", options: {} };
const all = {
  name: "window that holds all",
  options: { model: countingModel(100_000_000), utilization: "full" },
} as const;
const fixed = (budget: number) => ({
  name: `${budget.toLocaleString("en")} tokens`,
  options: { budget },
});

/** Fewer builds of longer threads, and not at every budget. */
function casesOf(steps: number): readonly Case[] {
  const settings = steps > 200 ? [medium, fixed(4000)] : [medium, all, fixed(8000), fixed(4000)];
  const added = steps > 1000 ? 3 : steps > 200 ? 5 : 15;
  return settings.map((of) => ({ ...of, steps, added }));
}

/** Prints how long a context takes: the first of a thread, and each one after a step was added. */
export function printSpeed(
  asked: Asked,
  options: { readonly repeats: number; readonly steps: readonly number[] },
): void {
  console.log(
    `\nTime of one context, planning, as steps are added one by one; 200 steps: medians of ${options.repeats} threads`,
  );
  for (const steps of options.steps) {
    const timings = casesOf(steps).map((of) => ({
      name: `${of.steps.toLocaleString("en")} steps, ${of.name}`,
      runs: Array.from({ length: steps > 200 ? 1 : options.repeats }, () =>
        timed(of, { ...asked, model: countingModel(), ...of.options }),
      ),
    }));
    console.log();
    printTable(head, timings.map(row));
    if (steps !== 200) continue;
    const after = median((timings[0]?.runs ?? []).map(({ next }) => median(next)));
    console.log(
      `\nTarget: a context of 200 steps, all but one known, in < 10 ms: ${after < 10 ? "met" : "MISSED"} (${ms(after)})`,
    );
  }
}

const head = [
  "",
  "first",
  "after one more",
  "slowest",
  "with tokens read",
  "joining texts",
  "JSON of steps",
  "messages",
];

function row({ name, runs }: { readonly name: string; readonly runs: readonly Timed[] }): string[] {
  const figure = (value: (run: Timed) => number) => ms(median(runs.map(value)));
  return [
    name,
    figure(({ first }) => first),
    figure(({ next }) => median(next)),
    figure(({ next }) => Math.max(...next)),
    figure(({ figures }) => figures),
    figure(({ texts }) => texts),
    figure(({ json }) => json),
    String(runs[0]?.messages ?? 0),
  ];
}

interface Timed {
  readonly first: number;
  readonly next: readonly number[];
  /** A context after one more step, and its tokens read. */
  readonly figures: number;
  /** Floors: the texts of the context's messages joined, and the steps as JSON. */
  readonly texts: number;
  readonly json: number;
  readonly messages: number;
}

function timed({ steps: count, added }: Case, options: Asked): Timed {
  const whole = generatedThread(count + 2 * added);
  const at = (steps: number): GeneratedThread => ({
    // The request of the turn under way has been said, its answer has not.
    conversation: whole.conversation.slice(0, 2 * Math.ceil(steps / 10) - 1),
    steps: whole.steps.slice(0, steps),
  });
  const time = <Value>(act: () => Value): readonly [number, Value] => {
    const start = performance.now();
    const value = act();
    return [performance.now() - start, value];
  };
  const threads = Array.from({ length: 2 * added + 1 }, (_, more) => at(count + more));
  const make = (more: number) =>
    buildReasoningContext({ ...options, ...(threads[more] as GeneratedThread) });
  const [first, context] = time(() => make(0));
  const next = Array.from({ length: added }, (_, more) => time(() => make(more + 1))[0]);
  const figures = Array.from(
    { length: added },
    (_, more) => time(() => make(added + more + 1).metadata.tokens.total)[0],
  );
  const floor = (act: () => unknown) => median(Array.from({ length: 5 }, () => time(act)[0]));
  return {
    first,
    next,
    figures: median(figures),
    texts: floor(() => context.messages.flatMap(pieces).join("\n").length),
    json: floor(() => JSON.stringify(threads[0]?.steps).length),
    messages: context.messages.length,
  };
}

function ms(time: number): string {
  return `${time.toPrecision(3)} ms`;
}
