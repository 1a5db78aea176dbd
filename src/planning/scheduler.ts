import TinyQueue from "tinyqueue";
import {
  dependencyOrder,
  type Linked,
  linkSubtasks,
  type PlanLinks,
  remainingPaths,
} from "./plan-graph.ts";

export interface SchedulerOptions {
  /** Maximum number of concurrent subtasks, at least 1; `Infinity` for no limit. */
  readonly maxParallel: number;
  /**
   * Subtasks that were already settled; they do not start again. May contain subtasks of earlier plans. A dependency
   * that is neither here nor in the plan counts as done.
   */
  readonly settled?: ReadonlyMap<string, "done" | "failed" | "skipped">;
  /** Expected duration, in any unit, for the longest remaining path. Default: 1 each. */
  readonly durationOf?: (id: string) => number;
}

/** A subtask that can no longer start, and the failed subtask that it depends on, directly or not. */
export interface Skipped {
  readonly id: string;
  readonly because: string;
}

type Stage = "pending" | "running" | "paused" | "waiting" | "done" | "failed" | "skipped";

/**
 * Decides which subtasks start when: the state of a dataflow, without time and without effects. A subtask is ready as
 * soon as its own dependencies are done. Of the ready ones, that with the longest remaining path starts first (list
 * scheduling by critical path, Graham 1969; Hu 1961); ties follow the order of the plan. Each event costs the logarithm
 * of the number of ready subtasks, plus the links it follows.
 */
export class Scheduler {
  /**
   * Pending subtasks that were skipped at the start because a dependency had already failed or been skipped, in the
   * order of the plan.
   */
  readonly initiallySkipped: readonly Skipped[];
  readonly #maxParallel: number;
  readonly #subtasks: Linked;
  readonly #links: PlanLinks;
  readonly #stages: Stage[];
  /** Number of dependencies that are not done yet. */
  readonly #missing: number[];
  readonly #ready: TinyQueue<number>;
  #running = 0;
  #paused = 0;

