import type { CheckpointTrigger, CheckpointView } from "../../runtime/threads/threads.ts";
import { byteSize, count } from "./figures.ts";
import { treeLines } from "./history-tree.ts";
import { plainLine } from "./plain-text.ts";
import { shortIds } from "./short-id.ts";
import { paintOfStatus } from "./status.ts";
import type { Style } from "./style.ts";
import { tableLines, type Cell, type Column } from "./table.ts";
import { dayOf, secondOf } from "./times.ts";

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
  { title: "made by", optional: 2 },
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
  manual: "by hand",
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

/** What is worth knowing of a checkpoint beside the rest: who waits, what failed, from where it branches off. */
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
