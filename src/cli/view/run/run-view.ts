import type { AgentEvent, EventOrigin } from "../../../state/events.ts";
import { headOf } from "../../../values/text.ts";
import { isRecord } from "../../../values/json.ts";
import type { StepRecord } from "../../../state/step-record.ts";
import { cutToWidth, plainLine, shortLines, type Style, textWidth } from "../terminal.ts";
import { PlanView } from "../plan/plan-view.ts";
import { memoryLines } from "./memory-line.ts";
import { activities, railLines } from "./lines.ts";
import { toolLines } from "./tool-line.ts";

export interface RunViewOptions {
  /** Columns of the terminal; `Infinity` turns wrapping off. */
  readonly width: number;
  readonly style: Style;
  /** Attempts that a turn may take. */
  readonly maxAttempts: number;
  /** Whether a step that gives the answer says so. Default true. */
  readonly namesAnswers?: boolean;
}

/** Columns before the text of a step, which hold its number. */
const gutter = 5;
const thoughtLines = 2;
/** Lines of each reason why the last attempt was refused. */
const lastReasonLines = 12;
const readCharacters = 2000;
/** What one-line texts are cut to where lines may be as wide as they like. */
const unboundedWidth = 160;

/** The nodes of every turn, and of the standard loop. */
const lifecycle = new Set(["initialize", "plan", "reason", "tools", "reflect", "finalize"]);
/** The node that makes plans. */
const plannersNode = "decompose";

/** The node of a workflow that an event is of, within those of the agents around it; empty in the standard loop. */
function placeOf({ node, within }: EventOrigin): string {
  return [...within, ...(lifecycle.has(node) ? [] : [node])].join(" › ");
}

function stepKeyOf({ within, turn_number, attempt_number }: EventOrigin, index: number): string {
  return JSON.stringify([within, turn_number, attempt_number, index]);
}

/** Steps of one agent, in one attempt, are numbered together. */
function attemptKeyOf({ within, turn_number, attempt_number }: EventOrigin): string {
  return JSON.stringify([within, turn_number, attempt_number]);
}

/** A step's lines are of two nodes where one asks for calls and another runs them. */
function keyOf(origin: EventOrigin, index: number): string {
  return `${stepKeyOf(origin, index)} ${placeOf(origin)}`;
}

/** A run as lines for people: every event gives the lines to print, in order. Nothing is printed here. */
export class RunView {
  readonly #style: Style;
  readonly #width: number;
  readonly #maxAttempts: number;
  readonly #namesAnswers: boolean;
  readonly #plans: PlanView;
  /** The number to put before the next line of its step. */
  #number: number | null = null;
  /** The step that the lines belong to: lines of concurrent steps may alternate. */
  #begun = "";
  /** Steps of which something was shown. */
  readonly #shown = new Set<string>();
  /** The last number that was given to a step, by attempt. */
  readonly #numbers = new Map<string, number>();
  /** What was thought in steps of which nothing was shown yet. */
  readonly #thoughts = new Map<string, string>();
  /** A step of a node that may be a planner's. */
  #held: (AgentEvent & { type: "step" }) | null = null;
  #running: readonly { readonly id: string; readonly name: string }[] = [];
  #activity = "starting";
  #hasRefused = false;

  constructor(options: RunViewOptions) {
    this.#style = options.style;
    this.#width = Math.min(options.width, unboundedWidth);
    this.#maxAttempts = options.maxAttempts;
    this.#namesAnswers = options.namesAnswers ?? true;
    this.#plans = new PlanView({ style: this.#style, width: this.#room });
  }

  /** Whether refused attempts of the run itself were shown, with the reasons. */
  get hasRefused(): boolean {
    return this.#hasRefused;
  }

  /** What is going on, in a few words; changes with the events. */
  get activity(): string {
    const { activity } = this.#plans;
    if (activity !== null) return activity;
    const names = this.#running.map(({ name }) => plainLine(headOf(name, 100)));
    return names.length > 0 ? `running ${names.join(", ")}` : this.#activity;
  }

  /** The subtasks of plans that run, each on a line. */
  get subtasks(): readonly string[] {
    return this.#plans.running;
  }

