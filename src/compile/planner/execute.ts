import { GraphInterrupt, type Interrupt } from "@langchain/langgraph";
import { Scheduler, type Skipped } from "../../planning/scheduler.ts";
import { SubtaskFailedError } from "../../planning/errors.ts";
import type { GraphState, PlanningState } from "../../state/channels.ts";
import { deepFreeze } from "../../state/freeze.ts";
import { isSettled, type SubtaskState, type SubtaskStates } from "../../state/subtask-state.ts";
import type { Subtask, TaskPlan } from "../../state/task-plan.ts";
import { addUsage } from "../../state/usage.ts";
import type { NodeBody, NodeRun } from "../loop/node-body.ts";
import { attemptSubtask, type AttemptOutcome } from "./attempt-subtask.ts";
import { emitPlan, failuresOf, planningOf, replanFor } from "./planning-of.ts";
import type { PlannerParts } from "./planner-parts.ts";
import { sharedOf, Slots, withShared } from "./slots.ts";
import { recordsOf } from "./subtask-record.ts";
import { subtaskLog, type SubtaskLog } from "./subtask-log.ts";

/**
 * Runs what is left of the plan as dataflow: each subtask begins the moment its own dependencies are done. What has
 * settled is durable before anything that depends on it begins. Subtasks that wait for people leave their place to
 * others; when nothing else can go on, the run waits for all of them together.
 */
export function execute(parts: PlannerParts): NodeBody {
  return async (state, run) => {
    const planning = planningOf(state);
    const plan = planning.plan ?? { subtasks: [], success_criteria: "" };
    run.emit({ type: "status", status: "EXECUTING" });
    const log = subtaskLog(run.config, state.turn?.run ?? "");
    const known = await log.load();
    const dataflow = new Dataflow({ parts, run, plan, log, planning, known });
    // Whoever looks on from here has not seen the plan.
    const isResumed = run.config.configurable?.["__pregel_resuming"] === true;
    if (isResumed || Object.keys(known).length > 0)
      emitPlan(run, { ...planning, subtasks: dataflow.states });
    try {
      await dataflow.run();
    } finally {
      run.keep({ subtasks: dataflow.settled() });
    }
    const subtasks = dataflow.settled();
    const update = { subtasks, steps: recordsOf({ state, run, plan, subtasks }) };
    run.keep(update);
    return { ...next(state, run, parts, { ...planning, subtasks: dataflow.states }, update) };
  };
}

/** @throws SubtaskFailedError where failures are to end the turn, or nothing is done at all */
function next(
  state: GraphState,
  run: NodeRun,
  parts: PlannerParts,
  planning: PlanningState,
  update: Awaited<ReturnType<NodeBody>>["update"],
): Awaited<ReturnType<NodeBody>> {
  const { onFailure } = parts.limits;
  const failures = failuresOf(planning, planning.depth);
  const [first] = failures;
  const isAnyDone = Object.values(planning.subtasks).some(({ status }) => status === "done");
  if (first !== undefined && onFailure === "replan") {
    const replan = replanFor(
      run,
      parts,
      planning,
      failures.map(({ gap }) => gap),
    );
    if (replan !== null) return { update: { ...update, ...replan }, goto: "decompose" };
  }
  if (first !== undefined && (onFailure === "fail" || !isAnyDone)) {
    throw new SubtaskFailedError(first.id, first.state.worker, first.error);
  }
  return { update, goto: "synthesise" };
}

interface DataflowOf {
  readonly parts: PlannerParts;
  readonly run: NodeRun;
  readonly plan: TaskPlan;
  readonly log: SubtaskLog;
  readonly planning: PlanningState;
  /** What earlier runs of the node left. */
  readonly known: SubtaskStates;
}

/** One run of a plan. */
class Dataflow {
  readonly #of: DataflowOf;
  readonly #subtasks: ReadonlyMap<string, Subtask>;
  readonly #states: Record<string, SubtaskState>;
  readonly #scheduler: Scheduler;
  readonly #slots: Slots;
  readonly #config;
  /** Nothing more is begun; what runs comes to its end, and is kept. */
  readonly #stop = new AbortController();
  readonly #waiting: Interrupt[] = [];
  /** Ids of what settled in this node, by earlier runs of it too. */
  readonly #own = new Set<string>();

