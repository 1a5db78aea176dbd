import type { MemoryEntry, NewMemoryEntry } from "../../src/memory/entry.ts";
import type { MemoryStore, MemoryUse } from "../../src/memory/store.ts";
import { angleEmbeddings, type AngleEmbeddings } from "./angle-embeddings.ts";
import { seededRandom } from "./random.ts";

/** Short-term entries of which a consolidation moves, merges, summarises and evicts some, and how often they were used. */
export interface RememberedThread {
  readonly namespace: readonly string[];
  readonly threadId: string;
  readonly entries: readonly (NewMemoryEntry & { readonly id: string })[];
  readonly uses: readonly MemoryUse[];
}

const topics = ["Tea", "Rain", "Oslo", "Trains", "Music"] as const;

/** Embeddings for which the second wording of a topic is a near-duplicate of the first. */
export function topicEmbeddings(): AngleEmbeddings {
  return angleEmbeddings(
    Object.fromEntries(
      topics.flatMap((topic) => [
        [`${topic} is liked.`, [topic, 1] as const],
        [`${topic}: it is liked.`, [topic, 0.97] as const],
      ]),
    ),
  );
}

/** `round` tells threads, and the ids of their entries, apart; the same round is the same thread. */
export function rememberedThread(round: number, count: number): RememberedThread {
  const random = seededRandom(`remembered thread ${round}`, 1);
  const namespace = ["agents", `round-${round}`];
  const threadId = `thread-${round}`;
  const hex = (number: number, digits: number) => number.toString(16).padStart(digits, "0");
  const entries = Array.from({ length: count }, (_, at) => {
    const topic = topics[random.int(0, topics.length)] ?? "Tea";
    const contents = [
      `${topic} is liked.`,
      `${topic}: it is liked.`,
      `${topic} came up. ${"We talked about it at length. ".repeat(20)}`,
      `${topic} was mentioned in line ${at}.`,
    ];
    return {
      id: `0190${hex(round, 4)}-0000-7000-8000-${hex(at, 12)}`,
      namespace,
      thread_id: threadId,
      memory_type: at < 2 ? ("semantic" as const) : ("short_term" as const),
      content: contents[at < 2 ? 0 : random.int(0, contents.length)] ?? "",
      created_at: new Date(Date.UTC(2026, 0, 1, 0, at)).toISOString(),
    };
  });
  const uses = entries.flatMap(({ id }) => {
    const score = random.int(0, 3) === 0 ? 0.1 : 0.9;
    return Array.from({ length: random.int(0, 4) }, (_, at) => ({
      id,
      run: `run-${round}-${at}`,
      threadId,
      score,
    }));
  });
  return { namespace, threadId, entries, uses };
}

/** What has happened to the entries of a thread that should not; empty if each is in one place, with its accesses. */
export async function lostOrDoubled(
  store: MemoryStore,
  { namespace, entries, uses }: RememberedThread,
): Promise<readonly string[]> {
  const stored = await store.list({ namespace }, { limit: 1_000 });
  const archived = await store.archived({ namespace }, { limit: 1_000 });
  const idsOf = ({ id, metadata }: MemoryEntry) => [id, ...(metadata.merged ?? [])];
  const places = [...stored.flatMap(idsOf), ...archived.flatMap(idsOf)];
  const accesses = (ids: readonly string[]) => uses.filter(({ id }) => ids.includes(id)).length;
  return [
    ...entries.flatMap(({ id }) => {
      const found = places.filter((one) => one === id).length;
      return found === 1 ? [] : [`${id} is in ${found} places`];
    }),
    ...[...stored, ...archived].flatMap((entry) => {
      const expected = accesses(idsOf(entry));
      const { id, access_count: found } = entry;
      return found === expected ? [] : [`${id} has ${found} accesses instead of ${expected}`];
    }),
  ];
}

/** The entries of a thread without ids and times: equal after equal consolidations. */
export async function outcomeOf(
  store: MemoryStore,
  { namespace }: RememberedThread,
): Promise<readonly string[]> {
  const stored = await store.list({ namespace }, { limit: 1_000 });
  const archived = await store.archived({ namespace }, { limit: 1_000 });
  const line = ({ content, memory_type, access_count, metadata }: MemoryEntry) =>
    `${memory_type} ${access_count} ${metadata.merged?.length ?? 0} ${content}`;
  return [...stored.map(line), ...archived.map((entry) => `archived ${line(entry)}`)].toSorted();
}
