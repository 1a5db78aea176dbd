import { GraphInterrupt, type Interrupt } from "@langchain/langgraph";
import { Scheduler, type Skipped } from "../../planning/scheduler.ts";
import { standingIn } from "../../guardrails/redaction.ts";
import type { GraphState, PlanningState } from "../../state/channels.ts";
import { isSettled, type SubtaskState, type SubtaskStates } from "../../state/subtask-state.ts";
import type { Subtask, TaskPlan } from "../../state/task-plan.ts";
import { addUsage } from "../../state/usage.ts";
import type { NodeRun } from "../loop/node-body.ts";
import { attemptSubtask, type AttemptOutcome } from "./attempt-subtask.ts";
import type { PlannerParts } from "./planner-parts.ts";
import { sharedOf, Slots, withShared, WorkerSlot } from "./slots.ts";
import type { SubtaskLog } from "./subtask-log.ts";

interface DataflowOf {
  readonly parts: PlannerParts;
  readonly state: GraphState;
  readonly run: NodeRun;
  readonly plan: TaskPlan;
  readonly log: SubtaskLog;
  readonly planning: PlanningState;
  /** What earlier runs of the node left. */
  readonly known: SubtaskStates;
}

/** One run of what is left of a plan, by the scheduler: it acts, and the scheduler decides. */
export class Dataflow {
  readonly #of: DataflowOf;
  readonly #subtasks: ReadonlyMap<string, Subtask>;
  readonly #states: Record<string, SubtaskState>;
  readonly #scheduler: Scheduler;
  readonly #slots: Slots;
  readonly #depthLeft: number;
  /** Nothing more is begun; what runs comes to its end, and is kept. */
  readonly #stop = new AbortController();
  readonly #waiting: Interrupt[] = [];
  #failure: { readonly thrown: unknown } | null = null;
  #underWay = 0;
  #over: () => void = () => {};
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
    this.#depthLeft = depthLeftWithin(parts, planning, outer?.depthLeft);
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
    const around = sharedOf(run.config);
    await around?.own.lend();
    try {
      await this.#skip(this.#scheduler.skippedAtOnce);
      await this.#flow();
    } finally {
      run.signal.removeEventListener("abort", stop);
      await around?.own.takeBack();
    }
    if (this.#waiting.length === 0) return;
    await this.#of.log.flush();
    throw new GraphInterrupt([...this.#waiting]);
  }

  /** Begins what can begin, and again whenever something has ended. Waits for all that runs, also when one throws. */
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
      for (const id of this.#scheduler.begin()) {
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

  /** One attempt, and the wait for the next one where that may do better. */
  async #one(id: string): Promise<void> {
    const { run, log, parts } = this.#of;
    const before = this.#states[id] as SubtaskState;
    await this.#slots.take();
    const own = new WorkerSlot(this.#slots);
    let outcome: AttemptOutcome;
    try {
      this.#stop.signal.throwIfAborted();
      outcome = await this.#attempt(id, before, own);
    } finally {
      this.#slots.give();
    }
    const { clock } = run.parts;
    // It is begun again as the attempt that it is.
    const begun = { ...(this.#states[id] as SubtaskState), attempts: before.attempts };
    if (outcome.kind === "waits") {
      await log.waits(id, begun, outcome.interrupts);
      this.#waiting.push(...outcome.interrupts);
      this.#scheduler.waits(id);
      run.emit({ type: "subtask_wait", id, waits_for: "person", reason: "" });
      return;
    }
    run.spend(outcome.usage);
    const attempts = before.attempts + 1;
    const tried = { ...begun, attempts, usage: addUsage(before.usage, outcome.usage) };
    const ended: SubtaskState = { ...tried, ended_at: clock.now().toISOString() };
    if (outcome.kind === "done") {
      const { result, warning } = outcome;
      const given = { result, ...(warning !== null && { warning }) };
      const state: SubtaskState = { ...ended, status: "done", ...given };
      await this.#settle({ [id]: state });
      this.#ended(id, state);
      this.#scheduler.done(id);
      return;
    }
    const { error, transient } = outcome;
    if (!transient || attempts > parts.limits.retries) {
      const skipped = this.#scheduler.failed(id);
      await this.#skip(skipped, { [id]: { ...ended, status: "failed", error } });
      return;
    }
    this.#states[id] = tried;
    await log.failed(id, tried);
    run.emit({ type: "subtask_wait", id, waits_for: "retry", reason: error.message });
    this.#scheduler.pauses(id);
    this.#beginMore();
    await this.#pause(Math.max(backoffMs(attempts), outcome.retryAfterMs));
    this.#scheduler.again(id);
  }

  async #attempt(id: string, before: SubtaskState, own: WorkerSlot): Promise<AttemptOutcome> {
    const { parts, run, state } = this.#of;
    const subtask = this.#subtasks.get(id) as Subtask;
    const worker = parts.workers.get(before.worker);
    if (worker === undefined) throw new TypeError(`no worker for subtask ${id}`);
    const attempt = before.attempts + 1;
    const startedAt = before.started_at ?? run.parts.clock.now().toISOString();
    const running = { ...before, status: "running", started_at: startedAt, error: null } as const;
    this.#states[id] = { ...running, attempts: attempt };
    run.emit({ type: "subtask_start", id, worker: worker.profile.name, attempt });
    const dependencies = subtask.dependencies.map((dependency) => {
      const { result = null, warning } = this.#states[dependency] ?? {};
      const { description = "" } = this.#subtasks.get(dependency) ?? {};
      // Where it stands before the result, and is read with it.
      const about = warning === undefined ? description : `${warning} ${description}`;
      return { id: dependency, description: about, result };
    });
    const shared = { slots: this.#slots, own, depthLeft: this.#depthLeft };
    return attemptSubtask({ subtask, worker, dependencies, attempt }, parts.limits, {
      state,
      run,
      config: withShared(run.config, shared),
      // Not the signal of this run of the plan: an agent that was cancelled would stay so when the plan goes on.
      signal: run.signal,
    });
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
    await this.#settle(states);
    for (const [id, state] of Object.entries(states)) this.#ended(id, state);
  }

  async #settle(states: SubtaskStates): Promise<void> {
    const { log, run } = this.#of;
    const { redactions = {} } = run.rails.made();
    await log.settle(states, standingIn(states, redactions));
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
