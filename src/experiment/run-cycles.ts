import type { DurableSaver } from "../durable-saver.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { CompileServices } from "../compile/compile-agent.ts";
import { withThread } from "../compile/run/acquire-thread.ts";
import { inOwnRun } from "../compile/run/withheld-callbacks.ts";
import { errorMessage } from "../errors.ts";
import { withWriteFailureGuard } from "../runtime/write-failure-guard.ts";
import { noUsage } from "../state/usage.ts";
import { configOf } from "./config/config-changes.ts";
import type { RunSpec } from "./config/run-spec.ts";
import { type CycleEvent, isCycleEvent } from "./cycle/cycle-state.ts";
import type { CompiledExperiment } from "./cycle/experiment-graph.ts";
import type { ExperimentServices } from "./cycle/run-resources.ts";
import {
  checkSame,
  doneIn,
  type ExperimentEvent,
  type RunProgress,
  runStateOf,
  threadConfigOf,
  threadOf,
} from "./run-progress.ts";

export type CycleServices = ExperimentServices & CompileServices;

export interface RunCyclesOptions {
  readonly services: CycleServices;
  readonly compiled: CompiledExperiment;
  /** Whether a greater number of cycles than the run was begun with is gone on to. */
  readonly extend: boolean;
  readonly signal: AbortSignal;
  readonly onEvent: (event: ExperimentEvent) => void;
}

/** A run of which nothing has been done. */
export function waitingProgress({ run_id, cycle_count }: RunSpec): RunProgress {
  return {
    run_id,
    status: "waiting",
    cycles_done: 0,
    cycle_count,
    cycles_before: 0,
    usage: noUsage,
    elapsed_ms: 0,
    remaining_ms: null,
    doing: null,
    failure: null,
  };
}

/**
 * Runs the cycles of one run that have not been run yet, from where its last checkpoint stands. Does not throw: a run
 * that goes wrong is `failed`.
 */
export async function runCycles(run: RunSpec, options: RunCyclesOptions): Promise<RunProgress> {
  const { services, compiled, extend, signal, onEvent } = options;
  const { graph, runs } = compiled;
  const { clock, checkpointer } = services;
  const thread = threadConfigOf(run.run_id);
  const threadId = threadOf(run.run_id);
  const startedAt = clock.monotonic();
  const ends = [startedAt];
  let progress = waitingProgress(run);
  const tell = (change: Partial<RunProgress>): RunProgress => {
    const elapsed_ms = Math.round(clock.monotonic() - startedAt);
    progress = { ...progress, ...change, elapsed_ms };
    onEvent({ type: "progress", run: progress });
    return progress;
  };
  const stopped = { doing: null, remaining_ms: null } as const;
  try {
    return await withThread(services, threadId, ({ lockLost }) =>
      withWriteFailureGuard(
        checkpointer as Partial<DurableSaver> | undefined,
        { threadId, signal, lockLost, durability: "sync" },
        goOn,
      ),
    );
  } catch (thrown) {
    if (signal.aborted) return tell({ ...stopped, status: "stopped" });
    return tell({ ...stopped, status: "failed", failure: errorMessage(thrown) });
  } finally {
    runs.release(run.run_id);
  }

  async function goOn(until: AbortSignal): Promise<RunProgress> {
    let state = await runStateOf(graph, thread);
    if (state !== null) checkSame(state.values, run, { extend });
    const before = state === null ? 0 : doneIn(state);
    const usage = state?.values.usage ?? noUsage;
    tell({ status: "running", cycles_done: before, cycles_before: before, usage });
    while (!(await isOver(state))) {
      until.throwIfAborted();
      // What has ended, though it is to go on, has been forgotten.
      runs.reach(run);
      const input = state === null ? { config: configOf(run) } : null;
      await inOwnRun(thread, (own) => invoke(input, own, until));
      state = await runStateOf(graph, thread);
    }
    return tell({ ...stopped, status: "done" });
  }

  async function isOver(state: Awaited<ReturnType<typeof runStateOf>>): Promise<boolean> {
    if (state === null || state.next.length > 0) return false;
    if (state.values.cycle_number >= run.cycle_count) return true;
    const more = { ...(state.values.run ?? run), cycle_count: run.cycle_count };
    await graph.updateState(thread, { run: more, status: "EXECUTING" }, "end_cycle");
    return false;
  }

  /** Runs the graph to its end. */
  async function invoke(
    input: { readonly config: unknown } | null,
    own: RunnableConfig,
    until: AbortSignal,
  ): Promise<void> {
    const stream = await graph.stream(input, {
      ...own,
      signal: until,
      durability: "sync",
      streamMode: ["custom"],
    });
    for await (const [, chunk] of stream as AsyncIterable<[string, unknown]>) {
      if (isCycleEvent(chunk)) hear(chunk);
    }
  }

  function hear(event: CycleEvent): void {
    switch (event.event) {
      case "doing":
        tell({ doing: event.doing });
        break;
      case "spent":
        tell({ usage: event.usage });
        break;
      case "message": {
        const { run_id, cycle_number, text } = event;
        onEvent({ type: "message", run_id, cycle_number, text });
        break;
      }
      case "cycle_end": {
        const { cycle_number: cycles_done, reflection } = event;
        ends.push(clock.monotonic());
        const remaining_ms = timeLeft(ends, run.cycle_count - cycles_done);
        onEvent({ type: "cycle_end", run: tell({ cycles_done, remaining_ms }), reflection });
      }
    }
  }
}

/** How many of the last cycles tell the pace. */
const looked = 20;

/**
 * The time that is left, by the pace of the last cycles. `ends` are the moments, in milliseconds on one clock, at which
 * cycles have ended in this process, the first of them the moment at which it began.
 * @returns milliseconds; null before a cycle has ended
 */
function timeLeft(ends: readonly number[], cyclesLeft: number): number | null {
  const last = ends.slice(-looked - 1);
  const [first, end] = [last[0], last.at(-1)];
  if (first === undefined || end === undefined || last.length < 2) return null;
  return Math.round(((end - first) / (last.length - 1)) * cyclesLeft);
}
