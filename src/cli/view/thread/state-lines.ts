import { allSubtasks, type Planning, planningIn } from "../../../runtime/threads/stored.ts";
import type {
  ChannelDiff,
  CheckpointRef,
  StoredState,
  StoredTask,
  ValueChange,
} from "../../../runtime/threads/threads.ts";
import { isStepRecord, type StepRecord } from "../../../state/step-record.ts";
import { isRecord } from "../../../values/json.ts";
import { headOf } from "../../../values/text.ts";
import { byteSize, count, minuteOf, timeAgo } from "../figures.ts";
import { countsOf } from "../plan/plan-lines.ts";
import { shortName, subtaskEnding, subtaskLines, subtaskMarks } from "../plan/subtask-line.ts";
import { paintOfStatus } from "../run/lines.ts";
import { storedMemoryText } from "../run/memory-line.ts";
import { requestLines } from "../run/request-lines.ts";
import { toolLines } from "../run/tool-line.ts";
import { cutToWidth, plainLine, type Style, textWidth, wrapText } from "../terminal.ts";
import { elementLines, namedValueLines, type ValueOptions } from "../values.ts";
import { listTitle } from "./action-lines.ts";
import { triggerNames } from "./history-lines.ts";

export interface StateOptions extends ValueOptions {
  readonly now: Date;
}

/** Channels that have a place of their own; all others are shown by their names. */
const known = new Set(
  "input output execution attempt nodes steps messages status turn_number attempt_number turn usage".split(
    " ",
  ),
);
const shownSteps = 3;
const shownMessages = 6;
const shownSubtasks = 20;
const readCharacters = 2000;

/** The state at a checkpoint: where it stands, who is waited for, both tiers, the last steps and messages. */
export function stateLines(state: StoredState, options: StateOptions): string[] {
  const { values } = state;
  const others = Object.entries(values).filter(
    ([name, value]) => !known.has(name) && !isEmpty(value) && (options.full || name !== "branches"),
  );
  return [
    ...headLines(state, options),
    ...waitingLines(state, options),
    ...recordSection("Execution", values["execution"], options),
    ...recordSection("Attempt", values["attempt"], options),
    ...nodeSections(values["nodes"], options),
    ...stepSection(values["steps"], options),
    ...listSection("Messages", values["messages"], shownMessages, options),
    ...(others.length === 0
      ? []
      : section("Other channels", namedValueLines(others, options), options)),
  ];
}

function headLines(state: StoredState, options: StateOptions): string[] {
  const { values, createdAt, step, status, agent } = state;
  const { style, now, width } = options;
  const { turn_number: turn, attempt_number: attempt, input, output } = values;
  const about = [
    `${minuteOf(createdAt)}, ${timeAgo(createdAt, now)}`,
    ...(step === null ? [] : [`step ${step}`]),
    makerOf(state),
    byteSize(state.bytes),
  ];
  const place = [
    ...(typeof turn === "number" ? [`turn ${turn}`] : []),
    ...(typeof attempt === "number" ? [`attempt ${attempt}`] : []),
  ];
  const bookkeeping = isRecord(values["turn"]) ? values["turn"] : {};
  const { failure, user } = bookkeeping;
  const memory = storedMemoryText(bookkeeping);
  const fields: (readonly [string, unknown])[] = [
    ...(agent == null ? [] : [["agent", agent] as const]),
    ...(place.length === 0 ? [] : [["turn", place.join(", ").replace(/^turn /, "")] as const]),
    ...(typeof user === "string" ? [["user", user] as const] : []),
    ...(memory === null ? [] : [["memory", memory] as const]),
    ["next", state.next.length === 0 ? "nothing" : state.next.join(", ")],
    ...taskFields(state.tasks),
    ...(isRecord(failure)
      ? [["failure", `${String(failure["message"])} [${String(failure["cause"])}]`] as const]
      : []),
    ...(input == null ? [] : [["input", onlyMessage(input)] as const]),
    ...(output == null ? [] : [["output", onlyMessage(output)] as const]),
  ];
  const statusText = paintOfStatus(status, style)(plainLine(status ?? "–"));
  const title = plainLine(`thread ${state.threadId} · checkpoint ${state.id}`);
  const inside = state.namespace === "" ? [] : [style.dim(plainLine(`inside ${state.namespace}`))];
  return [
    ...wrapText(title, width).map(style.bold),
    ...inside,
    ...wrapText(plainLine(about.join(" · ")), width).map(style.dim),
    "",
    `  ${statusText}`,
    ...namedValueLines(fields, options),
  ];
}

