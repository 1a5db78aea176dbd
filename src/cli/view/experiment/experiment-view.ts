import type { Clock } from "../../../clock.ts";
import type { RunSpec } from "../../../experiment/config/run-spec.ts";
import type { ExperimentEvent, RunProgress } from "../../../experiment/run-progress.ts";
import { noUsage } from "../../../state/usage.ts";
import { headOf } from "../../../values/text.ts";
import type { Sink } from "../../io.ts";
import { LiveBlock } from "../live.ts";
import { plainText, type Style, wrapText } from "../terminal.ts";
import { experimentBlock, runLine } from "./experiment-block.ts";
import { cyclesText, leftText, spentBy } from "./experiment-lines.ts";

/** Milliseconds between two pictures. */
const frameMs = 200;
/** Milliseconds between two lines where there is no terminal: the longer it takes, the fewer. */
const leastPauseMs = 5_000;
const mostPauseMs = 60_000;
const linesOfPast = 50;
/** Of a message; the log has all of it. */
const messageCharacters = 2_000;
const messageLines = 12;

export interface ExperimentViewOptions {
  readonly sink: Sink;
  readonly style: Style;
  readonly clock: Clock;
  readonly runs: readonly Pick<RunSpec, "run_id" | "model_name" | "cycle_count">[];
  /** Runs at the same time. */
  readonly parallel: number;
}

interface SeenRun {
  readonly model_name: string;
  readonly progress: RunProgress;
  /** Monotonic time of the report, in milliseconds. */
  readonly at: number;
}

/**
 * Tells people how far an experiment is: on a terminal by lines that change, with the messages of agents above them;
 * elsewhere by a line now and then, so that a log of a night stays short.
 */
export class ExperimentView {
  readonly #options: ExperimentViewOptions;
  readonly #block: LiveBlock;
  readonly #runs: Map<string, SeenRun>;
  readonly #begunAt: number;
  #toldAt = Number.NEGATIVE_INFINITY;
  #isStopping = false;
  #cancel: (() => void) | null = null;

