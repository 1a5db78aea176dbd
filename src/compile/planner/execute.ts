import { backoff, sleep } from "../../async.ts";
import { GraphInterrupt, type Interrupt } from "@langchain/langgraph";
import { redactionsIn } from "../../guardrails/redaction.ts";
import { SubtaskFailedError } from "../../planning/errors.ts";
import { Scheduler, type Skipped } from "../../planning/scheduler.ts";
import type { GraphState, PlanningState } from "../../state/channels.ts";
import {
  isSettled,
  type Subtask,
  type SubtaskState,
  type SubtaskStates,
  type TaskPlan,
} from "../../state/plan.ts";
import { requestOf } from "../../state/human-request.ts";
import { addUsage } from "../../state/usage.ts";
import type { NodeBody, NodeContext } from "../loop/node.ts";
import { type AttemptOutcome, attemptSubtask } from "./attempt-subtask.ts";
import type { PlannerConfig } from "./planner-config.ts";
import { emitPlan, failuresOf, readPlanningState, replanFor } from "./planning.ts";
import { recordsOf, subtaskLog, type SubtaskLog } from "./subtask-log.ts";
import { sharedOf, Semaphore, withShared, WorkerSlot } from "./worker-slots.ts";

/**
 * Runs the rest of the plan as dataflow: each subtask starts as soon as its own dependencies are done. Settled subtasks
 * are durable before their dependents start. Subtasks that wait for people free their slots; when nothing else can run,
 * the run waits for all of them together.
 */
export function execute(planner: PlannerConfig): NodeBody {
  return async (state, run) => {
    const planning = readPlanningState(state);
    const plan = planning.plan ?? { subtasks: [], success_criteria: "" };
    run.emit({ type: "status", status: "EXECUTING" });
    const log = subtaskLog(run.config, state.turn?.run ?? "");
    const { subtasks: known, redactions } = await log.load();
    run.rails.addRedactions(redactions);
    const dataflow = new Dataflow({ planner, state, run, plan, log, planning, known });
    // A client that attaches on resume has not seen the plan.
    const isResumed = run.config.configurable?.["__pregel_resuming"] === true;
    if (isResumed || Object.keys(known).length > 0)
      emitPlan(run, { ...planning, subtasks: dataflow.states });
    try {
      await dataflow.run();
    } finally {
      run.onInterrupted({ subtasks: dataflow.settled() });
    }
    const subtasks = dataflow.settled();
    const update = { subtasks, steps: recordsOf({ state, run, plan, subtasks }) };
    run.onInterrupted(update);
    return { ...next(state, run, planner, { ...planning, subtasks: dataflow.states }, update) };
  };
}

