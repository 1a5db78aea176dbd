import { remainingPaths } from "./critical-path.ts";
import { dependencyOrder, type Linked, linkSubtasks, type PlanLinks } from "./plan-links.ts";
import { PriorityQueue } from "./priority-queue.ts";

export interface SchedulerOptions {
  /** At most so many at once, at least 1; `Infinity` where all may. */
  readonly maxParallel: number;
  /**
   * What is known to be settled from before: not begun again. May name subtasks of earlier plans; a dependency that is
   * neither here nor in the plan counts as done.
   */
  readonly settled?: ReadonlyMap<string, "done" | "failed" | "skipped">;
  /** Expected duration, in any unit, by which the longest remaining way is measured. Default: 1 each. */
  readonly durationOf?: (id: string) => number;
}

/** A subtask that cannot be begun any more, and the failed one that it depends on, directly or not. */
export interface Skipped {
  readonly id: string;
  readonly because: string;
}

type Stage = "pending" | "running" | "paused" | "waiting" | "done" | "failed" | "skipped";

/**
 * Which subtasks are to begin, as those before them end: the state of a dataflow, without time and without effects. A
 * subtask is ready the moment its own dependencies are done. Among ready ones, that with the longest remaining way
 * goes first (list scheduling by critical path, Graham 1969; Hu 1961), and the order of the plan decides between equals.
 * Each event costs the logarithm of the number of ready subtasks and the links that it follows.
 */
export class Scheduler {
  /**
   * Pending subtasks that were skipped from the beginning, as what they depend on had failed or was skipped before, in
   * the order of the plan.
   */
  readonly skippedAtOnce: readonly Skipped[];
  readonly #maxParallel: number;
  readonly #subtasks: Linked;
  readonly #links: PlanLinks;
  readonly #stages: Stage[];
  /** Dependencies that are not done yet. */
  readonly #missing: number[];
  readonly #ready: PriorityQueue<number>;
  #running = 0;
  #paused = 0;

