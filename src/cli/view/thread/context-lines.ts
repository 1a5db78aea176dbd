import { type PlainMessage, plainMessage } from "../../../runtime/threads/context-options.ts";
import type { ThreadContext } from "../../../runtime/threads/threads.ts";
import { count } from "../figures.ts";
import { type Cell, type Column, tableLines } from "../table.ts";
import { plainLine, plainText, type Style, wrapText } from "../terminal.ts";
import { plainJson } from "../../../values/diff.ts";

interface Options {
  readonly width: number;
  readonly style: Style;
}

/** A model's context: its size by section, how each step is rendered, and every message as it is sent. */
export function contextLines(context: ThreadContext, options: Options): string[] {
  return [
    ...headLines(context, options),
    "",
    ...sectionLines(context, options),
    ...stepLines(context, options),
    ...memoryLines(context, options),
    ...messageLines(context, options),
    ...noteLines(context, options),
  ];
}

function headLines(context: ThreadContext, { width, style }: Options): string[] {
  const { threadId, namespace, turn, attempt, step, node, tense, checkpointId } = context;
  const { goal, model } = context.metadata;
  const isMade = context.goals.includes(goal);
  const place = [
    `thread ${threadId}`,
    `turn ${turn}`,
    `step ${step}`,
    node,
    ...(attempt > 0 ? [`attempt ${attempt}`] : []),
  ].join(" · ");
  const supposed = tense === "past" ? "Would have been read" : "Would be read";
  const what = tense === "past" && isMade ? "Read" : supposed;
  const how = `${what} by ${model}, for ${goal}, from checkpoint ${checkpointId}.`;
  return [
    ...wrapText(plainLine(place), width).map(style.bold),
    ...(namespace === "" ? [] : [style.dim(plainLine(`inside ${namespace}`))]),
    ...wrapText(plainLine(how), width).map(style.dim),
  ];
}

const sections = ["system", "tools", "memory", "conversation", "steps", "total"] as const;

const sectionColumns: readonly Column[] = [
  { title: "section" },
  { title: "tokens", align: "right" },
  { title: "of budget", align: "right", optional: 1 },
  { title: "of window", align: "right", optional: 2 },
];

function sectionLines({ metadata }: ThreadContext, options: Options): string[] {
  const { style } = options;
  const { tokens, budget, window, reserved } = metadata;
  const rows = sections.map((section): Cell[] => {
    const paint = section === "total" ? { paint: style.bold } : {};
    return [
      { text: section, ...paint },
      { text: figure(tokens[section]), ...paint },
      { text: share(tokens[section], budget), ...paint },
      { text: share(tokens[section], window), ...paint },
    ];
  });
  const saved = `${figure(tokens.raw)} raw, ${figure(tokens.saved)} saved (${share(tokens.saved, tokens.raw)})`;
  const room = `budget ${figure(budget)} · window ${figure(window)} · ${figure(reserved)} reserved for the reply`;
  const below = [saved, room].flatMap((line) => wrapText(line, options.width));
  return [...tableLines(sectionColumns, rows, options), "", ...below.map(style.dim)];
}

const stepColumns: readonly Column[] = [
  { title: "step" },
  { title: "node", least: 6 },
  { title: "fidelity" },
  { title: "tokens", align: "right" },
];

/** `turn/step`, the node, and how the step is rendered. */
function stepLines({ steps }: ThreadContext, options: Options): string[] {
  if (steps.length === 0) return [];
  const { style } = options;
  const rows = steps.map(({ turn, step, node, fidelity, tokens }): Cell[] => [
    { text: `${turn}/${step}` },
    { text: plainLine(node) || "–" },
    { text: fidelity, ...(fidelity !== "whole" && { paint: style.yellow }) },
    { text: figure(tokens) },
  ]);
  return ["", ...tableLines(stepColumns, rows, options)];
}

const memoryColumns: readonly Column[] = [
  { title: "memory" },
  { title: "type" },
  { title: "score", align: "right" },
  { title: "fidelity", optional: 1 },
  { title: "tokens", align: "right" },
];

/** The remembered entries, in the order of the context. */
function memoryLines({ metadata: { memories } }: ThreadContext, options: Options): string[] {
  if (memories.length === 0) return [];
  const { style } = options;
  const rows = memories.map(({ id, type, score, fidelity, tokens }): Cell[] => [
    { text: plainLine(id) },
    { text: plainLine(type) },
    { text: score === null ? "–" : score.toFixed(2) },
    { text: fidelity, ...(fidelity !== "whole" && { paint: style.yellow }) },
    { text: figure(tokens) },
  ]);
  return ["", ...tableLines(memoryColumns, rows, options)];
}

