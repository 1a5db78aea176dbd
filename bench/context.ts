/**
 * What models read, on real runs of an agent with tools: how many tokens a context has beside the raw history, and
 * whether everything that the next call takes from earlier results can still be read in it.
 *
 * Three measures. Answerable: each needed value stands somewhere. Named: each stands in a sentence, or at most 300
 * characters after the name under which a result held it. Strict: named, and values that one object of a result held
 * together and the call uses together (a flight and its date) stand together (`strictMisses`). A scripted policy then
 * has to find the values by their names. `--half 1` and `--half 2` take a half of the runs: what is tuned on the first
 * is checked on the second.
 *
 * npx tsx bench/context.ts [--data FILE] [--only curve,long,synthesis,prefix,policy,trade,speed] [--breakdown] [--misses BUDGET] [--half 1|2] [--csv FILE]
 */
import { existsSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { printBreakdown } from "./context/breakdown.ts";
import { rememberingModel } from "./context/counting.ts";
import {
  budgetsOfRuns,
  budgetsOfThreads,
  csvHead,
  csvLines,
  measureCurve,
  printCurve,
  printTarget,
  type Asked,
} from "./context/curve.ts";
import { printMisses } from "./context/misses.ts";
import { printPolicy } from "./context/policy.ts";
import { printPrefix } from "./context/prefix.ts";
import { baselines, fixed, ours, relative, type Budget } from "./context/readers.ts";
import { outcomes } from "./context/score.ts";
import { printSpeed } from "./context/speed.ts";
import { largeResults, printTrade } from "./context/trade.ts";
import { printSynthesis } from "./context/synthesis.ts";
import { longThreads, threadOf, type Call } from "./context/threads.ts";
import { readTrajectories } from "./context/trajectories.ts";

const { values: options } = parseArgs({
  options: {
    data: { type: "string", default: "../shared/data/trajectories/tau-airline.jsonl" },
    only: { type: "string", default: "curve,long,synthesis,prefix,policy,trade,speed" },
    /** Shows what tokens are spent on, too. */
    breakdown: { type: "boolean", default: false },
    /** A budget, `900` tokens or `15%` of the history: names what is missed at it. */
    misses: { type: "string" },
    half: { type: "string" },
    csv: { type: "string" },
    /** Long threads whose every call is measured. */
    threads: { type: "string", default: "4" },
    repeats: { type: "string", default: "3" },
    /** Lengths of the threads whose contexts are timed. */
    steps: { type: "string", default: "200,1000" },
    "preview-chars": { type: "string" },
    whole: { type: "string" },
    form: { type: "string", default: "native" },
    /** Asks as a run does: with calls in the conversation, and the number of the turn. */
    "with-calls": { type: "boolean", default: false },
  },
});

const parts = new Set(options.only.split(","));
const asked: Asked = {
  model: rememberingModel,
  goal: "planning",
  form: options.form as "native" | "text" | "report",
  ...(options["preview-chars"] !== undefined && { previewChars: Number(options["preview-chars"]) }),
  ...(options.whole !== undefined && { whole: options.whole as "last_step" | "turn" }),
};
const csv = [csvHead];

if (existsSync(options.data)) onTrajectories();
else {
  console.log(
    `No ${options.data}: pass a file of trajectories with --data. What reads them was not measured.`,
  );
}
if (parts.has("speed")) {
  const steps = options.steps.split(",").map(Number);
  printSpeed(asked, { repeats: Number(options.repeats), steps });
}

function onTrajectories(): void {
  const all = readTrajectories(options.data);
  const middle = all.length / 2;
  const runs =
    options.half === undefined
      ? all
      : options.half === "1"
        ? all.slice(0, middle)
        : all.slice(middle);
  const withCalls = options["with-calls"];
  const single = runs.map((run) => threadOf([run], { withCalls }));
  const long = longThreads(runs, { length: 8, count: runs.length, withCalls });
  const some = long.filter((_, at) => at % Math.ceil(long.length / Number(options.threads)) === 0);
  const isLast = (call: Call) => call.place === 7;
  console.log(`${runs.length} runs of ${options.data}`);

  if (parts.has("curve")) {
    const measured = measureCurve(single, { asked, budgets: budgetsOfRuns });
    printCurve("Single runs", measured);
    printTarget("Single runs", measured, { answerable: 0.98, strict: 0.92, tokens: 0.5 });
    csv.push(...csvLines("runs", measured));
    detail("single runs", single, [600, 900, 1500].map(fixed));
  }
  if (parts.has("long")) {
    const last = measureCurve(long, { asked, budgets: budgetsOfThreads, counts: isLast });
    printCurve("Eight runs in a row, calls of the eighth", last);
    const every = measureCurve(some, { asked, budgets: budgetsOfThreads });
    printCurve(`Eight runs in a row, every call of ${some.length} threads`, every);
    printTarget("Calls of the eighth run", last, { answerable: 0.98, strict: 0.9, tokens: 0.15 });
    printTarget("Every call of eight runs", every, { answerable: 0.98, strict: 0.9, tokens: 0.15 });
    csv.push(...csvLines("eighth", last), ...csvLines("eight", every));
    detail("calls of the eighth run", long, [1000, 2000, 4000].map(fixed), isLast);
  }
  if (parts.has("synthesis")) {
    printSynthesis("single runs", single, { asked });
    printSynthesis("calls of the eighth run", long, { asked, counts: isLast });
  }
  if (parts.has("prefix")) {
    printPrefix("single runs", single, {
      asked,
      budgets: [undefined, ...[2000, 1000, 700].map(fixed)],
    });
    printPrefix("eight runs in a row", some, {
      asked,
      budgets: [undefined, ...[8000, 4000, 2000, 1000].map(fixed)],
    });
  }
  if (parts.has("policy")) {
    const readers = (budgets: readonly Budget[]) => [
      ...baselines.slice(0, 1),
      ...[undefined, ...budgets].map((budget) => ours(asked, budget)),
    ];
    const ofRuns = readers([fixed(1000), fixed(1200), relative(0.65)]);
    printPolicy("single runs", single, { readers: ofRuns });
    printPolicy("every call of eight runs in a row", some, {
      readers: readers([1000, 1250, 1500, 2000].map(fixed)),
    });
  }
  if (parts.has("trade")) {
    printTrade("single runs", single, asked);
    printTrade("eight runs in a row", some, asked);
  }
  if (parts.has("trade")) printTrade("large results, generated", [largeResults(100)], asked);
  if (options.csv !== undefined) writeFileSync(options.csv, `${csv.join("\n")}\n`);
}

/** What tokens are spent on and what is missed, where that was asked for. */
function detail(
  title: string,
  threads: Parameters<typeof printBreakdown>[1],
  budgets: readonly Budget[],
  counts: (call: Call) => boolean = () => true,
): void {
  if (options.breakdown) {
    printBreakdown(title, threads, { asked, budgets: [undefined, ...budgets], counts });
  }
  if (options.misses === undefined) return;
  const amount = Number.parseFloat(options.misses);
  const budget = options.misses.endsWith("%") ? relative(amount / 100) : fixed(amount);
  const reader = ours(asked, budget);
  const all = outcomes(threads, reader, counts);
  printMisses(title, all, { asked, budget });
}
