import { systemClock } from "../../clock.ts";
import type { MemoryHit } from "../../memory/memory.ts";
import type { MemoryFilter, MemoryPage } from "../../memory/store.ts";
import { type CliIo } from "../io.ts";
import { commandLine, programName } from "../command-line.ts";
import { pageOf, type PageOptions } from "../options.ts";
import { printJson, printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { hasDatabase } from "../threads/open.ts";
import { count } from "../view/figures.ts";
import { hitLines, memoryLines, memoryTable, namespaceText } from "../view/memory-lines.ts";
import { tableLines } from "../view/table.ts";
import { plainLine } from "../view/terminal.ts";
import { outputLayout } from "../view/values.ts";
import {
  conditionsOf,
  findEntries,
  type MemoryFilterOptions,
  type MemoryScopeOptions,
  prefixesOf,
  prefixOf,
  readScope,
  scopeText,
  withMemory,
} from "./open.ts";

export interface MemoryListOptions extends MemoryFilterOptions, PageOptions {
  readonly order?: NonNullable<MemoryPage["order"]>;
  readonly archived?: boolean;
}

const pageDefault = 50;

/** `stratagraph memory list`: the entries of a scope, newest first. */
export async function memoryListCommand(given: MemoryListOptions, io: CliIo): Promise<number> {
  const scope = await readScope(given, io);
  const { limit = pageDefault, cursor } = pageOf(given);
  const page = {
    limit,
    ...(cursor !== undefined && { after: cursor }),
    ...(given.order !== undefined && { order: given.order }),
  };
  const { entries, total } = hasDatabase(io)
    ? await withMemory(scope, io, async ({ store }) => {
        const { archived = false } = given;
        const namespace = await prefixOf(scope, { store }, { archived });
        const filter: MemoryFilter = { ...conditionsOf(given), namespace };
        if (archived) return { entries: await store.archived(filter, page), total: null };
        return { entries: await store.list(filter, page), total: await store.count(filter) };
      })
    : { entries: [], total: 0 };
  const last = entries.length === limit ? (entries.at(-1)?.id ?? null) : null;
  const next = total !== null && cursor === undefined && total <= limit ? null : last;
  if (given.json) {
    printJson({ memories: entries, total, next }, io);
    return exitCodes.done;
  }
  const view = outputLayout(io);
  if (entries.length === 0) {
    const none = given.archived ? "No archived memories" : "No memories";
    const lines = [
      plainLine(`${cursor === undefined ? none : "No more memories"} ${scopeText(scope)}.`),
    ];
    const begin = `  ${programName(io.env)} memory add --agent NAME "…"`;
    const isNew = total === 0 && !hasDatabase(io);
    printLines([...lines, ...(isNew ? ["To add one:", begin] : [])], io);
    return exitCodes.done;
  }
  const of = total === null ? "" : ` of ${total.toLocaleString("en")}`;
  const shown = `${entries.length.toLocaleString("en")}${of} ${scopeText(scope)}`;
  const more = next === null ? [] : [`Continue with --cursor ${next}`];
  printLines(
    [
      ...memoryTable(entries, { ...view, now: systemClock.now() }),
      "",
      ...[plainLine(shown), ...more].map(view.style.dim),
    ],
    io,
  );
  return exitCodes.done;
}

export interface MemorySearchOptions extends MemoryFilterOptions {
  readonly limit?: number;
  readonly minScore?: number;
  readonly why?: boolean;
  readonly json?: boolean;
}

const hitsDefault = 10;

/** `stratagraph memory search`: the entries that fit a query, best first. Counts as no access. */
export async function memorySearchCommand(
  given: MemorySearchOptions & { readonly query: string },
  io: CliIo,
): Promise<number> {
  const { query: text, limit: topK = hitsDefault, minScore } = given;
  const scope = await readScope(given, io);
  const { hits, model } = hasDatabase(io)
    ? await withMemory(scope, io, async (memory, signal) => {
        const namespace = await prefixOf(scope, memory);
        // A search has a namespace; scores are comparable between searches.
        const prefixes = namespace.length > 0 ? [namespace] : await prefixesOf(scope, memory);
        const found: MemoryHit[] = [];
        for (const prefix of prefixes) {
          const query = { ...conditionsOf(given), text, namespace: prefix, topK, signal };
          const least = minScore === undefined ? {} : { minScore };
          found.push(...(await memory.search({ ...query, ...least })));
        }
        const best = found.toSorted((a, b) => b.score - a.score).slice(0, topK);
        return { hits: best, model: memory.embeddingModel };
      })
    : { hits: [], model: null };
  if (given.json) {
    printJson({ query: text, embedding_model: model, hits }, io);
    return exitCodes.done;
  }
  const view = outputLayout(io);
  const isByMeaning = model !== null && hits.some(({ why }) => why.meaning !== null);
  const how = isByMeaning ? `by words and by ${model}` : "by words alone";
  const lines =
    hits.length === 0
      ? [plainLine(`Nothing is remembered on that ${scopeText(scope)}.`)]
      : [
          ...hitLines(hits, { ...view, now: systemClock.now(), why: given.why === true }),
          "",
          view.style.dim(plainLine(`${count(hits.length, "hit")}, ${how}`)),
        ];
  printLines(lines, io);
  return exitCodes.done;
}

/**
 * `stratagraph memory show`: all of an entry.
 * @throws UnknownMemoryError, AmbiguousMemoryError
 */
export async function memoryShowCommand(
  given: { readonly id: string; readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  const scope = await readScope({}, io);
  const [entry] = hasDatabase(io)
    ? await withMemory(scope, io, (memory) => findEntries([given.id], memory))
    : await findEntries([given.id], emptyMemory);
  if (entry === undefined) throw new TypeError("an entry was found, and none is there");
  if (given.json) printJson(entry, io);
  else printLines(memoryLines(entry, outputLayout(io)), io);
  return exitCodes.done;
}

/** Where there is no database. */
const emptyMemory = { store: { get: async () => [], list: async () => [] } };

/** `stratagraph memory namespaces`: who remembers how much. */
export async function memoryNamespacesCommand(
  given: MemoryScopeOptions & { readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  const scope = await readScope(given, io);
  const found = hasDatabase(io)
    ? await withMemory(scope, io, async ({ store }) => {
        const all = await store.namespaces(await prefixOf(scope, { store }));
        const counted: { namespace: readonly string[]; entries: number }[] = [];
        for (const one of all) {
          const entries = await store.count({ namespace: one, exact: true });
          counted.push({ namespace: one, entries });
        }
        return counted;
      })
    : [];
  if (given.json) {
    printJson({ namespaces: found }, io);
    return exitCodes.done;
  }
  if (found.length === 0) {
    printLines([plainLine(`No memories ${scopeText(scope)}.`)], io);
    return exitCodes.done;
  }
  const rows = found.map(({ namespace, entries }) => [
    { text: entries.toLocaleString("en") },
    { text: plainLine(namespaceText(namespace)) },
  ]);
  const columns = [{ title: "entries", align: "right" }, { title: "namespace" }] as const;
  const look = commandLine(["memory", "list", "--namespace"], io);
  const view = outputLayout(io);
  printLines(
    [...tableLines(columns, rows, view), "", view.style.dim(`To list one: ${look} NAMESPACE`)],
    io,
  );
  return exitCodes.done;
}
