import { createMemory } from "../../src/memory/create-memory.ts";
import type { MemoryEntry, MemoryType, NewMemoryEntry } from "../../src/memory/entry.ts";
import { createInMemoryMemory } from "../../src/memory/in-memory-store.ts";
import type { ConsolidateOptions, Memory } from "../../src/memory/memory.ts";
import { defaultTenant, type MemoryStore } from "../../src/memory/store.ts";
import type { Embeddings } from "../../src/models/embeddings/embeddings.ts";
import { ManualClock } from "./manual-clock.ts";

/** Where trials keep their entries. */
export const namespace = ["agents", "a"];

/** What a consolidation without candidates returns. */
export const nothing = {
  consolidated: 0,
  merged: 0,
  evicted: 0,
  archived: 0,
  left: 0,
  busy: 0,
} as const;

export const hour = 3_600_000;

/** A memory of a trial, with a clock of its own. */
export interface ConsolidationTrial {
  readonly memory: Memory;
  readonly store: MemoryStore;
  readonly clock: ManualClock;
  /** Adds short-term entries of thread `t`, a second apart; their ids. */
  readonly say: (...entries: (string | Partial<NewMemoryEntry>)[]) => Promise<readonly string[]>;
  /** Moves time on by 25 hours and consolidates thread `t`, where all entries are important. */
  readonly consolidate: (
    options?: Partial<ConsolidateOptions>,
  ) => ReturnType<Memory["consolidate"]>;
  readonly one: (id: string) => Promise<MemoryEntry | undefined>;
}

/** @param override methods that take the place of the store's */
export function newTrial(
  embeddings: Embeddings | null = null,
  override: (store: MemoryStore) => Partial<MemoryStore> = () => ({}),
): ConsolidationTrial {
  const clock = new ManualClock();
  let made = 0;
  const ids = () => `00000000-0000-7000-8000-${String((made += 1)).padStart(12, "0")}`;
  const inner = createInMemoryMemory({ clock, ids }).forTenant(defaultTenant);
  const store = withMethods(inner, override(inner));
  const memory = createMemory({ store, embeddings, clock });
  return {
    memory,
    store,
    clock,
    async say(...entries) {
      const added: string[] = [];
      for (const entry of entries) {
        const given = typeof entry === "string" ? { content: entry } : entry;
        const [one] = await memory.add([
          { namespace, thread_id: "t", memory_type: "short_term", content: "", ...given },
        ]);
        added.push(one?.id ?? "");
        clock.advance(1_000);
      }
      return added;
    },
    consolidate(options) {
      clock.advance(25 * hour);
      return memory.consolidate({ namespace, threadId: "t", importanceThreshold: 0, ...options });
    },
    one: async (id) => (await store.get([id]))[0],
  };
}

function withMethods(store: MemoryStore, methods: Partial<MemoryStore>): MemoryStore {
  return new Proxy(store, {
    get(target, name) {
      const own: unknown = Reflect.get(methods, name);
      const method: unknown = own ?? Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
}

/** The contents of all entries of a type, in order of the alphabet. */
export async function contentsOf(store: MemoryStore, type: MemoryType): Promise<readonly string[]> {
  const entries = await store.list({ types: [type] });
  return entries.map(({ content }) => content).toSorted();
}