  constructor(of: DataflowOf) {
    const { parts, run, plan, planning, known } = of;
    this.#of = of;
    this.#subtasks = new Map(plan.subtasks.map((subtask) => [subtask.id, subtask]));
    this.#states = { ...planning.subtasks, ...known };
    for (const [id, state] of Object.entries(known)) {
      if (isSettled(state)) this.#own.add(id);
      // What was spent before the run was cut off has not been counted yet.
      run.spend(state.usage);
    }
    const settled = new Map(
      Object.entries(this.#states).flatMap(([id, { status }]) =>
        status === "done" || status === "failed" || status === "skipped" ? [[id, status]] : [],
      ),
    );
    this.#scheduler = new Scheduler(plan.subtasks, {
      maxParallel: parts.limits.maxParallel,
      settled,
    });
    const outer = sharedOf(run.config);
    this.#slots = outer?.slots ?? new Slots(parts.limits.maxParallel);
    const depthLeft = depthLeftWithin(parts, planning, outer?.depthLeft);
    this.#config = withShared(run.config, { slots: this.#slots, depthLeft });
  }

  get states(): SubtaskStates {
    return { ...this.#states };
  }

  settled(): SubtaskStates {
    return Object.fromEntries([...this.#own].map((id) => [id, this.#states[id] as SubtaskState]));
  }

  /** @throws GraphInterrupt when subtasks wait for people and nothing else can go on; what ends the run */
  async run(): Promise<void> {
    const { run } = this.#of;
    const stop = () => this.#stop.abort(run.signal.reason);
    if (run.signal.aborted) stop();
    run.signal.addEventListener("abort", stop, { once: true });
    // A planner within a worker gives the worker's place to its own subtasks while they run.
    const isWithin = sharedOf(run.config) !== null;
    if (isWithin) this.#slots.give();
    try {
      await this.#skip(this.#scheduler.skippedAtOnce);
      await this.#flow();
    } finally {
      run.signal.removeEventListener("abort", stop);
      if (isWithin) await this.#slots.take();
    }
    if (this.#waiting.length === 0) return;
    await this.#of.log.flush();
    throw new GraphInterrupt([...this.#waiting]);
  }

  /** Begins what can begin, and again whenever something has ended. Waits for all that runs, also when one throws. */
  async #flow(): Promise<void> {
    let failure: { readonly thrown: unknown } | null = null;
    await new Promise<void>((resolve) => {
      let running = 0;
      const beginMore = (): void => {
        if (failure === null && !this.#stop.signal.aborted) {
          for (const id of this.#scheduler.begin()) {
            running += 1;
            void this.#one(id)
              .catch((thrown: unknown) => {
                failure ??= { thrown };
                this.#stop.abort(thrown);
              })
              .finally(() => {
                running -= 1;
                beginMore();
              });
          }
        }
        if (running === 0) resolve();
      };
      beginMore();
    });
    this.#of.run.signal.throwIfAborted();
    const thrown = failure as { readonly thrown: unknown } | null;
    if (thrown !== null) throw thrown.thrown;
  }

  async #one(id: string): Promise<void> {
    const subtask = this.#subtasks.get(id) as Subtask;
    await this.#slots.take();
    let outcome: AttemptOutcome & { readonly state: SubtaskState };
    try {
      this.#stop.signal.throwIfAborted();
      outcome = await this.#attempts(subtask);
    } finally {
      this.#slots.give();
    }
    const { run, log } = this.#of;
    const { state } = outcome;
    this.#states[id] = state;
    if (outcome.kind === "waits") {
      await log.waits(id, state, outcome.interrupts);
      this.#waiting.push(...outcome.interrupts);
      this.#scheduler.waits(id);
      run.emit({ type: "subtask_wait", id, waits_for: "person", reason: "" });
      return;
    }
    if (outcome.kind === "done") {
      await log.settle({ [id]: state });
      this.#ended(id, state);
      this.#scheduler.done(id);
      return;
    }
    const skipped = this.#scheduler.failed(id);
    await this.#skip(skipped, { [id]: state });
  }

  /** The attempts of a subtask, as long as another may do better. */
  async #attempts(subtask: Subtask): Promise<AttemptOutcome & { readonly state: SubtaskState }> {
    const { parts, run, log } = this.#of;
    const { clock } = run.parts;
    const { id } = subtask;
    const worker = parts.workers.get(this.#states[id]?.worker ?? "");
    if (worker === undefined) throw new TypeError(`no worker for subtask ${id}`);
    const dependencies = subtask.dependencies.map((dependency) => ({
      id: dependency,
      description: this.#subtasks.get(dependency)?.description ?? "",
      // Frozen, as others are given the same one.
      result: deepFreeze(this.#states[dependency]?.result ?? null),
    }));
    const before = this.#states[id] as SubtaskState;
    const startedAt = before.started_at ?? clock.now().toISOString();
    let { attempts, usage } = before;
    for (;;) {
      const attempt = attempts + 1;
      const running = { ...before, status: "running", started_at: startedAt, error: null } as const;
      this.#states[id] = { ...running, attempts: attempt, usage };
      run.emit({ type: "subtask_start", id, worker: worker.profile.name, attempt });
      const work = { subtask, worker, dependencies, attempt };
      // Not the signal of this run of the plan: an agent that was cancelled would stay so when the plan goes on.
      const at = { run, config: this.#config, signal: run.signal };
      const outcome = await attemptSubtask(work, parts.limits, at);
      // It is begun again as the attempt that it is.
      if (outcome.kind === "waits") return { ...outcome, state: { ...running, attempts, usage } };
      attempts = attempt;
      usage = addUsage(usage, outcome.usage);
      run.spend(outcome.usage);
      const ended = { ...running, attempts, usage, ended_at: clock.now().toISOString() };
      if (outcome.kind === "done") {
        return { ...outcome, state: { ...ended, status: "done", result: outcome.result } };
      }
      const { error, transient } = outcome;
      if (!transient || attempts > parts.limits.retries) {
        return { ...outcome, state: { ...ended, status: "failed", error } };
      }
      await log.failed(id, { ...running, attempts, usage });
      run.emit({ type: "subtask_wait", id, waits_for: "retry", reason: error.message });
      await this.#pause(backoffMs(attempts));
    }
  }

  /** What can never begin, with the failed subtask that is why. */
  async #skip(skipped: readonly Skipped[], failed: SubtaskStates = {}): Promise<void> {
    const ended_at = this.#of.run.parts.clock.now().toISOString();
    const states: Record<string, SubtaskState> = { ...failed };
    for (const { id, because } of skipped) {
      const error = { code: "skipped", message: `it needs "${because}", which failed` };
      const state = this.#states[id] as SubtaskState;
      states[id] = { ...state, status: "skipped", ended_at, error };
    }
    await this.#of.log.settle(states);
    for (const [id, state] of Object.entries(states)) this.#ended(id, state);
  }

  #ended(id: string, state: SubtaskState): void {
    this.#states[id] = state;
    this.#own.add(id);
    this.#of.run.emit({ type: "subtask_end", id, subtask: state });
  }

  #pause(delayMs: number): Promise<void> {
    const { clock } = this.#of.run.parts;
    const { signal } = this.#stop;
    return new Promise((resolve, reject) => {
      const stop = clock.after(delayMs, () => {
        signal.removeEventListener("abort", abort);
        resolve();
      });
      const abort = () => {
        stop();
        reject(signal.reason);
      };
      signal.addEventListener("abort", abort, { once: true });
    });
  }
}

/** Milliseconds before the attempt after so many failed ones: 1 s, 2 s, 4 s, at most 30 s. */
function backoffMs(attempts: number): number {
  return Math.min(30_000, 1000 * 2 ** (attempts - 1));
}

/** Plans for gaps that planners within the workers may still make: levels and plans together stay within the outermost limit. */
function depthLeftWithin(
  { limits }: PlannerParts,
  { depth }: PlanningState,
  outer: number | undefined,
): number {
  return Math.max(0, Math.min(limits.maxDepth, outer ?? Infinity) - depth - 1);
}
