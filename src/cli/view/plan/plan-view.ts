import type { AgentEvent } from "../../../state/events.ts";
import { isSettled, type SubtaskState } from "../../../state/plan.ts";
import { count } from "../figures.ts";
import { cutToWidth, plainLine, shortLines, type Style, textWidth } from "../terminal.ts";
import { planSummary, planTableLines, planTitle, type ShownPlan } from "./plan-lines.ts";
import {
  shortName,
  subtaskEnding,
  subtaskLine,
  subtaskLines,
  subtaskMarks,
  type SubtaskPlace,
} from "./subtask-line.ts";

/** A planner that runs, or waits. */
interface Planner extends ShownPlan {
  /** The agent nodes around its nodes, if it must be distinguished from other planners. */
  readonly path: readonly string[];
  readonly subtasks: Record<string, SubtaskState>;
  readonly depth: number;
  /** Workers, by the id of the subtask. */
  readonly running: Map<string, string>;
  /** Subtasks that wait for people. */
  readonly waiting: Set<string>;
  readonly idWidth: number;
  hasBegun: boolean;
  /** Something has come of it since it was last summed up. */
  hasNews: boolean;
}

/** The node of a planner that its workers run within. */
const workersNode = "execute";
const messageLines = 2;
const mostGaps = 10;

const retry = { mark: "↻", colour: (style: Style) => style.yellow };
const waits = {
  person: "waits for a person",
  caller: "waits for tool results",
  event: "waits for a time or an event",
  retry: "retries",
} as const;
const question = { mark: "?", colour: (style: Style) => style.yellow };
const cutOff = { mark: "■", colour: (style: Style) => style.yellow };

/** Plans as lines for people: what their events tell, and how far they are. */
export class PlanView {
  readonly #style: Style;
  readonly #width: number;
  readonly #options: { readonly width: number; readonly style: Style };
  readonly #planners = new Map<string, Planner>();

  /** Columns that the name of a subtask, of a worker and of a planner take at most. */
  readonly #most: { readonly subtask: number; readonly worker: number; readonly planner: number };

  /** `width`: columns of the lines. */
  constructor(options: { readonly style: Style; readonly width: number }) {
    const { style, width } = options;
    this.#options = options;
    this.#style = style;
    this.#width = width;
    const part = (share: number, most: number) => Math.min(most, Math.floor(width * share));
    this.#most = { subtask: part(0.35, 32), worker: part(0.2, 24), planner: part(0.25, 40) };
  }

  /** The lines of an event of a plan; null for any other. */
  event(event: AgentEvent): string[] | null {
    if (event.type === "plan") return this.#plan(event);
    const planner = this.#planners.get(keyOf(event.within));
    switch (event.type) {
      case "subtask_start":
        return this.#start(event, planner ?? this.#unknown(event.within));
      case "subtask_wait":
        return this.#wait(event, planner);
      case "subtask_end":
        return this.#end(event, planner);
      case "synthesis":
        return this.#summary(planner);
      case "gap":
        return this.#gap(event, planner);
      default:
        return null;
    }
  }

