import type { MemoryWritten, TurnMemories, TurnState } from "../../../state/turn.ts";
import { isRecord } from "../../../values/json.ts";
import { count } from "../figures.ts";
import { cutToWidth, plainLine, type Style } from "../terminal.ts";

type MemoryEvent =
  | { readonly type: "memory"; readonly memories: TurnMemories }
  | { readonly type: "memory_written"; readonly written: MemoryWritten };

/** Renders what a turn began with, or what it has left: how much, what was left out, and why it failed. */
export function memoryLines(event: MemoryEvent, room: number, style: Style): string[] {
  const isRead = event.type === "memory";
  const parts = isRead ? readParts(event.memories) : writtenParts(event.written);
  const error = isRead ? event.memories.error : event.written.errors?.join(", ");
  const line = cutToWidth(`memory  ${parts.join(" · ")}`, room);
  const problem = `the memory was not ${isRead ? "read" : "written"}: ${error}`;
  return [
    ...(parts.length > 0 ? [style.dim(line)] : []),
    ...(error === undefined
      ? []
      : [`${style.yellow("▲")} ${cutToWidth(plainLine(problem), room - 2)}`]),
  ];
}

/** Returns what the turn of a stored state began with and what it has left; null if neither is known. */
export function storedMemoryText(turn: Readonly<Record<string, unknown>>): string | null {
  const { memories, memory_written: written } = turn as Partial<TurnState>;
  const isRead = Array.isArray(memories?.items) && Array.isArray(memories?.dropped);
  const parts = [
    ...(memories !== undefined && isRead ? readParts(memories) : []),
    ...(isRecord(written) ? writtenParts(written) : []),
    ...(typeof memories?.error === "string" ? [`error: ${memories.error}`] : []),
    ...(Array.isArray(written?.errors) ? [`not written: ${written.errors.join(", ")}`] : []),
  ];
  return parts.length === 0 ? null : parts.join(" · ");
}

function readParts({ items, dropped }: TurnMemories): readonly string[] {
  const tokens = items.reduce((sum, item) => sum + item.tokens, 0);
  const blocked = dropped.filter(({ reason }) => reason.startsWith("guardrail:")).length;
  return [
    ...(items.length > 0 ? [entriesText(items.length), count(tokens, "token")] : []),
    ...(blocked > 0 ? [`${blocked} blocked`] : []),
    ...(dropped.length > blocked ? [`${dropped.length - blocked} over the budget`] : []),
  ];
}

const writtenTypes = [
  ["short_term", "short-term"],
  ["episodic", "episodic"],
  ["semantic", "semantic"],
  ["procedural", "procedural"],
] as const;

function writtenParts(written: MemoryWritten): readonly string[] {
  const consolidation: Readonly<Record<string, number>> = { ...written.consolidation };
  const kinds = writtenTypes.flatMap(([type, name]) =>
    written[type] > 0 ? [`${written[type]} ${name}`] : [],
  );
  const moved = Object.entries(consolidation).flatMap(([name, entries]) =>
    entries > 0 ? [`${name} ${entries}`] : [],
  );
  return [
    ...(kinds.length > 0 ? [`wrote ${kinds.join(", ")}`] : []),
    ...(moved.length > 0 ? [moved.join(", ")] : []),
  ];
}

function entriesText(entries: number): string {
  return `${entries} ${entries === 1 ? "entry" : "entries"}`;
}
