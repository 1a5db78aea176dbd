import type { Clock } from "../../clock.ts";
import type { Embeddings } from "../../models/embeddings/embeddings.ts";
import { headOf } from "../../values/text.ts";
import { memoryLimits, type MemoryEntry, type MemoryVector } from "../entry.ts";
import type { ConsolidateOptions } from "../memory.ts";
import type { ConsolidationChange, MemoryStore } from "../store.ts";
import { isCovered, type ReadText, type ReadTexts } from "./near-duplicates.ts";
import { importanceOf, longTermType, memoryTokens } from "./plan.ts";
import type { ConsolidationRules } from "./rules.ts";
import { extractSummary } from "./shorten.ts";

/** An entry to decide on. */
export interface Candidate {
  readonly entry: MemoryEntry;
  /** From 0 to 1. */
  readonly relevance: number;
}

/** What a batch of candidates becomes. */
export interface PlannedChanges {
  /** In an order in which each can be applied: entries move before others merge into them. */
  readonly changes: readonly ConsolidationChange[];
  /** Candidates that stay as they are, since a model or the embeddings failed. */
  readonly left: number;
}

export interface PlanChangesOptions {
  readonly store: MemoryStore;
  readonly embeddings: Embeddings | null;
  readonly clock: Clock;
  readonly readTexts: ReadTexts;
  readonly rules: ConsolidationRules;
  readonly options: Pick<ConsolidateOptions, "summarise" | "signal">;
}

/** An entry that moves. */
interface Mover {
  readonly entry: MemoryEntry;
  readonly importance: number;
  readonly read: ReadText;
  /** Near-duplicates among the later entries of the batch. */
  readonly duplicates: MemoryEntry[];
}

type Move = Extract<ConsolidationChange, { readonly kind: "move" }>;

/** Failures of a service one after another, after which a consolidation stops asking it. */
const maxFailures = 3;

/** Ids in `metadata.merged` at most: an entry with as many takes in no more. */
const maxMerged = 1_000;

/**
 * Returns a function that decides on one batch after another, with calls of models and embeddings but no change to the
 * store. Of near-duplicates the first in order moves, and takes in the others.
 */
export function planChanges(
  given: PlanChangesOptions,
): (batch: readonly Candidate[]) => Promise<PlannedChanges> {
  const { store, clock, rules, options, readTexts } = given;
  const { signal } = options;
  /** Entries that moved as summaries: their vectors in the store are no longer those of their texts. */
  const summarised: Mover[] = [];
  const read = untilItFails(readTexts, signal);
  const summarise = untilItFails(async (content: string) => {
    const { summarise: shorten = async (text: string) => text } = options;
    const summary = storable(await shorten(content, signal));
    // A model may write more than it should.
    return extractSummary(summary, rules.maxEntryTokens) || null;
  }, signal);

  /** The long-term entry that takes in a candidate. */
  const targetOf = async (entry: MemoryEntry, text: ReadText): Promise<MemoryEntry | null> => {
    const earlier = summarised.find((mover) => text.isSameAs(mover.read));
    const [twin] = earlier ? await store.get([earlier.entry.id]) : [];
    if (twin && takesIn(twin, entry)) return twin;
    const similar = await text.findSimilar(signal);
    if (similar.length === 0) return null;
    const found = new Map((await store.get(similar)).map((one) => [one.id, one]));
    const target = similar
      .flatMap((id) => found.get(id) ?? [])
      .find((other) => takesIn(other, entry) && isCovered(text.text, other.content));
    return target ?? null;
  };

  return async (batch) => {
    const now = clock.now();
    const changes: ConsolidationChange[] = [];
    const high: { readonly entry: MemoryEntry; readonly importance: number }[] = [];
    for (const { entry, relevance } of batch) {
      const importance = importanceOf({ ...entry, relevance }, rules, now);
      if (importance >= rules.importanceThreshold) high.push({ entry, importance });
      else changes.push({ kind: "evict", ...at(entry), archive: rules.archiveEvicted });
    }
    const texts = high.length === 0 ? [] : await read(high.map(({ entry }) => entry.content));
    const movers: Mover[] = [];
    let left = 0;
    for (const [index, { entry, importance }] of high.entries()) {
      const text = texts?.[index];
      if (!text) {
        left += 1;
        continue;
      }
      const twin = movers.find(
        (mover) => text.isSameAs(mover.read) && lastsAsLong(mover.entry, entry),
      );
      if (twin) {
        twin.duplicates.push(entry);
        continue;
      }
      const into = await targetOf(entry, text);
      if (into === null) movers.push({ entry, importance, read: text, duplicates: [] });
      else
        changes.push({
          kind: "merge",
          ...at(entry),
          into: into.id,
          intoReadAt: into.updated_at,
        });
    }
    const moves = await planMoves(movers, { ...given, summarise, read });
    for (const mover of movers) {
      const move = moves.get(mover);
      if (move === undefined) {
        left += 1 + mover.duplicates.length;
        continue;
      }
      changes.push(move);
      if (move.summary !== undefined) summarised.push(mover);
      for (const entry of mover.duplicates) {
        changes.push({ kind: "merge", ...at(entry), into: mover.entry.id });
      }
    }
    return { changes, left };
  };
}

