import { once } from "node:events";
import { writeSync } from "node:fs";
import { createMemory } from "../../../../src/memory/create-memory.ts";
import { MemoryBusyError } from "../../../../src/memory/errors.ts";
import type { Memory } from "../../../../src/memory/memory.ts";
import { defaultTenant, type MemoryStore } from "../../../../src/memory/store.ts";
import { openDatabase, type DatabaseOptions } from "../../../../src/storage/database.ts";
import { openDatabaseMemory } from "../../../../src/storage/memory/database-memory.ts";
import { ManualClock } from "../../../helpers/manual-clock.ts";
import {
  rememberedThread,
  type RememberedThread,
  topicEmbeddings,
} from "../../../helpers/remembered-thread.ts";

// Given the options of a database and a number of entries, prints "ready". Then, for each line of standard input, which is
// the number of a round: adds the entries of that round's thread unless they are there, prints "added", consolidates the
// thread, and prints "done". The first line opens the database.
const [options = "{}", count = "0"] = process.argv.slice(2);
writeSync(1, "ready\n");
let opened: { readonly memory: Memory; readonly store: MemoryStore } | undefined;
for (;;) {
  const [line] = (await once(process.stdin, "data")) as [Buffer];
  const { memory, store } = (opened ??= await open());
  const thread = rememberedThread(Number(line.toString()), Number(count));
  const [first] = await store.add(thread.entries.slice(0, 1));
  if (first?.isNew) {
    await memory.add(thread.entries.slice(1));
    await memory.recordUses(thread.uses);
  }
  writeSync(1, "added\n");
  await consolidate(memory, thread);
  writeSync(1, "done\n");
}

async function open(): Promise<{ readonly memory: Memory; readonly store: MemoryStore }> {
  const memories = openDatabaseMemory(await openDatabase(JSON.parse(options) as DatabaseOptions));
  const store = memories.forTenant(defaultTenant);
  const clock = new ManualClock("2026-01-03T00:00:00.000Z");
  return { store, memory: createMemory({ store, embeddings: topicEmbeddings(), clock }) };
}

/** A server may not have seen yet that the process before this one is gone, and its lock with it. */
async function consolidate(
  memory: Memory,
  { namespace, threadId }: Pick<RememberedThread, "namespace" | "threadId">,
): Promise<void> {
  for (let tries = 0; tries < 10_000; tries += 1) {
    try {
      const limits = { importanceThreshold: 0.4, maxEntryTokens: 40 };
      await memory.consolidate({ namespace, threadId, ...limits });
      return;
    } catch (error) {
      if (!(error instanceof MemoryBusyError)) throw error;
    }
  }
}
