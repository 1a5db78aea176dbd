import type { ThreadSummary } from "../../../durable-saver.ts";
import type {
  CheckpointTrigger,
  CheckpointView,
  Recovery,
  SettledCall,
} from "../../../runtime/threads/threads.ts";
import type { Recovered } from "../../../state/step-record.ts";
import { byteSize, count, dayOf, minuteOf, secondOf, shortIds, timeAgo } from "../figures.ts";
import { paintOfStatus } from "../run/lines.ts";
import { type Cell, type Column, tableLines } from "../table.ts";
import { plainLine, type Style, wrapText } from "../terminal.ts";

/** A page of a thread's history. */
export interface HistoryPage {
  readonly items: readonly CheckpointView[];
  /** Null: there is nothing older. */
  readonly next: string | null;
}

const columns: readonly Column[] = [
  { title: "", least: 7 },
  { title: "checkpoint" },
  { title: "step", align: "right", optional: 4 },
  { title: "trigger", optional: 2 },
  { title: "node", least: 6 },
  { title: "status", least: 14 },
  { title: "size", align: "right", optional: 5 },
  { title: "time", optional: 3 },
  { title: "", least: 10, optional: 1 },
];

/** What a checkpoint was written for, in the words of the table. */
export const triggerNames: Readonly<Record<CheckpointTrigger, string>> = {
  input: "input",
  node: "node",
  tool_result: "tools",
  turn_complete: "turn end",
  manual: "manual",
};

/** One line a checkpoint, newest first, with the tree of branches before them where there are any. */
export function historyLines(
  page: HistoryPage,
  options: { readonly width: number; readonly style: Style },
): string[] {
  const { items } = page;
  const { style } = options;
  const parents = items.flatMap(({ parentId }) => (parentId === null ? [] : [parentId]));
  const short = shortIds([...items.map(({ id }) => id), ...parents]);
  const marks = marksOf(page, short, style);
  const tree = treeLines(items);
  const isTree = tree.some(({ gutter }) => gutter !== "");
  const days = new Set(items.map(({ createdAt }) => dayOf(createdAt)));
  const rows = items.flatMap((item, index) => {
    const { joins = [], gutter = "", rails = "" } = tree[index] ?? {};
    const day = dayOf(item.createdAt);
    const before = items[index - 1];
    const isNewDay = days.size > 1 && (before === undefined || dayOf(before.createdAt) !== day);
    const status = item.status ?? "–";
    return [
      ...(isNewDay ? [[{ text: rails }, { text: day, paint: style.dim }]] : []),
      ...joins.map((text) => [{ text }]),
      [
        { text: gutter },
        { text: short(item.id), paint: style.bold },
        { text: item.step === null ? "" : String(item.step) },
        { text: triggerNames[item.trigger] },
        // LangGraph's own start hands a new input to the first node.
        { text: plainLine(item.nodes.join(", ")) || (item.trigger === "node" ? "start" : "") },
        { text: plainLine(status), paint: paintOfStatus(item.status, style) },
        { text: byteSize(item.bytes) },
        { text: secondOf(item.createdAt), paint: style.dim },
        marks(item, index),
      ],
    ];
  });
  const skipped = isTree ? 0 : 1;
  const lines = tableLines(
    columns.slice(skipped),
    rows.map((row) => row.slice(skipped)),
    options,
  );
  const [day] = days;
  const title = days.size === 1 && day !== undefined ? [style.dim(`${day}, times in UTC`)] : [];
  return [...title, ...lines];
}

/** Notes on a checkpoint: pending requests, failures, the checkpoint from which it branches off. */
function marksOf(
  { items, next }: HistoryPage,
  short: (id: string) => string,
  style: Style,
): (item: CheckpointView, index: number) => Cell {
  const known = new Set(items.map(({ id }) => id));
  /** The first that was made from each checkpoint. */
  const eldest = new Map(items.map(({ id, parentId }) => [parentId, id]));
  return (item, index) => {
    const { id, parentId, nodeOutcomes } = item;
    const told = (outcome: string, many: number, noun: string) => {
      const nodes = Object.keys(nodeOutcomes).filter((node) => nodeOutcomes[node] === outcome);
      if (nodes.length > 0) return nodes.join(", ");
      return many === 0 ? "" : count(many, noun);
    };
    const waiting = told("interrupted", item.interrupts, "request");
    const failed = told("failure", item.failures, "failure");
    // The parent of the last line may just be on the next page.
    const isElsewhere = !known.has(parentId ?? id) && (next === null || index < items.length - 1);
    const branches = isElsewhere || eldest.get(parentId) !== id;
    const texts = [
      ...(failed === "" ? [] : [`✗ ${failed}`]),
      ...(waiting === "" ? [] : [`? ${waiting}`]),
      ...(parentId !== null && branches ? [`from ${short(parentId)}`] : []),
    ];
    const paint = failed === "" ? (waiting === "" ? style.dim : style.yellow) : style.red;
    return { text: plainLine(texts.join(" · ")), paint };
  };
}

/** A checkpoint as far as its place in the tree goes. */
export interface TreeItem {
  readonly id: string;
  readonly parentId: string | null;
}

export interface TreeLine {
  /** The branches that go past above it. */
  readonly rails: string;
  /** Lines that stand before the item's own: branches that come together in it. */
  readonly joins: readonly string[];
  /** `●` for the end of a branch, `○` for what lies before one. */
  readonly gutter: string;
}

/**
 * The tree of checkpoints as gutters of a list, one for each item. Items come newest first: children before their
 * parents. Empty gutters for a history without branches, which needs no drawing.
 */