/** `node size`, `turn end (finalize)`, `input` */
function makerOf({ trigger, nodes }: StoredState): string {
  const names = nodes.join(", ");
  if (names === "") return triggerNames[trigger];
  return trigger === "node" ? `node ${names}` : `${triggerNames[trigger]} (${names})`;
}

/** An input or output that is a message alone is said as that. */
function onlyMessage(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const [[key, message] = [], ...others] = Object.entries(value);
  return key === "message" && typeof message === "string" && others.length === 0 ? message : value;
}

/** What has come of tasks that others still keep from going on. */
function taskFields(tasks: readonly StoredTask[]): (readonly [string, unknown])[] {
  const allDone = tasks.every(({ state }) => state === "done");
  return tasks.flatMap(({ node, state, error }): (readonly [string, unknown])[] => {
    if (state === "failed") return [["failed", `${node}: ${error ?? "unknown error"}`]];
    return state === "done" && !allDone ? [["done", `${node}, waiting for concurrent nodes`]] : [];
  });
}

function waitingLines({ waiting }: StoredState, options: StateOptions): string[] {
  if (waiting.length === 0) return [];
  const title =
    waiting.length === 1 ? "Waits for an answer." : `Waits for ${waiting.length} answers.`;
  const requests = waiting.flatMap((request) => ["", ...requestLines(request, options)]);
  return ["", options.style.yellow(`■ ${title}`), ...requests];
}

function section(title: string, lines: readonly string[], { style }: StateOptions): string[] {
  return ["", style.bold(title), ...lines];
}

function recordSection(title: string, value: unknown, options: StateOptions): string[] {
  if (value === undefined) return [];
  if (!isRecord(value))
    return section(title, namedValueLines([["value", value]], options), options);
  const entries = Object.entries(value);
  const lines =
    entries.length === 0 ? [options.style.dim("  empty")] : namedValueLines(entries, options);
  return section(title, lines, options);
}

/** Node outputs. Planners are summarised here, and listed by subtask below. */
function nodeSections(nodes: unknown, options: StateOptions): string[] {
  if (isEmpty(nodes)) return [];
  if (options.full || !isRecord(nodes)) return recordSection("Nodes", nodes, options);
  const plans = Object.entries(nodes).flatMap(([node, output]) => {
    const planning = planningIn(output);
    return planning === null ? [] : [{ node, planning, status: (output as PlannerOutput).status }];
  });
  const told = plans.map(({ node, planning: { plan, subtasks, gaps }, status }) => {
    const about = [String(status), countsOf(plan, subtasks)];
    return [
      node,
      [...about, ...(gaps.length === 0 ? [] : [count(gaps.length, "gap")])].join(" · "),
    ];
  });
  return [
    ...recordSection("Nodes", { ...nodes, ...Object.fromEntries(told) }, options),
    ...plans.flatMap(({ node, planning }) =>
      section(`Plan of ${plainLine(headOf(node, 60))}`, planningLines(planning, options), options),
    ),
  ];
}

interface PlannerOutput {
  readonly status?: unknown;
}

function planningLines(planning: Planning, { style, width }: StateOptions): string[] {
  const states = Object.entries(allSubtasks(planning));
  // One line more is no more than the line that says so.
  const shown = states.length <= shownSubtasks + 1 ? states : states.slice(0, shownSubtasks);
  const more = states.length - shown.length;
  const names = shown.map(([id]) => shortName(id));
  const nameWidth = Math.max(0, ...names.map(textWidth));
  const room = Math.min(width, 160) - 2;
  const lines = shown.flatMap(([, state], index) => {
    const place = { name: names[index] ?? "", worker: shortName(state.worker, 24), nameWidth };
    const sign = subtaskMarks[state.status];
    return subtaskLines(sign, place, subtaskEnding(state), { style, width: room });
  });
  const rest = more === 0 ? [] : [style.dim(`… and ${more.toLocaleString("en")} more`)];
  return [...lines, ...rest].map((line) => `  ${line}`);
}