  /** @throws TypeError for subtasks in a cycle, two of one id, or `maxParallel` below 1 */
  constructor(subtasks: Linked, { maxParallel, settled, durationOf }: SchedulerOptions) {
    if (!(maxParallel >= 1)) throw new TypeError(`maxParallel is at least 1, got ${maxParallel}`);
    this.#maxParallel = Math.floor(maxParallel);
    this.#subtasks = subtasks;
    this.#links = linkSubtasks(subtasks);
    this.#stages = subtasks.map(({ id }) => settled?.get(id) ?? "pending");
    this.skippedAtOnce = this.#skipForSettled(settled ?? new Map());
    this.#missing = this.#links.dependencies.map(
      (places) => places.filter((place) => this.#stages[place] !== "done").length,
    );
    const paths = remainingPaths(subtasks, durationOf);
    const priorities = subtasks.map(({ id }) => paths.get(id) ?? 0);
    this.#ready = new PriorityQueue((a, b) => {
      const more = (priorities[a] ?? 0) - (priorities[b] ?? 0);
      return more > 0 || (more === 0 && a < b);
    });
    for (const place of subtasks.keys()) this.#queueIfReady(place);
  }

  /** What begins now: as many ready subtasks as there is room for. They count as running from here on. */
  begin(): readonly string[] {
    const begun: string[] = [];
    while (this.#running < this.#maxParallel) {
      const place = this.#ready.pop();
      if (place === undefined) break;
      this.#stages[place] = "running";
      this.#running += 1;
      begun.push(this.#idAt(place));
    }
    return begun;
  }

  /**
   * A running subtask is done.
   *
   * @throws TypeError where it does not run
   */
  done(id: string): void {
    for (const dependent of this.#dependents(this.#end(id, "done"))) {
      this.#missing[dependent] = (this.#missing[dependent] ?? 0) - 1;
      this.#queueIfReady(dependent);
    }
  }

  /**
   * A running subtask has failed for good.
   *
   * @returns those that are skipped for it, in the order of the plan
   * @throws TypeError where it does not run
   */
  failed(id: string): readonly Skipped[] {
    const skipped: number[] = [];
    const reached = [this.#end(id, "failed")];
    // Grows while it is walked.
    for (const place of reached) {
      for (const dependent of this.#dependents(place)) {
        if (this.#stages[dependent] !== "pending") continue;
        this.#stages[dependent] = "skipped";
        skipped.push(dependent);
        reached.push(dependent);
      }
    }
    return skipped
      .toSorted((a, b) => a - b)
      .map((place) => ({ id: this.#idAt(place), because: id }));
  }

  /**
   * A running subtask waits for somebody, and leaves its place to others. It never ends in this run, and what depends on
   * it stays pending.
   *
   * @throws TypeError where it does not run
   */
  waits(id: string): void {
    this.#end(id, "waiting");
  }

  /**
   * An attempt of a running subtask has failed, and another is to follow later: it leaves its place to others until
   * {@link again}.
   *
   * @throws TypeError where it does not run
   */
  pauses(id: string): void {
    this.#end(id, "paused");
    this.#paused += 1;
  }

  /**
   * A paused subtask is ready again.
   *
   * @throws TypeError where it is not paused
   */
  again(id: string): void {
    const place = this.#links.placeOf.get(id);
    if (place === undefined || this.#stages[place] !== "paused") {
      throw new TypeError(`Subtask "${id}" is not paused`);
    }
    this.#paused -= 1;
    this.#stages[place] = "pending";
    this.#ready.push(place);
  }

  /** Running, and not waiting for anybody. */
  get running(): number {
    return this.#running;
  }

  /** Whether nothing runs, or is paused, and nothing can begin any more. */
  get isOver(): boolean {
    return this.#running === 0 && this.#paused === 0 && this.#ready.size === 0;
  }

  /** @returns its place */
  #end(id: string, stage: "done" | "failed" | "waiting" | "paused"): number {
    const place = this.#links.placeOf.get(id);
    if (place === undefined) throw new TypeError(`There is no subtask "${id}"`);
    const before = this.#stages[place];
    if (before !== "running") throw new TypeError(`Subtask "${id}" is ${before}, not running`);
    this.#stages[place] = stage;
    this.#running -= 1;
    return place;
  }

  /** In the order of dependencies, so that what fails one reaches all after it. */
  #skipForSettled(settled: ReadonlyMap<string, string>): readonly Skipped[] {
    const causes: (string | undefined)[] = [];
    const causeAt = (id: string): string | undefined => {
      const place = this.#links.placeOf.get(id);
      if (place !== undefined) return causes[place];
      const before = settled.get(id);
      return before === "failed" || before === "skipped" ? id : undefined;
    };
    const skipped: number[] = [];
    for (const place of dependencyOrder(this.#links)) {
      const stage = this.#stages[place];
      if (stage === "done") continue;
      const own = stage === "pending" ? undefined : this.#idAt(place);
      const dependencies = this.#subtasks[place]?.dependencies ?? [];
      const failed = dependencies.find((id) => causeAt(id) !== undefined);
      const cause = failed === undefined ? own : causeAt(failed);
      causes[place] = cause;
      if (stage !== "pending" || cause === undefined) continue;
      this.#stages[place] = "skipped";
      skipped.push(place);
    }
    return skipped
      .toSorted((a, b) => a - b)
      .map((place) => ({ id: this.#idAt(place), because: causes[place] ?? "" }));
  }

  #queueIfReady(place: number): void {
    if (this.#stages[place] === "pending" && this.#missing[place] === 0) this.#ready.push(place);
  }

  #dependents(place: number): readonly number[] {
    return this.#links.dependents[place] ?? [];
  }

  #idAt(place: number): string {
    return this.#subtasks[place]?.id ?? "";
  }
}