  event(event: AgentEvent): string[] {
    const held = this.#heldUntil(event);
    const planned = this.#plans.event(event);
    if (planned !== null) return [...held, ...this.#beside(planned)];
    if (event.type === "step" && event.node === plannersNode && !this.#isPlanned(event)) {
      this.#held = event;
      return held;
    }
    return [...held, ...(this.#isPlanned(event) ? this.#ofWorker(event) : this.#ofAgent(event))];
  }

  #isPlanned({ within }: EventOrigin): boolean {
    return this.#plans.isWorker(within) || this.#plans.isPlanner(within);
  }

  /** A step that was held back is no news where it is followed by the plan that it made. */
  #heldUntil(event: AgentEvent | null): string[] {
    const held = this.#held;
    if (held === null) return [];
    this.#held = null;
    const isTold = event?.type === "plan" && event.within.join("|") === held.within.join("|");
    return isTold ? this.#ofWorker(held) : this.#ofAgent(held);
  }

  /**
   * Workers run concurrently: only lines that are complete by themselves are shown, with the worker's name. Steps of a
   * planner itself have events that tell more.
   */
  #ofWorker(event: AgentEvent): string[] {
    switch (event.type) {
      case "tool_call":
        this.#running = [...this.#running, event.call];
        return [];
      case "tool_result": {
        const { result } = event;
        this.#running = this.#running.filter(({ id }) => id !== result.id);
        const place = this.#whose(event);
        const room = Math.max(20, this.#room - textWidth(place) - 5);
        const [head = "", ...others] = toolLines(result, room, this.#style);
        const problem = result.outcome === "success" ? [] : others.map((line) => `    ${line}`);
        return this.#beside([`  ${this.#style.dim(`${place} ›`)} ${head}`, ...problem]);
      }
      case "step": {
        const { tool_predictions: calls, problem, fallback, model } = event.step;
        const ids = new Set(calls.map(({ id }) => id));
        this.#running = this.#running.filter(({ id }) => !ids.has(id));
        const whose = this.#whose(event);
        return this.#beside([
          ...(fallback === null
            ? []
            : this.#warned(
                `${whose}: ${model} answered instead of ${fallback.from}: ${fallback.reason}`,
              )),
          ...(problem === "" ? [] : this.#warned(`${whose}: ${problem}`)),
        ]);
      }
      case "thought":
        return [];
      default:
        this.#number = null;
        return this.#ofAgent(event);
    }
  }

