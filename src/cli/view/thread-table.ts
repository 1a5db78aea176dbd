import type { ThreadSummary } from "../../runtime/threads/archive.ts";
import { byteSize } from "./figures.ts";
import { plainLine } from "./plain-text.ts";
import { paintOfStatus } from "./status.ts";
import type { Style } from "./style.ts";
import { tableLines, type Column } from "./table.ts";
import { minuteOf, timeAgo } from "./times.ts";

const columns: readonly Column[] = [
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
  return tableLines(columns, rows, options);
}