  /** The agent of these nodes is over, and the planners in it: what still ran was cut off. */
  end(within: readonly string[]): string[] {
    const lines: string[] = [];
    for (const [key, planner] of this.#planners) {
      if (!beginsWith(planner.path, within)) continue;
      for (const [id, worker] of planner.running) {
        const place = this.#placeOf(planner, id, worker);
        lines.push(subtaskLine(cutOff, place, [this.#style.dim("interrupted")], this.#style));
      }
      if (planner.hasNews) lines.push(...this.#summary(planner));
      this.#planners.delete(key);
    }
    return lines;
  }

  /** Whether a planner itself runs within these nodes, and none of its workers. */
  isPlanner(within: readonly string[]): boolean {
    return this.#planners.has(keyOf(within));
  }

  /** Whether what runs within these nodes runs for a subtask. */
  isWorker(within: readonly string[]): boolean {
    return within.some(
      (_, index) => index < within.length - 1 && this.#isWorkersNode(within, index),
    );
  }

  /**
   * The nodes around something, for people: without the planners' own node that workers run within, and without the one
   * planner that all others are inside of.
   */
  place(within: readonly string[]): readonly string[] {
    const outermost = this.#outermost();
    const [only] = outermost;
    const known = only === undefined || outermost.length > 1 ? 0 : only.path.length;
    const isInside = only !== undefined && within.length > known && beginsWith(within, only.path);
    return within.filter((_, index) => {
      if (this.#isWorkersNode(within, index)) return false;
      return !isInside || index >= known;
    });
  }

  /** `5 of 12 subtasks done, 3 running`; null where none runs or is to begin. */
  get activity(): string | null {
    const outermost = this.#outermost();
    const running = sum(outermost.map((planner) => planner.running.size));
    const all = sum(outermost.map(({ plan }) => plan.subtasks.length));
    const waiting = sum(outermost.map((planner) => planner.waiting.size));
    const states = outermost.flatMap(({ subtasks }) => Object.values(subtasks));
    const settled = states.filter(isSettled).length;
    if (running === 0 && settled + waiting >= all) return null;
    const number = (status: string) => states.filter((state) => state.status === status).length;
    if (all === 0) return `${count(running, "subtask")} running`;
    const parts = [
      `${number("done").toLocaleString("en")} of ${count(all, "subtask")} done`,
      ...(number("failed") > 0 ? [`${number("failed").toLocaleString("en")} failed`] : []),
      ...(waiting > 0 ? [`${waiting.toLocaleString("en")} waiting for a person`] : []),
      ...(running > 0 ? [`${running.toLocaleString("en")} running`] : []),
    ];
    return parts.join(", ");
  }

  /** The subtasks that run, those of planners inside too: `count-lines  counter`. */
  get running(): readonly string[] {
    return [...this.#planners.values()].flatMap((planner) =>
      [...planner.running].map(([id, runs]) => {
        const { name, worker } = this.#placeOf(planner, id, runs);
        return worker === "" ? name : `${name}  ${worker}`;
      }),
    );
  }

  #plan(event: AgentEvent & { type: "plan" }): string[] {
    const { plan, levels, subtasks, depth, within } = event;
    const before = this.#planners.get(keyOf(within));
    const planner = this.#planner({ path: within, plan, levels, subtasks: { ...subtasks }, depth });
    this.#planners.set(keyOf(within), planner);
    const place = this.#nameOf(within);
    const name = place === "" ? "" : `${this.#style.bold(place)}  `;
    const title = (text: string) =>
      name + cutToWidth(text, Math.max(20, this.#width - textWidth(place) - 2));
    const all = plan.subtasks.length;
    // What is on the screen already.
    if (before?.depth === depth && before.plan.subtasks.length === all && before.hasBegun) {
      const done = plan.subtasks.filter(({ id }) => subtasks[id]?.status === "done").length;
      return [title(`resumes: ${done.toLocaleString("en")} of ${count(all, "subtask")} done`)];
    }
    const rows = planTableLines(planner, { width: this.#width - 2, style: this.#style });
    return [title(planTitle(planner, depth)), ...rows.map((row) => `  ${row}`)];
  }

  /** A planner that resumes a plan whose beginning another run reported. */
  #unknown(path: readonly string[]): Planner {
    const plan = { subtasks: [], success_criteria: "" };
    const planner = this.#planner({ path, plan, levels: [], subtasks: {}, depth: 0 });
    this.#planners.set(keyOf(path), planner);
    return planner;
  }

  #planner(given: Pick<Planner, "path" | "plan" | "levels" | "subtasks" | "depth">): Planner {
    const widths = given.plan.subtasks.map(({ id }) => textWidth(this.#subtask(id)));
    return {
      ...given,
      running: new Map(),
      waiting: new Set(),
      idWidth: widths.reduce((most, one) => Math.max(most, one), 0),
      hasBegun: false,
      hasNews: false,
    };
  }

  #start(
    { id, worker, attempt }: AgentEvent & { type: "subtask_start" },
    planner: Planner,
  ): string[] {
    planner.hasBegun = true;
    planner.running.set(id, worker);
    planner.waiting.delete(id);
    const again = attempt > 1 ? [this.#style.dim(`attempt ${attempt}`)] : [];
    const place = this.#placeOf(planner, id, worker);
    return [subtaskLine(subtaskMarks.running, place, again, this.#style)];
  }

  #wait(
    { id, waits_for: what, reason }: AgentEvent & { type: "subtask_wait" },
    planner: Planner | undefined,
  ): string[] {
    const worker = planner?.running.get(id) ?? planner?.subtasks[id]?.worker ?? "";
    if (what !== "retry") {
      planner?.running.delete(id);
      planner?.waiting.add(id);
    }
    const said = waits[what];
    const why = reason === "" ? said : `${said}: ${reason}`;
    const place = this.#placeOf(planner, id, worker);
    const mark = what === "retry" ? retry : question;
    return subtaskLines(mark, place, { took: "", why }, this.#options);
  }

  #end(
    { id, subtask }: AgentEvent & { type: "subtask_end" },
    planner: Planner | undefined,
  ): string[] {
    if (planner !== undefined) {
      planner.running.delete(id);
      planner.waiting.delete(id);
      planner.subtasks[id] = subtask;
      planner.hasNews = true;
    }
    const place = this.#placeOf(planner, id, subtask.worker);
    const mark = subtaskMarks[subtask.status];
    return subtaskLines(mark, place, subtaskEnding(subtask), this.#options);
  }

  #summary(planner: Planner | undefined): string[] {
    if (planner === undefined || planner.plan.subtasks.length === 0) return [];
    planner.hasNews = false;
    const place = this.#nameOf(planner.path);
    const name = place === "" ? "" : `${this.#style.bold(place)}  `;
    const room = Math.max(20, this.#width - textWidth(place) - 2);
    const lines = shortLines(planSummary(planner.plan, planner.subtasks), room, 3);
    return lines.map((line, index) =>
      index === 0 ? name + this.#style.dim(line) : `  ${this.#style.dim(line)}`,
    );
  }

  #gap({ gaps, replans }: AgentEvent & { type: "gap" }, planner: Planner | undefined): string[] {
    const place = planner === undefined ? "" : this.#nameOf(planner.path);
    const whose = place === "" ? "" : `${place}: `;
    if (gaps.length === 0) return [`${this.#style.green("✓")} ${whose}no gaps`];
    const next = replans ? "replanning" : "not replanning";
    const most = gaps.length <= mostGaps + 1 ? gaps.length : mostGaps;
    const more = gaps.length - most;
    return [
      this.#style.yellow(
        cutToWidth(`! ${whose}${count(gaps.length, "gap")}; ${next}`, this.#width),
      ),
      ...gaps
        .slice(0, most)
        .flatMap((gap) =>
          shortLines(gap, this.#width - 4, messageLines).map(
            (line, index) => `${index === 0 ? "  - " : "    "}${line}`,
          ),
        ),
      ...(more === 0 ? [] : [this.#style.dim(`  … and ${more.toLocaleString("en")} more`)]),
    ];
  }

  #placeOf(planner: Planner | undefined, id: string, worker: string): SubtaskPlace {
    const around = planner === undefined ? "" : this.#insideOf(planner.path);
    const nameWidth = planner === undefined || around !== "" ? 0 : planner.idWidth;
    const own = this.#subtask(id);
    return {
      name: around === "" ? own : `${shortName(around, this.#most.planner)} › ${own}`,
      worker: shortName(worker, this.#most.worker),
      nameWidth,
    };
  }

  /** Where a planner is inside of the outermost one; empty for that itself. */
  #insideOf(path: readonly string[]): string {
    const outermost = this.#outermost();
    const isOnly = outermost.length === 1 && outermost[0]?.path.length === path.length;
    return isOnly
      ? ""
      : this.place(path)
          .map((name) => plainLine(name))
          .join(" › ");
  }

  #nameOf(path: readonly string[]): string {
    const own = this.#insideOf(path);
    return shortName(own === "" ? (path.at(-1) ?? "") : own, this.#most.planner);
  }

  #subtask(id: string): string {
    return shortName(id, this.#most.subtask);
  }

  #isWorkersNode(within: readonly string[], index: number): boolean {
    return within[index] === workersNode && this.#planners.has(keyOf(within.slice(0, index)));
  }

  /** Those that no other is around. */
  #outermost(): readonly Planner[] {
    const all = [...this.#planners.values()];
    return all.filter(
      ({ path }) =>
        !all.some((other) => other.path.length < path.length && beginsWith(path, other.path)),
    );
  }
}

function keyOf(path: readonly string[]): string {
  return JSON.stringify(path);
}

function beginsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((node, index) => path[index] === node);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