/** The moves of entries whose summary and vector could be made. */
async function planMoves(
  movers: readonly Mover[],
  {
    rules,
    embeddings,
    summarise,
    read,
  }: Pick<PlanChangesOptions, "rules" | "embeddings"> & {
    readonly summarise: (content: string) => Promise<string | null>;
    readonly read: (texts: readonly string[]) => Promise<readonly (ReadText | null)[] | null>;
  },
): Promise<ReadonlyMap<Mover, Move>> {
  const summaries = new Map<Mover, string | null>();
  for (const mover of movers) {
    const { content } = mover.entry;
    if (memoryTokens(content) <= rules.maxEntryTokens) continue;
    summaries.set(mover, await summarise(content));
  }
  const made = [...summaries].flatMap(([mover, summary]) => (summary ? [{ mover, summary }] : []));
  const texts = made.length === 0 ? [] : await read(made.map(({ summary }) => summary));
  const vectors = new Map(made.map(({ mover }, index) => [mover, texts?.[index] ?? null]));
  const moves = new Map<Mover, Move>();
  for (const mover of movers) {
    const { entry, importance } = mover;
    const move = { kind: "move", ...at(entry), to: longTermType, importance } as const;
    const summary = summaries.get(mover);
    const text = vectors.get(mover);
    if (summary === undefined) {
      const isEmbedded = embeddings === null || entry.embedding_model === embeddings.id;
      const embedding = vectorOf(mover.read, embeddings);
      moves.set(mover, isEmbedded ? move : { ...move, embedding });
    } else if (summary !== null && text) {
      moves.set(mover, { ...move, summary, embedding: vectorOf(text, embeddings) });
    }
  }
  return moves;
}

function vectorOf(read: ReadText, embeddings: Embeddings | null): MemoryVector | null {
  return embeddings && read.vector && { model: embeddings.id, vector: read.vector };
}

function at({ id, updated_at: readAt }: MemoryEntry): {
  readonly id: string;
  readonly readAt: string;
} {
  return { id, readAt };
}

/** Whether a near-duplicate can be dropped for a stored entry. */
function takesIn(entry: MemoryEntry, duplicate: MemoryEntry): boolean {
  return (
    entry.memory_type !== "short_term" &&
    (entry.metadata.merged?.length ?? 0) < maxMerged &&
    lastsAsLong(entry, duplicate)
  );
}

/** Whether an entry does not expire before another one. */
function lastsAsLong(
  { expires_at: end }: MemoryEntry,
  { expires_at: other }: MemoryEntry,
): boolean {
  return end === null || (other !== null && Date.parse(other) <= Date.parse(end));
}

/** Null where the call fails, and at once after it has failed several times in a row. */
function untilItFails<Input, Output>(
  call: (input: Input, signal?: AbortSignal) => Promise<Output>,
  signal: AbortSignal | undefined,
): (input: Input) => Promise<Output | null> {
  let failures = 0;
  return async (input) => {
    if (failures >= maxFailures) return null;
    try {
      const output = await call(input, signal);
      failures = 0;
      return output;
    } catch {
      signal?.throwIfAborted();
      failures += 1;
      return null;
    }
  };
}

/** The text as the store takes it: without NUL characters and lone surrogates, and cut where it is too long. */
function storable(text: string): string {
  return headOf(text.replaceAll(/\0|\p{Surrogate}/gu, ""), memoryLimits.content).trim();
}
