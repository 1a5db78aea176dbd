import { plot, type Point } from "./plot.ts";
import { fixed, newest, ours, relative, baselines, type Budget, type Reader } from "./readers.ts";
import type { BuildReasoningContextOptions } from "../../src/context/build-reasoning-context.ts";
import { outcomes, score, type Score } from "./score.ts";
import { percent, printTable } from "../helpers/table.ts";
import type { Call, Thread } from "./threads.ts";

/** How contexts are asked for, apart from the budget. */
export type Asked = Omit<BuildReasoningContextOptions, "conversation" | "steps" | "budget">;

export interface Measured {
  readonly kind: "ours" | "newest" | "baseline";
  readonly score: Score;
}

/** Budgets from the tightest to the widest. */
export const budgetsOfRuns: readonly Budget[] = [
  ...[300, 400, 500, 600, 700, 800, 900, 1000, 1200, 1400, 1600, 2000, 3000, 4000].map(fixed),
  ...[0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.64, 0.7, 0.8, 0.9, 1].map(relative),
];
export const budgetsOfThreads: readonly Budget[] = [
  ...[500, 1000, 1250, 1500, 2000, 2500, 3000, 4000, 8000].map(fixed),
  ...[0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5].map(relative),
];

/** Everything that is compared on one set of calls: baselines, the newest messages, and contexts of every budget. */
export function measureCurve(
  threads: readonly Thread[],
  options: {
    readonly asked: Asked;
    readonly budgets: readonly Budget[];
    readonly counts?: (call: Call) => boolean;
  },
): readonly Measured[] {
  const { asked, budgets } = options;
  const take =
    (kind: Measured["kind"]) =>
    (reader: Reader): Measured => {
      return { kind, score: score(reader.name, outcomes(threads, reader, options.counts)) };
    };
  return [
    ...baselines.map(take("baseline")),
    ...budgets.map(newest).map(take("newest")),
    ...[ours(asked), ...budgets.map((budget) => ours(asked, budget))].map(take("ours")),
  ];
}

const head = [
  "answerable",
  "named",
  "strict",
  "tokens",
  "tokens a call",
  "mean of ratios",
  "of needing calls",
  "with system",
  "overflows",
  "of earlier runs",
];

export function printCurve(title: string, measured: readonly Measured[], widest = 1): void {
  const first = measured[0]?.score;
  console.log(`\n${title}: ${first?.calls} calls, ${first?.needing} of them need something\n`);
  for (const kind of ["baseline", "newest", "ours"] as const) {
    const rows = measured.filter((one) => one.kind === kind).map(({ score: of }) => row(of));
    if (rows.length > 0) printTable([kind, ...head], rows);
    console.log();
  }
  const mark = { ours: "o", newest: "n", baseline: "b" };
  const points = measured
    .toSorted((a, b) => b.kind.localeCompare(a.kind))
    .map((one): Point => ({
      x: one.score.ratio,
      y: one.score.answerable / one.score.needing,
      mark: mark[one.kind],
    }));
  console.log("Answerable calls over tokens; o ours, n newest messages, b other baselines\n");
  console.log(plot(points, widest));
}

function row(of: Score): string[] {
  return [
    of.name,
    percent(of.answerable / of.needing),
    percent(of.named / of.needing),
    percent(of.strict / of.needing),
    percent(of.ratio),
    of.tokens.toFixed(0),
    percent(of.meanRatio),
    percent(of.ratioOfNeeding),
    percent(of.ratioWithSystem),
    String(of.overflows),
    of.earlier === null ? "–" : percent(of.earlier),
  ];
}

/** The fewest tokens at which enough calls are answerable by both measures, and whether they are few enough. */
export function printTarget(
  title: string,
  measured: readonly Measured[],
  target: { readonly answerable: number; readonly strict: number; readonly tokens: number },
): void {
  const scores = measured.filter(({ kind }) => kind === "ours").map((one) => one.score);
  const enough = scores.filter(
    ({ answerable, strict, needing }) =>
      answerable >= target.answerable * needing && strict >= target.strict * needing,
  );
  const best = enough.toSorted((a, b) => a.ratio - b.ratio)[0];
  const within = scores.filter((of) => of.ratio <= target.tokens);
  const most = within.toSorted((a, b) => b.strict - a.strict || b.answerable - a.answerable)[0];
  const told = (of: Score | undefined) =>
    of === undefined
      ? "none"
      : `${percent(of.answerable / of.needing)}, strict ${percent(of.strict / of.needing)} at ${percent(of.ratio)} (${of.name})`;
  const met = best !== undefined && best.ratio <= target.tokens ? "met" : "MISSED";
  console.log(
    `\n${title}: >= ${percent(target.answerable)} answerable and >= ${percent(target.strict)} strict at <= ${percent(target.tokens)} of the tokens: ${met}.` +
      `\n  fewest tokens with enough: ${told(best)}; most within the tokens: ${told(most)}`,
  );
}

/** The curve as CSV, a line for each setting. */
export function csvLines(set: string, measured: readonly Measured[]): readonly string[] {
  return measured.map(({ kind, score: of }) =>
    [
      set,
      kind,
      `"${of.name}"`,
      of.calls,
      of.needing,
      of.answerable,
      of.named,
      of.strict,
      of.tokens.toFixed(1),
      of.ratio.toFixed(4),
      of.meanRatio.toFixed(4),
      of.ratioOfNeeding.toFixed(4),
      of.ratioWithSystem.toFixed(4),
      of.overflows,
      of.earlier?.toFixed(4) ?? "",
    ].join(","),
  );
}

export const csvHead =
  "set,kind,setting,calls,needing,answerable,named,strict,tokens_a_call,ratio,mean_ratio,ratio_of_needing,ratio_with_system,overflows,of_earlier_runs";