  /** @throws TypeError for a cycle, duplicate ids, or `maxParallel` below 1 */
  constructor(subtasks: Linked, { maxParallel, settled, durationOf }: SchedulerOptions) {
    if (!(maxParallel >= 1)) throw new TypeError(`maxParallel is at least 1, got ${maxParallel}`);
    this.#maxParallel = Math.floor(maxParallel);
    this.#subtasks = subtasks;
    this.#links = linkSubtasks(subtasks);
    this.#stages = subtasks.map(({ id }) => settled?.get(id) ?? "pending");
    this.initiallySkipped = this.#skipForSettled(settled ?? new Map());
    this.#missing = this.#links.dependencies.map(
      (indexes) => indexes.filter((index) => this.#stages[index] !== "done").length,
    );
    const paths = remainingPaths(subtasks, durationOf);
    const priorities = subtasks.map(({ id }) => paths.get(id) ?? 0);
    this.#ready = new TinyQueue<number>(
      [],
      (a, b) => (priorities[b] ?? 0) - (priorities[a] ?? 0) || a - b,
    );
    for (const index of subtasks.keys()) this.#queueIfReady(index);
  }

  /** Starts as many ready subtasks as the limit allows, and returns them. They count as running from here on. */
  start(): readonly string[] {
    const begun: string[] = [];
    while (this.#running < this.#maxParallel) {
      const index = this.#ready.pop();
      if (index === undefined) break;
      this.#stages[index] = "running";
      this.#running += 1;
      begun.push(this.#idAt(index));
    }
    return begun;
  }

  /**
   * Marks a running subtask as done.
   *
   * @throws TypeError if it is not running
   */
  complete(id: string): void {
    for (const dependent of this.#dependents(this.#end(id, "done"))) {
      this.#missing[dependent] = (this.#missing[dependent] ?? 0) - 1;
      this.#queueIfReady(dependent);
    }
  }

  /**
   * Marks a running subtask as failed, after its last attempt.
   *
   * @returns the subtasks that are skipped because of it, in the order of the plan
   * @throws TypeError if it is not running
   */
  fail(id: string): readonly Skipped[] {
    const skipped: number[] = [];
    const reached = [this.#end(id, "failed")];
    // The list grows while it is iterated.
    for (const index of reached) {
      for (const dependent of this.#dependents(index)) {
        if (this.#stages[dependent] !== "pending") continue;
        this.#stages[dependent] = "skipped";
        skipped.push(dependent);
        reached.push(dependent);
      }
    }
    return skipped
      .toSorted((a, b) => a - b)
      .map((index) => ({ id: this.#idAt(index), because: id }));
  }

  /**
   * Suspends a running subtask that waits for a person, and frees its slot. It does not end in this run, and its
   * dependents stay pending.
   *
   * @throws TypeError if it is not running
   */
  suspend(id: string): void {
    this.#end(id, "waiting");
  }

  /**
   * Pauses a running subtask between a failed attempt and the next, and frees its slot until {@link resume}.
   *
   * @throws TypeError if it is not running
   */
  pause(id: string): void {
    this.#end(id, "paused");
    this.#paused += 1;
  }

  /**
   * Makes a paused subtask ready again.
   *
   * @throws TypeError if it is not paused
   */
  resume(id: string): void {
    const index = this.#links.indexById.get(id);
    if (index === undefined || this.#stages[index] !== "paused") {
      throw new TypeError(`Subtask "${id}" is not paused`);
    }
    this.#paused -= 1;
    this.#stages[index] = "pending";
    this.#ready.push(index);
  }

  /** Number of running subtasks, without suspended and paused ones. */
  get running(): number {
    return this.#running;
  }

  /** Whether nothing runs or is paused, and nothing can start any more. */
  get isOver(): boolean {
    return this.#running === 0 && this.#paused === 0 && this.#ready.length === 0;
  }

  /** @returns its index */
  #end(id: string, stage: "done" | "failed" | "waiting" | "paused"): number {
    const index = this.#links.indexById.get(id);
    if (index === undefined) throw new TypeError(`There is no subtask "${id}"`);
    const before = this.#stages[index];
    if (before !== "running") throw new TypeError(`Subtask "${id}" is ${before}, not running`);
    this.#stages[index] = stage;
    this.#running -= 1;
    return index;
  }

  /** Skips pending subtasks in topological order, so that a failure reaches all its descendants. */
  #skipForSettled(settled: ReadonlyMap<string, string>): readonly Skipped[] {
    const causes: (string | undefined)[] = [];
    const causeAt = (id: string): string | undefined => {
      const index = this.#links.indexById.get(id);
      if (index !== undefined) return causes[index];
      const before = settled.get(id);
      return before === "failed" || before === "skipped" ? id : undefined;
    };
    const skipped: number[] = [];
    for (const index of dependencyOrder(this.#links)) {
      const stage = this.#stages[index];
      if (stage === "done") continue;
      const own = stage === "pending" ? undefined : this.#idAt(index);
      const dependencies = this.#subtasks[index]?.dependencies ?? [];
      const failed = dependencies.find((id) => causeAt(id) !== undefined);
      const cause = failed === undefined ? own : causeAt(failed);
      causes[index] = cause;
      if (stage !== "pending" || cause === undefined) continue;
      this.#stages[index] = "skipped";
      skipped.push(index);
    }
    return skipped
      .toSorted((a, b) => a - b)
      .map((index) => ({ id: this.#idAt(index), because: causes[index] ?? "" }));
  }

  #queueIfReady(index: number): void {
    if (this.#stages[index] === "pending" && this.#missing[index] === 0) this.#ready.push(index);
  }

  #dependents(index: number): readonly number[] {
    return this.#links.dependents[index] ?? [];
  }

  #idAt(index: number): string {
    return this.#subtasks[index]?.id ?? "";
  }
}