function messageLines(context: ThreadContext, options: Options): string[] {
  const { messages, messageTokens, tools } = context;
  const { style, width } = options;
  const names = plainLine(`With the tools ${tools.map(({ name }) => name).join(", ")}.`);
  const offered = tools.length === 0 ? [] : ["", ...wrapText(names, width).map(style.dim)];
  const told = messages.flatMap((message, index) => {
    const plain = plainMessage(message);
    const tokens = count(messageTokens[index] ?? 0, "token");
    return ["", headOf(index + 1, plain, { tokens, style }), ...bodyOf(plain, options)];
  });
  return [...offered, ...told];
}

/** `3  tool · look_up · call_1 · 120 tokens` */
function headOf(
  number: number,
  { role, name, tool_call_id: id }: PlainMessage,
  { tokens, style }: { readonly tokens: string; readonly style: Style },
): string {
  const about = [...(name === undefined ? [] : [name]), ...(id === undefined ? [] : [id]), tokens];
  const rest = style.dim(`· ${plainLine(about.join(" · "))}`);
  return `${style.dim(String(number).padStart(2))}  ${style.bold(role)} ${rest}`;
}

const indent = "    ";
/** Characters of arguments that stand on one line. */
const shortArguments = 100;

/** Every word of it: only what a terminal would act on is shown as something else. */
function bodyOf({ content, tool_calls: calls = [] }: PlainMessage, { width, style }: Options) {
  const room = Math.max(20, width - indent.length);
  const text = typeof content === "string" ? content : plainJson(content);
  const lines = text === "" ? [] : wrapText(plainText(text), room);
  const called = calls.flatMap(({ id, name, args }) => {
    const line = `→ ${name}${id === undefined ? "" : ` · ${id}`}`;
    const short = plainJson(args, 0);
    const isShort = short.length <= Math.min(room - 2, shortArguments);
    const given = wrapText(plainText(isShort ? short : plainJson(args)), room - 2);
    return [style.bold(plainText(line)), ...given.map((one) => `  ${one}`)];
  });
  return [...lines, ...called].map((line) => (line === "" ? line : indent + line));
}

function noteLines(context: ThreadContext, { width, style }: Options): string[] {
  const notes = contextNotes(context);
  if (notes.length === 0) return [];
  const lines = notes.flatMap((note) => wrapText(plainText(`· ${note}`), width));
  return ["", ...lines.map(style.dim)];
}

function figure(tokens: number): string {
  return tokens.toLocaleString("en");
}

/** `12.5 %`; nothing to compare with is no share. */
function share(part: number, whole: number): string {
  return whole <= 0 ? "–" : `${((100 * part) / whole).toFixed(1)} %`;
}

/** Notes on a context: its assumptions, what it leaves out, and the other requests of the step. */
function contextNotes(context: ThreadContext): readonly string[] {
  const { metadata, asksBefore, withoutRequest, fromStored, tense } = context;
  const requests = asksBefore === 1 ? "One request comes" : `${asksBefore} requests come`;
  return [
    ...metadata.notes,
    ...goalNotes(context),
    ...(withoutRequest
      ? [
          "The last turn has ended: this is the next one, without its message. Give MESSAGE to include one.",
        ]
      : []),
    ...(asksBefore > 0
      ? [
          `${requests} before the step's own, for its plan or a summary, and ${asksBefore === 1 ? "is" : "are"} not shown.${tense === "next" ? " The results are unknown, and omitted." : ""}`,
        ]
      : []),
    ...(fromStored
      ? [
          "Built from the definition stored with the thread: schema keys may be in another order and lack defaults. --agent FILE is exact.",
        ]
      : []),
  ];
}

/** Which request of the step this is, where that is not the only one. */
function goalNotes({ metadata: { goal }, goals, tense }: ThreadContext): readonly string[] {
  const own = goals.join(" and one for ");
  if (!goals.includes(goal)) {
    return [
      `The step makes no request for ${goal}, but one for ${own}: this context is hypothetical.`,
    ];
  }
  const other = goals.find((one) => one !== goal);
  if (other === undefined) return [];
  const shown = `--goal ${other} shows it.`;
  const isFirst = goals[0] === goal;
  if (tense === "next") {
    return isFirst
      ? [
          `If this request gives an answer, a request for ${other} rewrites it from the full results. ${shown}`,
        ]
      : [`The step makes this request only if its request for ${other} gives an answer. ${shown}`];
  }
  const both = isFirst
    ? `this one, and one for ${other} after it`
    : `one for ${other}, and this one after it`;
  return [
    `The step made two requests: ${both}, because its answer was rewritten from the full results. ${shown}`,
  ];
}
