import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { errorMessage } from "../errors.ts";
import { guardedRun, type RunWatch } from "../runtime/guarded-run.ts";
import { holdThread } from "../runtime/hold-thread.ts";
import type { RunServices } from "../runtime/run-services.ts";
import { noUsage } from "../state/usage.ts";
import { configOf } from "./config/config-of.ts";
import type { RunSpec } from "./config/run-spec.ts";
import { isCycleEvent } from "./cycle/cycle-event.ts";
import type { CycleState } from "./cycle/cycle-state.ts";
import type { CompiledExperiment } from "./cycle/experiment-graph.ts";
import type { ExperimentServices } from "./cycle/run-parts.ts";
import { timeLeft } from "./pace.ts";
import type { ExperimentEvent, RunProgress } from "./run-progress.ts";
import { checkSame, doneIn, runStateOf, threadConfigOf, threadOf } from "./run-state.ts";

export type CycleServices = ExperimentServices & RunServices;

export interface RunCyclesOptions {
  readonly services: CycleServices;
  readonly compiled: CompiledExperiment;
  /** Whether a greater number of cycles than the run was begun with is gone on to. */
  readonly extend: boolean;
  readonly signal: AbortSignal;
  readonly onEvent: (event: ExperimentEvent) => void;
}

/** A run of which nothing has been done. */
export function waiting({ run_id, cycle_count }: RunSpec): RunProgress {
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
  let progress = waiting(run);
  const tell = (change: Partial<RunProgress>): RunProgress => {
    const elapsed_ms = Math.round(clock.monotonic() - startedAt);
    progress = { ...progress, ...change, elapsed_ms };
    onEvent({ type: "progress", run: progress });
    return progress;
  };
  const stopped = { doing: null, remaining_ms: null } as const;
  try {
    return await holdThread(services, threadId, (lost) =>
      guardedRun(checkpointer as RunWatch | undefined, { threadId, signal, lost }, goOn),
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
    runs.reach(run);
    const before = state === null ? 0 : doneIn(state);
    const usage = state?.values.usage ?? noUsage;
    tell({ status: "running", cycles_done: before, cycles_before: before, usage });
    while (!(await isOver(state))) {
      until.throwIfAborted();
      const input = state === null ? { config: configOf(run) } : null;
      await within(until, (own) => alone(() => oneCycle(input, own)));
      state = await runStateOf(graph, thread);
      if (state === null) throw new TypeError("A run has no checkpoint after a cycle.");
      cycleEnded(state.values);
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

  /** One invocation a cycle: what LangGraph keeps of an invocation grows with its length. */
  async function oneCycle(
    input: { readonly config: unknown } | null,
    until: AbortSignal,
  ): Promise<void> {
    const stream = await graph.stream(input, {
      ...thread,
      signal: until,
      durability: "sync",
      interruptAfter: ["end_cycle"],
      streamMode: ["custom"],
    });
    for await (const [, chunk] of stream as AsyncIterable<[string, unknown]>) {
      if (!isCycleEvent(chunk)) continue;
      if (chunk.event === "doing") tell({ doing: chunk.doing });
      else if (chunk.event === "spent") tell({ usage: chunk.usage });
      else {
        const { run_id, cycle_number, text } = chunk;
        onEvent({ type: "message", run_id, cycle_number, text });
      }
    }
  }

  function cycleEnded({ cycle_number, usage, reflection_history: reflections }: CycleState): void {
    ends.push(clock.monotonic());
    const remaining_ms = timeLeft(ends, run.cycle_count - cycle_number);
    const now = tell({ cycles_done: cycle_number, usage, remaining_ms });
    onEvent({ type: "cycle_end", run: now, reflection: reflections.at(-1) ?? "" });
  }
}

/** With a signal of its own: what is called leaves listeners on the one that it is given. */
async function within<T>(outer: AbortSignal, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const own = new AbortController();
  const abort = () => own.abort(outer.reason);
  outer.addEventListener("abort", abort);
  if (outer.aborted) abort();
  try {
    return await run(own.signal);
  } finally {
    outer.removeEventListener("abort", abort);
  }
}

/** Outside any LangGraph run that the caller may be in. */
function alone<T>(run: () => Promise<T>): Promise<T> {
  return AsyncLocalStorageProviderSingleton.runWithConfig(undefined, run, true);
}