  #ofAgent(event: AgentEvent): string[] {
    switch (event.type) {
      case "status":
        this.#activity = activities[event.status];
        return [];
      case "thought":
        this.#thoughts.set(keyOf(event, event.step_index), event.text);
        return [];
      case "tool_call": {
        this.#running = [...this.#running, event.call];
        // Concurrent tool nodes are named when their results arrive.
        const begins = placeOf(event) === "" || this.#thoughts.has(keyOf(event, event.step_index));
        return begins ? this.#beginStep(event, event.step_index) : [];
      }
      case "tool_result": {
        this.#running = this.#running.filter(({ id }) => id !== event.result.id);
        const lines = toolLines(event.result, this.#room, this.#style);
        return [...this.#beginStep(event, event.step_index), ...this.#indented(lines)];
      }
      case "tool_request": {
        const asked = new Set(event.calls.map(({ call_id }) => call_id));
        this.#running = this.#running.filter(({ id }) => !asked.has(id));
        return [];
      }
      case "step":
        return this.#endStep(event, event.step);
      case "stuck":
        return this.#stuck(event);
      case "attempt_failed":
        return this.#refusal(event);
      case "memory":
      case "memory_written":
        return this.#indented(memoryLines(event, this.#room, this.#style));
      case "rail":
        return this.#indented(railLines(event.record, this.#room, this.#style));
      case "node":
        return this.#outcome(event);
      case "done":
        this.#forget(event);
        return this.#beside(this.#plans.end(event.within));
      case "user_message":
      case "message":
      case "message_reset":
      case "model_wait":
      case "model_fallback":
      case "plan":
      case "subtask_start":
      case "subtask_wait":
      case "subtask_end":
      case "synthesis":
      case "gap":
        return [];
    }
  }

  /** The run is over: what was still running is shown as cut off. */
  end(): string[] {
    const cut = this.#running.map(({ name }) => {
      const shown = cutToWidth(plainLine(headOf(name, 100)), this.#room - 20);
      return `${this.#style.yellow("■")} ${shown}  ${this.#style.dim("interrupted")}`;
    });
    this.#running = [];
    return [...this.#heldUntil(null), ...this.#indented(cut), ...this.#beside(this.#plans.end([]))];
  }

  get #room(): number {
    return Math.max(20, this.#width - gutter);
  }

  /**
   * The number, the node and the thought of a step, when they were not shown yet. Steps are numbered as they appear,
   * since those of parallel branches come in any order; a turn that goes on counts from where it stopped. Further lines
   * of a step, after those of another, have its node alone.
   */
  #beginStep(origin: EventOrigin, index: number): string[] {
    const key = keyOf(origin, index);
    if (key === this.#begun) return [];
    this.#begun = key;
    const stepKey = stepKeyOf(origin, index);
    this.#number = this.#shown.has(stepKey) ? null : this.#nextNumber(origin, index);
    this.#shown.add(stepKey);
    const thought = this.#thoughts.get(key) ?? "";
    this.#thoughts.delete(key);
    const place = this.#shownPlace(origin);
    const heading = place === "" ? [] : [this.#style.bold(cutToWidth(place, this.#room))];
    return this.#indented([...heading, ...this.#shortened(thought, thoughtLines)]);
  }

  #nextNumber(origin: EventOrigin, index: number): number {
    const attempt = attemptKeyOf(origin);
    const number = (this.#numbers.get(attempt) ?? index) + 1;
    this.#numbers.set(attempt, number);
    return number;
  }

  #endStep(origin: EventOrigin, step: StepRecord): string[] {
    const calls = new Set(step.tool_predictions.map(({ id }) => id));
    this.#running = this.#running.filter(({ id }) => !calls.has(id));
    this.#activity = activities.EXECUTING;
    const key = keyOf(origin, step.step_index);
    // The answer itself comes at the end of the run; showing it here would show it twice.
    const isReply = step.finish_reason === undefined || step.finish_reason === "length";
    const isAnswer = isReply && step.next_action === "finish" && placeOf(origin) === "";
    if (isAnswer) this.#thoughts.delete(key);
    const isShown = this.#shown.has(stepKeyOf(origin, step.step_index));
    // Where answers are held, a step may be told without what was thought in it.
    if (!isAnswer && !isShown && step.thought !== "") this.#thoughts.set(key, step.thought);
    const isUnsaid = !isShown && (this.#namesAnswers || !isAnswer);
    const isNews = isUnsaid || step.fallback !== null || step.problem !== "";
    if (!isNews) return [];
    const lines = this.#beginStep(origin, step.step_index);
    if (isAnswer && this.#namesAnswers)
      lines.push(...this.#indented([this.#style.dim("gives its answer")]));
    if (step.fallback !== null) {
      const { from, reason } = step.fallback;
      lines.push(...this.#warning(`${step.model} answered instead of ${from}: ${reason}`));
    }
    if (step.problem !== "") lines.push(...this.#warning(step.problem));
    if (this.#number !== null) lines.push(...this.#indented([this.#style.dim("continues")]));
    return lines;
  }

  /** An agent inside of this one may run again, with steps of the same numbers. */
  #forget({ within }: EventOrigin): void {
    const prefix = `[${JSON.stringify(within)},`;
    for (const known of [this.#shown, this.#numbers]) {
      for (const key of known.keys()) if (key.startsWith(prefix)) known.delete(key);
    }
  }

  /** The result of a node without a step record, and the next nodes of its branch. */
  #outcome(event: AgentEvent & { type: "node" }): string[] {
    const outcome = outcomeOf(event.output);
    if (outcome === null) return [];
    const next = event.next.map(plainLine).join(", ");
    const why = outcome === "" ? "" : ` (${cutToWidth(outcome, 100)})`;
    const line = `${this.#shownPlace(event)} → ${next}${why}`;
    return this.#indented([this.#style.dim(cutToWidth(line, this.#room))]);
  }

  /** An attempt that ends says why when it is refused. */
  #stuck(event: AgentEvent & { type: "stuck" }): string[] {
    if (event.action === "end") return [];
    const place = this.#shownPlace(event);
    const whose = place === "" ? "" : `${cutToWidth(plainLine(place), 60)} `;
    const reason = plainLine(headOf(event.reason, readCharacters));
    const line = `! ${whose}is stuck (${reason}): reasoning deeper`;
    return this.#indented([this.#style.yellow(cutToWidth(line, this.#room))]);
  }

  #refusal({ attempt, within }: AgentEvent & { type: "attempt_failed" }): string[] {
    const number = attempt.attempt_number + 1;
    const isOwn = within.length === 0;
    this.#hasRefused ||= isOwn;
    // How many attempts an agent inside of this one may take is not known here.
    const which = isOwn ? `attempt ${number} of ${this.#maxAttempts}` : `attempt ${number}`;
    const whose = isOwn
      ? ""
      : `${cutToWidth(this.#plans.place(within).map(plainLine).join(" › "), 60)}: `;
    const answer = attempt.answer === null ? [] : this.#shortened(attempt.answer, 1);
    const goesOn = isOwn && number < this.#maxAttempts;
    // The end of the run does not say the reasons again.
    const most = goesOn ? thoughtLines : lastReasonLines;
    return this.#indented([
      this.#style.yellow(`✗ ${whose}${which} refused`),
      ...answer.map((line) => this.#style.dim(`  ${line}`)),
      ...attempt.errors.flatMap((error) =>
        this.#shortened(error, most).map((line, i) => `${i === 0 ? "  - " : "    "}${line}`),
      ),
      ...(goesOn ? [this.#style.dim("  retrying with this feedback")] : []),
    ]);
  }

  #warning(text: string): string[] {
    return this.#indented(this.#warned(text));
  }

  #warned(text: string): string[] {
    const lines = this.#shortened(text, thoughtLines);
    return lines.map((line, i) => this.#style.yellow(`${i === 0 ? "! " : "  "}${line}`));
  }

  /** {@link placeOf}, as short as plans make it. */
  #shownPlace({ node, within, ...origin }: EventOrigin): string {
    return plainLine(placeOf({ ...origin, node, within: this.#plans.place(within) }));
  }

  #whose(origin: EventOrigin): string {
    return cutToWidth(this.#shownPlace(origin), Math.min(40, Math.floor(this.#room / 3)));
  }

  /** Lines that are of no step. The step that they come between is named again. */
  #beside(lines: readonly string[]): string[] {
    if (lines.length > 0) {
      this.#begun = "";
      this.#number = null;
    }
    return lines.map((line) => `${" ".repeat(gutter)}${line}`);
  }

  #indented(lines: readonly string[]): string[] {
    return lines.map((line) => {
      const number = this.#number === null ? "" : String(this.#number);
      this.#number = null;
      return `${this.#style.dim(number.padStart(gutter - 2))}  ${line}`;
    });
  }

  /** A text on a maximum number of lines, with white space collapsed. */
  #shortened(text: string, most: number): string[] {
    return shortLines(text, this.#room - 4, most);
  }
}

/** A router's choice, why a person rejected, why an agent's turn came to nothing; null where steps tell enough. */
function outcomeOf(output: unknown): string | null {
  if (!isRecord(output)) return null;
  const { choice, approved, reason, failure } = output;
  if (typeof choice === "string") return plainLine(headOf(choice, 100));
  if (typeof approved === "boolean") {
    const why = typeof reason === "string" ? plainLine(headOf(reason, readCharacters)) : "";
    return [...(approved ? [] : ["rejected"]), ...(why === "" ? [] : [why])].join(": ");
  }
  if (!isRecord(failure)) return null;
  return plainLine(headOf(`failed: ${String(failure["message"])}`, readCharacters));
}
