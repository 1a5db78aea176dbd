import type { Clock } from "../../src/clock.ts";
import { systemIds } from "../../src/clock.ts";
import { createMemory } from "../../src/memory/create-memory.ts";
import { createInMemoryMemory } from "../../src/memory/in-memory-store.ts";
import { memoryTokens } from "../../src/memory/consolidation/plan.ts";
import type { ConsolidateOptions, Memory } from "../../src/memory/memory.ts";
import { defaultTenant } from "../../src/memory/store.ts";
import { sessionsOf } from "./sessions.ts";

export interface RunSessionsOptions {
  readonly sessions: number;
  readonly seed: number;
  /** Null: nothing is consolidated. */
  readonly consolidation: Omit<ConsolidateOptions, "namespace"> | null;
  /** Whether facts are written as semantic entries as well, as a writer that extracts them does. */
  readonly extractsFacts: boolean;
  /** Sessions of a report. */
  readonly every: number;
}

/** What is there after some sessions, and how the questions of the last ones were answered. */
export interface SessionsReport {
  readonly sessions: number;
  readonly shortTerm: number;
  readonly longTerm: number;
  readonly archived: number;
  /** Taken in by other entries. */
  readonly merged: number;
  /** Of short-term and long-term entries together. */
  readonly tokens: number;
  /** Shares of questions with an entry that answers them among the first five; null without questions. */
  readonly recall: number | null;
  readonly recallOfRepeated: number | null;
  readonly msPerSearch: number;
}

/** Hours from one session to the next. */
const betweenSessions = 8;

const namespace = ["agents", "simulation"];

/** Runs sessions one after another on one memory. A search counts the uses of what it finds, as a turn does. */
export async function* runSessions(options: RunSessionsOptions): AsyncGenerator<SessionsReport> {
  const clock = steppedClock("2026-01-01T08:00:00.000Z");
  const store = createInMemoryMemory({ clock, ids: systemIds }).forTenant(defaultTenant);
  const memory = createMemory({ store, embeddings: null, clock });
  const { consolidation, extractsFacts } = options;
  let answers: { readonly isFound: boolean; readonly isRepeated: boolean; readonly ms: number }[] =
    [];
  let session = 0;
  for (const { lines, questions } of sessionsOf(options.sessions, options.seed)) {
    session += 1;
    const thread = `session-${session}`;
    for (const { text, answer, isRepeated } of questions) {
      const before = performance.now();
      const hits = await memory.search({ namespace, text, topK: 5 });
      const ms = performance.now() - before;
      const isFound = hits.some(({ entry }) =>
        answer.every((part) => entry.content.includes(part)),
      );
      answers.push({ isFound, isRepeated, ms });
      await memory.recordUses(
        hits.map(({ entry, score }) => ({
          id: entry.id,
          run: `${thread}-${text}`,
          threadId: thread,
          score,
        })),
      );
    }
    for (const { source, content, isFact } of lines) {
      const entry = { namespace, thread_id: thread, content, metadata: { source } };
      await memory.add([
        { ...entry, memory_type: "short_term" },
        ...(extractsFacts && isFact ? [{ ...entry, memory_type: "semantic" as const }] : []),
      ]);
      clock.step(60_000);
    }
    clock.step(betweenSessions * 3_600_000);
    if (consolidation !== null) await memory.consolidate({ namespace, ...consolidation });
    if (session % options.every === 0) {
      yield { sessions: session, ...(await sizeOf(memory)), ...figuresOf(answers) };
      answers = [];
    }
  }
}

async function sizeOf({ store }: Memory) {
  const size = { shortTerm: 0, longTerm: 0, archived: 0, merged: 0, tokens: 0 };
  for (let after: string | undefined; ;) {
    const page = await store.list({ namespace }, { limit: 1_000, after });
    for (const { memory_type: type, content, metadata } of page) {
      size[type === "short_term" ? "shortTerm" : "longTerm"] += 1;
      size.merged += metadata.merged?.length ?? 0;
      size.tokens += memoryTokens(content);
    }
    after = page.at(-1)?.id;
    if (page.length < 1_000) break;
  }
  for (let after: string | undefined; ;) {
    const page = await store.archived({ namespace }, { limit: 1_000, after });
    size.archived += page.length;
    after = page.at(-1)?.id;
    if (page.length < 1_000) return size;
  }
}

function figuresOf(
  answers: readonly {
    readonly isFound: boolean;
    readonly isRepeated: boolean;
    readonly ms: number;
  }[],
) {
  const share = (of: readonly { readonly isFound: boolean }[]) =>
    of.length === 0 ? null : of.filter(({ isFound }) => isFound).length / of.length;
  return {
    recall: share(answers),
    recallOfRepeated: share(answers.filter(({ isRepeated }) => isRepeated)),
    msPerSearch: answers.reduce((sum, { ms }) => sum + ms, 0) / Math.max(1, answers.length),
  };
}

function steppedClock(start: string): Clock & { step(ms: number): void } {
  let now = Date.parse(start);
  return {
    now: () => new Date(now),
    monotonic: () => now,
    after: () => () => {},
    step: (ms) => {
      now += ms;
    },
  };
}