  constructor(options: ExperimentViewOptions) {
    this.#options = options;
    this.#block = new LiveBlock(options.sink);
    this.#begunAt = options.clock.monotonic();
    this.#runs = new Map(
      options.runs.map(({ run_id, model_name, cycle_count }) => {
        const progress = { ...notBegun, run_id, cycle_count };
        return [run_id, { model_name, progress, at: this.#begunAt }];
      }),
    );
  }

  event(event: ExperimentEvent): void {
    if (event.type === "message") {
      this.say(this.#messageLines(event));
      return;
    }
    const { run } = event;
    const before = this.#runs.get(run.run_id);
    const at = this.#options.clock.monotonic();
    this.#runs.set(run.run_id, { model_name: before?.model_name ?? "", progress: run, at });
    const hasEnded = run.status !== before?.progress.status && endedStatuses.has(run.status);
    if (!this.#options.sink.isTerminal) this.#tellLine(run, event.type === "cycle_end", hasEnded);
    else if (this.#cancel === null) this.#tick();
  }

  /** Lines that stay. */
  say(lines: readonly string[]): void {
    if (lines.length === 0) return;
    this.#block.clear();
    this.#options.sink.write(lines.map((line) => `${line}\n`).join(""));
    if (this.#cancel !== null) this.#draw();
  }

  /** It was asked to stop, and does so as soon as it can. */
  stopping(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    if (!this.#options.sink.isTerminal) this.say(["Stopping."]);
    else if (this.#cancel !== null) this.#draw();
  }

  /** Takes away what was there for the time of the experiment only. */
  end(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#block.clear();
  }

  #tick(): void {
    this.#draw();
    this.#cancel = this.#options.clock.after(frameMs, () => this.#tick());
  }

  #draw(): void {
    const { sink, style } = this.#options;
    const runs = this.#runsNow();
    this.#block.show(
      experimentBlock(
        {
          runs: runs.map(({ progress }) => progress),
          remaining_ms: timeLeftOfAll(runs, this.#options.parallel),
          isStopping: this.#isStopping,
        },
        // A line that is full would break.
        { width: Math.max(1, (sink.columns ?? 80) - 1), style },
      ),
    );
  }

  /** Adds the time that has passed since each report. */
  #runsNow(): readonly SeenRun[] {
    const now = this.#options.clock.monotonic();
    return [...this.#runs.values()].map((run) => {
      const { remaining_ms: left, status } = run.progress;
      if (left === null || status !== "running") return run;
      const progress = { ...run.progress, remaining_ms: Math.max(0, left - (now - run.at)) };
      return { ...run, progress };
    });
  }

  /** The end of a run is always told, that of a cycle where the last line is some time ago. */
  #tellLine(run: RunProgress, isCycle: boolean, hasEnded: boolean): void {
    const now = this.#options.clock.monotonic();
    const pause = Math.min(
      mostPauseMs,
      Math.max(leastPauseMs, (now - this.#begunAt) / linesOfPast),
    );
    const isDue = isCycle && !endedStatuses.has(run.status) && now - this.#toldAt >= pause;
    if (!isDue && !hasEnded) return;
    this.#toldAt = now;
    this.say([`${runLine(run)}${this.#allWords()}`]);
  }

  #allWords(): string {
    const { parallel } = this.#options;
    const runs = this.#runsNow();
    if (runs.length < 2) return "";
    const spent = spentBy(runs.map(({ progress }) => progress));
    const left = leftText(timeLeftOfAll(runs, parallel));
    return ` · all: ${cyclesText(spent)}${left === "" ? "" : `, ${left}`}`;
  }

  #messageLines(event: ExperimentEvent & { readonly type: "message" }): readonly string[] {
    const { sink, style } = this.#options;
    const { run_id, cycle_number, text } = event;
    const width = sink.isTerminal ? Math.max(20, (sink.columns ?? 80) - 3) : Infinity;
    const isCut = text.length > messageCharacters;
    const shown = plainText(headOf(text, messageCharacters)).replace(/^\s*\n|\s+$/g, "");
    const lines = wrapText(isCut ? `${shown}…` : shown, width);
    const kept = lines.length > messageLines ? [...lines.slice(0, messageLines), "…"] : lines;
    const heading = wrapText(`✉ ${run_id} cycle ${cycle_number.toLocaleString("en")}`, width + 2);
    return [...heading.map(style.bold), ...kept.map((line) => `  ${line}`)];
  }
}

const endedStatuses: ReadonlySet<RunProgress["status"]> = new Set(["done", "failed", "stopped"]);

const notBegun: Omit<RunProgress, "run_id" | "cycle_count"> = {
  status: "waiting",
  cycles_done: 0,
  cycles_before: 0,
  usage: noUsage,
  elapsed_ms: 0,
  remaining_ms: null,
  doing: null,
  failure: null,
};

/** What is known of how long a run will take. */
export interface RunPace {
  /** Runs of one model are taken to have one pace. */
  readonly model_name: string;
  readonly progress: RunProgress;
}

/**
 * Milliseconds until all runs are done, `parallel` of them at a time, in their order. Runs that have no pace yet get that
 * of the others of their model, else of all. Null before a cycle has ended anywhere, and when nothing is left.
 */
export function timeLeftOfAll(runs: readonly RunPace[], parallel: number): number | null {
  const of = (status: RunProgress["status"]) =>
    runs.filter(({ progress }) => progress.status === status);
  const open = [...of("running"), ...of("waiting")];
  if (open.length === 0) return null;
  const lanes: number[] = Array.from({ length: parallel }, () => 0);
  for (const run of open) {
    const left = timeLeftOf(run, runs);
    if (left === null) return null;
    const earliest = lanes.indexOf(Math.min(...lanes));
    lanes[earliest] = (lanes[earliest] ?? 0) + left;
  }
  return Math.max(...lanes);
}

function timeLeftOf({ model_name, progress }: RunPace, runs: readonly RunPace[]): number | null {
  if (progress.remaining_ms !== null) return progress.remaining_ms;
  const pace = paceOf(runs.filter((run) => run.model_name === model_name)) ?? paceOf(runs);
  return pace === null ? null : pace * (progress.cycle_count - progress.cycles_done);
}

/** Milliseconds of a cycle. */
function paceOf(runs: readonly RunPace[]): number | null {
  let cycles = 0;
  let elapsed = 0;
  for (const { progress } of runs) {
    const ended = progress.cycles_done - progress.cycles_before;
    if (ended > 0) elapsed += progress.elapsed_ms;
    cycles += ended;
  }
  return cycles === 0 ? null : elapsed / cycles;
}