/** @throws SubtaskFailedError if failures end the turn, or no subtask succeeded */
function next(
  state: GraphState,
  run: NodeContext,
  planner: PlannerConfig,
  planning: PlanningState,
  update: Awaited<ReturnType<NodeBody>>["update"],
): Awaited<ReturnType<NodeBody>> {
  const { onFailure } = planner.limits;
  const failures = failuresOf(planning, planning.depth);
  const [first] = failures;
  const isAnyDone = Object.values(planning.subtasks).some(({ status }) => status === "done");
  if (first !== undefined && onFailure === "replan") {
    const replan = replanFor(
      run,
      planner,
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
  readonly planner: PlannerConfig;
  readonly state: GraphState;
  readonly run: NodeContext;
  readonly plan: TaskPlan;
  readonly log: SubtaskLog;
  readonly planning: PlanningState;
  /** Results of earlier runs of the node. */
  readonly known: SubtaskStates;
}

/** Runs the rest of a plan: the scheduler decides, and this class performs the effects. */
class Dataflow {
  readonly #of: DataflowOf;
  readonly #subtasks: ReadonlyMap<string, Subtask>;
  readonly #states: Record<string, SubtaskState>;
  readonly #scheduler: Scheduler;
  readonly #slots: Semaphore;
  readonly #depthLeft: number;
  /** Stops starting subtasks; running ones end and are stored. */
  readonly #stop = new AbortController();
  readonly #waiting: Interrupt[] = [];
  #failure: { readonly thrown: unknown } | null = null;
  #underWay = 0;
  #over: () => void = () => {};
  /** Ids of the subtasks that settled in this node, in earlier runs too. */
  readonly #own = new Set<string>();

  constructor(of: DataflowOf) {
    const { planner, run, plan, planning, known } = of;
    this.#of = of;
    this.#subtasks = new Map(plan.subtasks.map((subtask) => [subtask.id, subtask]));
    this.#states = { ...planning.subtasks, ...known };
    for (const [id, state] of Object.entries(known)) {
      if (isSettled(state)) this.#own.add(id);
      // Usage before the interruption has not been counted yet.
      run.addUsage(state.usage);
    }
    const settled = new Map(
      Object.entries(this.#states).flatMap(([id, { status }]) =>
        status === "done" || status === "failed" || status === "skipped" ? [[id, status]] : [],
      ),
    );
    this.#scheduler = new Scheduler(plan.subtasks, {
      maxParallel: planner.limits.maxParallel,
      settled,
    });
    const outer = sharedOf(run.config);
    this.#slots = outer?.slots ?? new Semaphore(planner.limits.maxParallel);
    this.#depthLeft = depthLeftWithin(planner, planning, outer?.depthLeft);
  }

  get states(): SubtaskStates {
    return { ...this.#states };
  }

  settled(): SubtaskStates {
    return Object.fromEntries([...this.#own].map((id) => [id, this.#states[id] as SubtaskState]));
  }

  /** @throws GraphInterrupt if subtasks wait for people and nothing else can run; errors that end the run */
  async run(): Promise<void> {
    const { run } = this.#of;
    const stop = () => this.#stop.abort(run.signal.reason);
    if (run.signal.aborted) stop();
    run.signal.addEventListener("abort", stop, { once: true });
    const around = sharedOf(run.config);
    await around?.own.yield();
    try {
      await this.#skip(this.#scheduler.initiallySkipped);
      await this.#flow();
    } finally {
      run.signal.removeEventListener("abort", stop);
      await around?.own.reacquire();
    }
    if (this.#waiting.length === 0) return;
    await this.#of.log.flush();
    throw new GraphInterrupt([...this.#waiting]);
  }

  /** Starts ready subtasks, and again whenever one has ended. Waits for all running ones, also if one throws. */
  async #flow(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#over = resolve;
      this.#beginMore();
    });
    this.#of.run.signal.throwIfAborted();
    if (this.#failure !== null) throw this.#failure.thrown;
  }

  #beginMore(): void {
    if (!this.#stop.signal.aborted) {
      for (const id of this.#scheduler.start()) {
        this.#underWay += 1;
        void this.#one(id)
          .catch((thrown: unknown) => {
            this.#failure ??= { thrown };
            this.#stop.abort(thrown);
          })
          .finally(() => {
            this.#underWay -= 1;
            this.#beginMore();
          });
      }
    }
    if (this.#underWay === 0) this.#over();
  }

  /** Runs one attempt, and waits for the next one if that may succeed. */
  async #one(id: string): Promise<void> {
    const { run, log, planner } = this.#of;
    const before = this.#states[id] as SubtaskState;
    await this.#slots.acquire();
    const own = new WorkerSlot(this.#slots);
    let outcome: AttemptOutcome;
    try {
      this.#stop.signal.throwIfAborted();
      outcome = await this.#attempt(id, before, own);
    } finally {
      this.#slots.release();
    }
    const { clock } = run.loop;
    // It restarts as the same attempt.
    const begun = { ...(this.#states[id] as SubtaskState), attempts: before.attempts };
    if (outcome.kind === "waits") {
      await log.waits(id, begun, outcome.interrupts);
      this.#waiting.push(...outcome.interrupts);
      this.#scheduler.suspend(id);
      const kinds = outcome.interrupts.map(({ value }) => requestOf("", value, id).kind);
      const others = kinds.filter((kind) => kind !== "wait");
      const isForCaller = others.every((kind) => kind === "tool_calls");
      const waits_for = others.length === 0 ? "event" : isForCaller ? "caller" : "person";
      run.emit({ type: "subtask_wait", id, waits_for, reason: "" });
      return;
    }
    run.addUsage(outcome.usage);
    const attempts = before.attempts + 1;
    const tried = { ...begun, attempts, usage: addUsage(before.usage, outcome.usage) };
    const ended: SubtaskState = { ...tried, ended_at: clock.now().toISOString() };
    if (outcome.kind === "done") {
      const { result, warning } = outcome;
      const given = { result, ...(warning !== null && { warning }) };
      const state: SubtaskState = { ...ended, status: "done", ...given };
      await this.#settle({ [id]: state });
      this.#ended(id, state);
      this.#scheduler.complete(id);
      return;
    }
    const { error, transient } = outcome;
    if (!transient || attempts > planner.limits.retries) {
      const skipped = this.#scheduler.fail(id);
      await this.#skip(skipped, { [id]: { ...ended, status: "failed", error } });
      return;
    }
    this.#states[id] = tried;
    await log.failed(id, tried);
    run.emit({ type: "subtask_wait", id, waits_for: "retry", reason: error.message });
    this.#scheduler.pause(id);
    this.#beginMore();
    await sleep(Math.max(backoff(attempts, retryDelay), outcome.retryAfterMs), {
      clock: run.loop.clock,
      signal: this.#stop.signal,
    });
    this.#scheduler.resume(id);
  }

  async #attempt(id: string, before: SubtaskState, own: WorkerSlot): Promise<AttemptOutcome> {
    const { planner, run, state } = this.#of;
    const subtask = this.#subtasks.get(id) as Subtask;
    const worker = planner.workers.get(before.worker);
    if (worker === undefined) throw new TypeError(`no worker for subtask ${id}`);
    const attempt = before.attempts + 1;
    const startedAt = before.started_at ?? run.loop.clock.now().toISOString();
    const running = { ...before, status: "running", started_at: startedAt, error: null } as const;
    this.#states[id] = { ...running, attempts: attempt };
    run.emit({ type: "subtask_start", id, worker: worker.profile.name, attempt });
    const dependencies = subtask.dependencies.map((dependency) => {
      const { result = null, warning } = this.#states[dependency] ?? {};
      const { description = "" } = this.#subtasks.get(dependency) ?? {};
      // Placed before the result, so that it is read with it.
      const about = warning === undefined ? description : `${warning} ${description}`;
      return { id: dependency, description: about, result };
    });
    const shared = { slots: this.#slots, own, depthLeft: this.#depthLeft };
    return attemptSubtask({ subtask, worker, dependencies, attempt }, planner.limits, {
      state,
      run,
      config: withShared(run.config, shared),
      // Not the signal of this run of the plan: a cancelled agent would stay cancelled when the plan resumes.
      signal: run.signal,
    });
  }

  /** Skips subtasks that can never start, with the failed subtask that is the cause. */
  async #skip(skipped: readonly Skipped[], failed: SubtaskStates = {}): Promise<void> {
    const ended_at = this.#of.run.loop.clock.now().toISOString();
    const states: Record<string, SubtaskState> = { ...failed };
    for (const { id, because } of skipped) {
      const error = { code: "skipped", message: `it needs "${because}", which failed` };
      const state = this.#states[id] as SubtaskState;
      states[id] = { ...state, status: "skipped", ended_at, error };
    }
    await this.#settle(states);
    for (const [id, state] of Object.entries(states)) this.#ended(id, state);
  }

  async #settle(states: SubtaskStates): Promise<void> {
    const { log, run } = this.#of;
    const { redactions = {} } = run.rails.update();
    await log.settle(states, redactionsIn(states, redactions));
  }

  #ended(id: string, state: SubtaskState): void {
    this.#states[id] = state;
    this.#own.add(id);
    this.#of.run.emit({ type: "subtask_end", id, subtask: state });
  }
}

/** After an attempt that failed a subtask waits 1 s, 2 s, 4 s, at most 30 s. */
const retryDelay = { baseMs: 1000, maxMs: 30_000 };

/**
 * Returns how many plans for gaps nested planners may still make: levels and plans together stay within the outermost
 * limit.
 */
function depthLeftWithin(
  { limits }: PlannerConfig,
  { depth }: PlanningState,
  outer: number | undefined,
): number {
  return Math.max(0, Math.min(limits.maxDepth, outer ?? Infinity) - depth - 1);
}
