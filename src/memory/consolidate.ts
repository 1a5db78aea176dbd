import type { Clock } from "../clock.ts";
import type { Embeddings } from "../models/embeddings/embeddings.ts";
import {
  consolidateThread,
  shortTermPages,
  type ThreadCounts,
} from "./consolidation/consolidate-thread.ts";
import { hasCandidates, memoryTokens } from "./consolidation/plan.ts";
import { consolidationRules } from "./consolidation/rules.ts";
import { MemoryBusyError } from "./errors.ts";
import type { ConsolidateOptions, ConsolidationResult, Memory } from "./memory.ts";
import type { MemoryStore } from "./store.ts";

/** What a consolidation works with. */
export interface ConsolidationServices {
  readonly store: MemoryStore;
  /** Null: entries are compared by their words. */
  readonly embeddings: Embeddings | null;
  readonly clock: Clock;
  /** Finds long-term entries that are near-duplicates where there are no embeddings. */
  readonly search: Memory["search"];
}

/** Short-term entries of one namespace and thread. */
interface ShortTermThread {
  readonly namespace: readonly string[];
  readonly threadId: string | null;
  /** `created_at` of the oldest. */
  readonly oldest: string;
  tokens: number;
}

/**
 * Moves short-term entries to long-term memory, merges those that it has already, and evicts the rest: spec section
 * "Consolidation". Threads are consolidated one after another, each namespace under the prefix by itself, those with the
 * oldest entries first, until `maxEntries` candidates are done. A thread is changed in batches. Each is one transaction,
 * so what a failed or aborted call has done stays done, and another call continues.
 *
 * @throws InvalidMemoryError
 * @throws MemoryBusyError if `threadId` is given and another consolidation of it is running
 */
export async function consolidateMemory(
  options: ConsolidateOptions,
  services: ConsolidationServices,
): Promise<ConsolidationResult> {
  const rules = consolidationRules(options);
  const { store, clock } = services;
  const { namespace, threadId, signal } = options;
  const total = { consolidated: 0, merged: 0, evicted: 0, archived: 0, left: 0, busy: 0 };
  let room = rules.maxEntries;
  for (const thread of await threadsIn(store, { namespace, threadId }, signal)) {
    if (room <= 0) break;
    if (!hasCandidates(thread, rules, clock.now())) continue;
    const done = await unlessBusy(
      () =>
        store.consolidating({ namespace: thread.namespace, threadId: thread.threadId }, (apply) =>
          consolidateThread(thread, {
            ...services,
            options,
            rules: { ...rules, maxEntries: room },
            apply,
          }),
        ),
      threadId === undefined,
    );
    if (done === null) {
      total.busy += 1;
      continue;
    }
    room -= done.candidates;
    for (const kind of countedKinds) total[kind] += done[kind];
  }
  return total;
}

const countedKinds = ["consolidated", "merged", "evicted", "archived", "left"] as const;

/** Null where a thread is busy and may be skipped. */
async function unlessBusy(
  run: () => Promise<ThreadCounts>,
  maySkip: boolean,
): Promise<ThreadCounts | null> {
  try {
    return await run();
  } catch (error) {
    if (maySkip && error instanceof MemoryBusyError) return null;
    throw error;
  }
}

/** Threads with short-term entries, those with the oldest entries first. Holds figures alone, no texts. */
async function threadsIn(
  store: MemoryStore,
  at: { readonly namespace: readonly string[]; readonly threadId: string | undefined },
  signal: AbortSignal | undefined,
): Promise<Iterable<ShortTermThread>> {
  const threads = new Map<string, ShortTermThread>();
  for await (const page of shortTermPages(store, at, signal)) {
    for (const { namespace, thread_id: threadId, created_at: oldest, content } of page) {
      const key = JSON.stringify([namespace, threadId]);
      const known = threads.get(key);
      const tokens = memoryTokens(content);
      if (known) known.tokens += tokens;
      else threads.set(key, { namespace, threadId, oldest, tokens });
    }
  }
  return threads.values();
}