export function treeLines(items: readonly TreeItem[]): readonly TreeLine[] {
  /** Which checkpoint each branch is drawn down to. */
  const lanes: (string | null)[] = [];
  const lines = items.map(({ id, parentId }) => {
    const mine = lanes.flatMap((wanted, lane) => (wanted === id ? [lane] : []));
    const rails = laneLine(lanes);
    const joins = mine.length > 1 ? [joinLine(lanes, mine)] : [];
    for (const lane of mine.slice(1)) lanes[lane] = null;
    const isTip = mine.length === 0;
    const lane = mine[0] ?? freeLane(lanes);
    lanes[lane] = id;
    const gutter = laneLine(lanes, lane, isTip ? "●" : "○");
    lanes[lane] = parentId;
    while (lanes.length > 0 && lanes.at(-1) === null) lanes.pop();
    return { rails, joins, gutter };
  });
  const isLinear = lines.every(({ gutter }) => gutter.length === 1);
  return isLinear ? lines.map(() => ({ rails: "", joins: [], gutter: "" })) : lines;
}

function freeLane(lanes: readonly (string | null)[]): number {
  const free = lanes.indexOf(null);
  return free < 0 ? lanes.length : free;
}

function laneLine(lanes: readonly (string | null)[], own = -1, mark = ""): string {
  return lanes
    .map((wanted, lane) => {
      if (lane === own) return mark;
      return wanted === null ? " " : "│";
    })
    .join(" ")
    .trimEnd();
}

/** `├─┴─╯`: the first of `mine` takes the others in, past the branches in between. */
function joinLine(lanes: readonly (string | null)[], mine: readonly number[]): string {
  const [first = 0] = mine;
  const last = mine.at(-1) ?? first;
  return lanes
    .map((wanted, lane) => {
      const between = lane > first && lane < last;
      const after = lane >= first && lane < last ? "─" : " ";
      if (lane === first) return `├${after}`;
      if (lane === last) return `╯${after}`;
      if (mine.includes(lane)) return `┴${after}`;
      if (wanted === null) return between ? `─${after}` : `  `;
      return between ? `┼${after}` : `│${after}`;
    })
    .join("")
    .trimEnd();
}

const threadColumns: readonly Column[] = [
  { title: "thread", least: 16 },
  { title: "agent", least: 9, optional: 1 },
  { title: "status", least: 9 },
  { title: "checkpoints", align: "right", optional: 2 },
  { title: "size", align: "right", optional: 3 },
  { title: "updated", align: "right" },
  { title: "", optional: 4 },
];

/** Threads as a table. */
export function threadTable(
  threads: readonly ThreadSummary[],
  options: { readonly width: number; readonly style: Style; readonly now: Date },
): string[] {
  const { style, now } = options;
  const rows = threads.map(({ threadId, agent, status, checkpoints, bytes, updatedAt }) => [
    { text: plainLine(threadId), paint: style.bold },
    { text: plainLine(agent ?? "–") },
    { text: plainLine(status ?? "–"), paint: paintOfStatus(status, style) },
    { text: checkpoints.toLocaleString("en") },
    { text: byteSize(bytes) },
    { text: timeAgo(updatedAt, now) },
    { text: minuteOf(updatedAt), paint: style.dim },
  ]);
  return tableLines(threadColumns, rows, options);
}

/** From where a thread was recovered, what was passed over, and what became of calls that had begun. */
export function recoveryLines(
  recovery: Recovery,
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const { from, skipped, settled, warnings, message } = recovery;
  const ran = recovery.reason === "resumed";
  const done = ran ? "Recovered from checkpoint" : "The last intact checkpoint is";
  const item = (mark: string, text: string, paint: (line: string) => string) =>
    wrapText(plainLine(text), Math.max(20, width - 4)).map((line, number) =>
      number === 0 ? `  ${paint(mark)} ${line}` : `    ${line}`,
    );
  return [
    ...wrapText(plainLine(`${done} ${from.checkpointId}.`), width).map(style.bold),
    ...wrapText(plainLine(message), width),
    ...skipped.flatMap(({ checkpointId, reason }) =>
      item("✗", `skipped ${checkpointId}: ${reason}`, style.red),
    ),
    ...settled.flatMap((call) => {
      const settlement = settlementOf(call, recovery);
      const isLost = settlement === "unknown" && call.state === "damaged";
      const { mark, text, colour } = isLost ? lostRecord : settlements[settlement];
      return item(mark, `${call.tool}: ${text}`, style[colour]);
    }),
    ...warnings.flatMap((warning) => item("!", warning, style.yellow)),
  ];
}

const settlements = {
  recorded: { mark: "✓", text: "not repeated, its recorded result was used", colour: "green" },
  repeated: { mark: "✓", text: "repeated, it is idempotent", colour: "green" },
  unknown: {
    mark: "?",
    text: "not repeated: it had started, and its outcome is unknown",
    colour: "yellow",
  },
} as const satisfies Record<Recovered, unknown>;

const lostRecord = {
  mark: "?",
  text: "not repeated: its record is damaged, and its outcome is unknown",
  colour: "yellow",
} as const;

/** What the step says that the call is part of; else what the journal knew. */
function settlementOf({ callId, state, idempotent }: SettledCall, { result }: Recovery): Recovered {
  const results = (result?.steps ?? []).flatMap(({ tool_results }) => tool_results);
  const told = results.findLast(({ id }) => id === callId)?.recovered;
  if (told !== undefined) return told;
  if (state === "finished") return "recorded";
  return idempotent ? "repeated" : "unknown";
}
