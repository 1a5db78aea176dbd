import { createMemory } from "../../src/memory/create-memory.ts";
import type { MemoryEntry, NewMemoryEntry } from "../../src/memory/entry.ts";
import { createInMemoryMemory } from "../../src/memory/in-memory-store.ts";
import type { Memory, MemoryHit, MemoryQuery } from "../../src/memory/memory.ts";
import { agentNamespace } from "../../src/memory/namespace.ts";
import { defaultTenant } from "../../src/memory/store.ts";
import type { AgentEvent } from "../../src/state/events.ts";
import { ManualClock } from "./manual-clock.ts";
import { testRuntime, type TestRun } from "./run-agent.ts";
import type { ScriptedReply } from "./scripted-model.ts";

export interface MemoryRun extends TestRun {
  readonly memory: Memory;
  /** Stores entries of an agent; returns their ids. Times: one day apart, the last one a day before now. */
  remember(
    contents: readonly (string | Partial<NewMemoryEntry>)[],
    of?: { readonly agent?: string; readonly user?: string },
  ): Promise<readonly string[]>;
  /** The memory section of a call; undefined without one. */
  memorySection(call: number): string | undefined;
  /** What the last turn began with. */
  remembered(): Extract<AgentEvent, { type: "memory" }>["memories"] | undefined;
}

const day = 86_400_000;

/** A search whose score is the share of the query's words that an entry has: tests do not depend on the ranking. */
async function wordSearch(
  { list }: Pick<Memory, "list">,
  {
    text,
    topK = 5,
    minScore = 0,
    except,
    weights: _weights,
    signal: _signal,
    ...filter
  }: MemoryQuery,
): Promise<readonly MemoryHit[]> {
  const wordsOf = (of: string) => new Set(of.toLowerCase().match(/\p{L}+|\p{N}+/gu));
  const words = [...wordsOf(text)];
  const isExcepted = ({ thread_id: thread, memory_type: type }: MemoryEntry) =>
    except !== undefined && thread === except.threadId && except.types.includes(type);
  const hits = (await list(filter, { limit: 1_000 }))
    .filter((entry) => !isExcepted(entry))
    .map((entry): MemoryHit => {
      const own = wordsOf(entry.content);
      const terms = words.filter((word) => own.has(word));
      const score = terms.length / Math.max(1, words.length);
      const none = { neighbours: 0, session: 0, importance: 0, recency: 0, entities: [] };
      return { entry, score, why: { keyword: score, meaning: null, ...none, terms } };
    });
  return hits
    .filter(({ score }) => score > 0 && score >= minScore)
    .toSorted((a, b) => b.score - a.score || (a.entry.id < b.entry.id ? -1 : 1))
    .slice(0, topK);
}

/** {@link testRuntime} with memories in this process. `change` wraps them, to fail or to wait. */
export async function runWithMemory(
  script: readonly ScriptedReply[],
  options: Parameters<typeof testRuntime>[1] & {
    readonly change?: (memory: Memory) => Partial<Memory>;
  } = {},
): Promise<MemoryRun> {
  const { change, ...others } = options;
  const clock = new ManualClock("2026-11-23T12:00:00.000Z");
  const run = await testRuntime(script, { clock, ...others });
  let made = 0;
  const ids = () => `0198c000-0000-7000-8000-${String((made += 1)).padStart(12, "0")}`;
  const store = createInMemoryMemory({ clock, ids }).forTenant(defaultTenant);
  const ranked = createMemory({ store, embeddings: null, clock });
  const memory: Memory = { ...ranked, search: (query) => wordSearch(ranked, query) };
  const used: Memory = { ...memory, ...change?.(memory) };
  Object.assign(run.runtime, { memory: async () => used });
  return {
    ...run,
    clock,
    memory,
    async remember(contents, { agent = "helper", user } = {}) {
      const namespace = agentNamespace(agent, user);
      const added = await memory.add(
        contents.map((given, at) => {
          const entry = typeof given === "string" ? { content: given } : given;
          const created = clock.now().getTime() - (contents.length - at) * day;
          return { content: "", namespace, created_at: new Date(created).toISOString(), ...entry };
        }),
      );
      return added.map(({ id }) => id);
    },
    memorySection: (call) =>
      run.model.requests[call]?.messages
        .map(({ text }) => text)
        .find((text) => text.startsWith("[Memories]")),
    remembered: () => run.events.findLast((event) => event.type === "memory")?.memories,
  };
}
