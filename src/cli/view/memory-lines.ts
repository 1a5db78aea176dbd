import type { MemoryEntry, MemoryType } from "../../memory/entry.ts";
import type { MemoryHit, MemoryReasons } from "../../memory/memory.ts";
import { count, minuteOf, timeAgo } from "./figures.ts";
import { type Column, tableLines } from "./table.ts";
import { plainLine, plainText, type Style, wrapText } from "./terminal.ts";
import { headOf } from "../../values/text.ts";
import { namedValueLines } from "./values.ts";

interface MemoryLayout {
  readonly width: number;
  readonly style: Style;
}

/** Names of types in tables. */
const typeNames: Readonly<Record<MemoryType, string>> = {
  short_term: "short-term",
  episodic: "episodic",
  semantic: "semantic",
  procedural: "procedural",
};

/** Characters of a text that are read for one line. */
const readCharacters = 2_000;
/** Columns of text where no terminal limits the line. */
const unboundedText = 100;

function textOf({ content }: Pick<MemoryEntry, "content">): string {
  return plainLine(headOf(content, readCharacters));
}

/**
 * Cuts ids to the least length at which they can be told apart, from their ends, as memory sections of contexts do: the
 * beginnings of ids are times, and often the same.
 */
function shortMemoryIds(ids: readonly string[]): (id: string) => string {
  const unique = new Set(ids);
  const length = [8, 12].find(
    (end) => new Set([...unique].map((one) => one.slice(-end))).size === unique.size,
  );
  return (one) => (length === undefined ? one : one.slice(-length));
}

const id: Column = { title: "id" };
const type: Column = { title: "type", optional: 3 };
const age: Column = { title: "age", align: "right", optional: 2 };

/** One line an entry. */
export function memoryTable(
  entries: readonly MemoryEntry[],
  { now, ...layout }: MemoryLayout & { readonly now: Date },
): string[] {
  const short = shortMemoryIds(entries.map((entry) => entry.id));
  const namespaces = new Set(entries.map(({ namespace }) => namespaceText(namespace)));
  const isOne = namespaces.size < 2;
  const columns: readonly Column[] = [
    id,
    type,
    age,
    { title: "imp.", align: "right", optional: 4 },
    { title: "used", align: "right", optional: 5 },
    ...(isOne ? [] : [{ title: "namespace", least: 12, optional: 6 }]),
    textColumn(layout),
  ];
  const rows = entries.map((entry) => [
    { text: short(entry.id), paint: layout.style.bold },
    { text: typeNames[entry.memory_type] },
    { text: timeAgo(entry.created_at, now), paint: layout.style.dim },
    { text: entry.importance.toFixed(2) },
    { text: entry.access_count.toLocaleString("en") },
    ...(isOne ? [] : [{ text: plainLine(namespaceText(entry.namespace)) }]),
    { text: textOf(entry) },
  ]);
  return tableLines(columns, rows, layout);
}

/** One line a hit, best first; with `why`, a line of reasons below each. */
export function hitLines(
  hits: readonly MemoryHit[],
  { now, why, ...layout }: MemoryLayout & { readonly now: Date; readonly why: boolean },
): string[] {
  const short = shortMemoryIds(hits.map(({ entry }) => entry.id));
  const columns: readonly Column[] = [
    { title: "score", align: "right" },
    id,
    type,
    age,
    textColumn(layout),
  ];
  const rows = hits.map(({ entry, score }) => [
    { text: score.toFixed(2), paint: layout.style.bold },
    { text: short(entry.id) },
    { text: typeNames[entry.memory_type] },
    { text: timeAgo(entry.created_at, now), paint: layout.style.dim },
    { text: textOf(entry) },
  ]);
  const [heading = "", ...lines] = tableLines(columns, rows, layout);
  return [
    heading,
    ...lines.flatMap((line, index) => {
      const hit = hits[index];
      if (!why || hit === undefined) return [line];
      const reasons = wrapText(`       ${reasonsText(hit.why)}`, layout.width);
      return [line, ...reasons.map(layout.style.dim)];
    }),
  ];
}

/** The parts of a score, and the words and names that were matched. */
function reasonsText(why: MemoryReasons): string {
  const parts = [
    ["keyword", why.keyword],
    ["meaning", why.meaning],
    ["neighbours", why.neighbours],
    ["session", why.session],
    ["importance", why.importance],
    ["recency", why.recency],
  ] as const;
  const figures = parts.flatMap(([name, value]) =>
    value === null ? [] : [`${name} ${value.toFixed(2)}`],
  );
  const matched = [
    ["words", why.terms],
    ["names", why.entities],
  ] as const;
  const words = matched.flatMap(([name, found]) =>
    found.length === 0 ? [] : [`${name}: ${plainLine(headOf(found.join(", "), readCharacters))}`],
  );
  return [...figures, ...words].join(" · ");
}

function textColumn({ width }: MemoryLayout): Column {
  // Without a terminal a line is bounded by the table itself.
  return { title: "text", least: Number.isFinite(width) ? 16 : unboundedText };
}

/** All of one entry. */
export function memoryLines(entry: MemoryEntry, layout: MemoryLayout): string[] {
  const { metadata } = entry;
  const time = (at: string | null) => (at === null ? "never" : minuteOf(at));
  const values: readonly (readonly [string, string])[] = [
    ["type", typeNames[entry.memory_type]],
    ["namespace", namespaceText(entry.namespace)],
    ...(entry.key === entry.id ? [] : [["key", entry.key] as const]),
    ["thread", entry.thread_id ?? "none"],
    ["turn", metadata.turn_id ?? "none"],
    ["source", metadata.source],
    ...(metadata.speaker === undefined ? [] : [["speaker", metadata.speaker] as const]),
    ...listed("tags", metadata.tags),
    ...listed("entities", metadata.entities),
    ["importance", entry.importance.toFixed(2)],
    ["used", usedText(entry)],
    ["created", time(entry.created_at)],
    ...(entry.updated_at === entry.created_at
      ? []
      : [["updated", time(entry.updated_at)] as const]),
    ["expires", time(entry.expires_at)],
    ["vector", entry.embedding_model ?? "none: found by its words"],
    ...listed("merged", metadata.merged ?? []),
    ...(metadata.data === undefined ? [] : [["data", JSON.stringify(metadata.data)] as const]),
    ...(entry.value === null ? [] : [["value", JSON.stringify(entry.value)] as const]),
  ];
  const width = Math.min(layout.width, 160) - 2;
  return [
    `Memory ${layout.style.bold(entry.id)}`,
    "",
    ...wrapText(plainText(entry.content), width).map((line) => `  ${line}`),
    "",
    ...namedValueLines(values, { ...layout, full: true }),
  ];
}

function listed(name: string, values: readonly string[]): readonly (readonly [string, string])[] {
  return values.length === 0 ? [] : [[name, values.join(", ")]];
}

function usedText({
  access_count: uses,
  last_accessed: at,
  last_score: score,
}: MemoryEntry): string {
  if (uses === 0) return "never";
  const last = at === null ? "" : `, last ${minuteOf(at)}`;
  return `${count(uses, "time")}${last}${score === null ? "" : `, score ${score.toFixed(2)}`}`;
}

/** `agents/support/users/ada`; as JSON where a label would be read as several. */
export function namespaceText(namespace: readonly string[]): string {
  const isPlain = namespace.every((label) => !label.includes("/"));
  return isPlain && namespace[0]?.startsWith("[") !== true
    ? namespace.join("/")
    : JSON.stringify(namespace);
}