function listSection(title: string, value: unknown, most: number, options: StateOptions): string[] {
  if (!Array.isArray(value) || value.length === 0) return [];
  const shown: readonly unknown[] = options.full ? value : value.slice(-most);
  const which = listTitle(title, shown.length, value.length);
  return section(which, elementLines(shown, options), options);
}

function stepSection(value: unknown, options: StateOptions): string[] {
  if (!Array.isArray(value) || value.length === 0) return [];
  if (options.full || !value.every(isStepRecord))
    return listSection("Steps", value, shownSteps, options);
  const shown = value.slice(-shownSteps);
  const turns = new Set(shown.map(({ turn_number }) => turn_number));
  const lines = shown.flatMap((step) => stepLines(step, turns.size > 1, options));
  return section(listTitle("Steps", shown.length, value.length), lines, options);
}

/** A step in short: its node and thought, and each call with its outcome. */
export function stepLines(
  step: StepRecord,
  tellsTurn: boolean,
  { style, width }: Pick<StateOptions, "style" | "width">,
): string[] {
  const room = Math.min(width, 160) - 5;
  const number = String(step.step_index + 1).padStart(3);
  const where = tellsTurn ? `${step.node}, turn ${step.turn_number}` : step.node;
  const head = cutToWidth(
    plainLine(step.thought === "" ? where : `${where}: ${step.thought}`),
    room,
  );
  const results = step.tool_results.flatMap((result) => toolLines(result, room, style));
  const problem = cutToWidth(plainLine(`! ${step.problem}`), room);
  return [
    `${style.dim(number)}  ${head}`,
    ...reasoningLines(step).map((line) => `     ${style.dim(cutToWidth(line, room))}`),
    ...results.map((line) => `     ${line}`),
    ...(step.problem === "" ? [] : [`     ${style.yellow(problem)}`]),
  ];
}

/** How much a model thought in a step, and how that begins. */
function reasoningLines({ reasoning }: StepRecord): readonly string[] {
  const text: unknown = reasoning?.text;
  if (typeof text !== "string" || text.trim() === "") return [];
  const words = count(text.match(/\S+/g)?.length ?? 0, "word");
  return [`thought (${words}): ${plainLine(headOf(text, readCharacters))}`];
}

function isEmpty(value: unknown): boolean {
  if (value == null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && Object.keys(value).length === 0;
}

type Kind = ChannelDiff["kind"];

const marks: Readonly<Record<Kind, string>> = { added: "+", removed: "−", changed: "~" };

/** How one checkpoint differs from another, channel by channel. */
export function diffLines(
  of: {
    readonly a: CheckpointRef;
    readonly b: CheckpointRef;
    readonly channels: readonly ChannelDiff[];
  },
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const { a, b, channels } = of;
  return [
    ...wrapText(plainLine(`− ${nameOf(a)}`), width).map(style.red),
    ...wrapText(plainLine(`+ ${nameOf(b)}`), width).map(style.green),
    ...(channels.length === 0 ? ["", "No differences."] : []),
    ...channels.flatMap(({ channel, kind, changes, omitted }) => [
      "",
      `${paintOf(kind, style)(marks[kind])} ${style.bold(plainLine(channel))}`,
      ...changes.flatMap((change) => changeLines(change, width, style)),
      ...(omitted === 0 ? [] : [style.dim(`  … ${count(omitted, "further difference")}`)]),
    ]),
  ];
}

function nameOf({ threadId, checkpointId }: CheckpointRef): string {
  return `${threadId}/${checkpointId}`;
}

function changeLines({ kind, text }: ValueChange, width: number, style: Style): string[] {
  const lines = wrapText(plainLine(text), Math.max(20, width - 4));
  return lines.map((line, number) => {
    if (number > 0) return `    ${line}`;
    return `  ${kind === "changed" ? line : paintOf(kind, style)(line)}`;
  });
}

function paintOf(kind: Kind, style: Style): (text: string) => string {
  return { added: style.green, removed: style.red, changed: style.yellow }[kind];
}
