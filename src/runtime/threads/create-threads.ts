import { withThread } from "../../compile/run/acquire-thread.ts";
import { checkThreadId } from "../errors.ts";
import type { DurableSaver, CheckpointSummary } from "../../durable-saver.ts";
import { cancelThread } from "./cancel.ts";
import { diffStates, viewsOf } from "./checkpoint-view.ts";
import { forkThread, replayThread } from "./travel.ts";
import { readContext } from "./read-context.ts";
import { readPath } from "./path.ts";
import { readPlans } from "./plans.ts";
import { recoverThread } from "./recover.ts";
import { storedState, valuesOf } from "./stored.ts";
import { archiveOf, checkpointAt, checkpointerOf, type ThreadServices } from "./services.ts";
import type { Threads } from "./threads.ts";

/** The threads of a runtime. */
export function createThreads(services: ThreadServices): Threads {
  const { run } = services;
  return {
    list: async (options) => archiveOf(services, "list", "listThreads").listThreads(options),

    async history(threadId, options = {}) {
      const archive = archiveOf(services, "history", "listSummaries", "drain", "definitionOf");
      await archive.drain(checkThreadId(threadId));
      const { items, next } = await archive.listSummaries({ threadId, ...options });
      if (items.length === 0 && options.cursor === undefined) {
        throw services.noCheckpoint(threadId, null);
      }
      const source = { archive, checkpointer: checkpointerOf(services) };
      return { items: await viewsOf(items, source), next };
    },

    async stateAt(of) {
      const archive = archiveOf(services, "stateAt", "listSummaries", "drain", "definitionOf");
      await archive.drain(checkThreadId(of.threadId));
      const tuple = await checkpointAt(services, of);
      const ref = { ...of, checkpointId: tuple.checkpoint.id };
      const summary = await summaryOf(archive, ref);
      if (summary === null) throw services.noCheckpoint(ref.threadId, ref.checkpointId);
      return storedState(tuple, summary, { archive, checkpointer: checkpointerOf(services) });
    },

    async diff(a, b) {
      for (const { threadId } of [a, b]) checkThreadId(threadId);
      const [before, after] = [await checkpointAt(services, a), await checkpointAt(services, b)];
      return diffStates(valuesOf(before), valuesOf(after));
    },

    context: (of) => readContext(services, of),
    plans: (threadId, { checkpointId } = {}) => readPlans(services, threadId, checkpointId),
    path: (threadId) => readPath(services, threadId),
    fork: (of) => forkThread(services, of),
    replay: (agent, of) => replayThread(services, agent, of) as Promise<never>,
    recover: (agent, of) => recoverThread(services, agent, of) as Promise<never>,
    cancel: (threadId, options) => cancelThread(services, threadId, options),

    async verify(threadId, options) {
      const archive = archiveOf(services, "verify", "verifyThread");
      const verified = await archive.verifyThread(checkThreadId(threadId), options);
      if (verified.checked > 0 || verified.damaged.length > 0) return verified;
      throw services.noCheckpoint(threadId, null);
    },

    async prune(of) {
      const archive = archiveOf(services, "prune", "prune", "listSummaries");
      const threadId = checkThreadId(of.threadId);
      return withThread(run, threadId, async () => {
        const { items } = await archive.listSummaries({ threadId, limit: 1 });
        if (items.length === 0) throw services.noCheckpoint(threadId, null);
        return archive.prune(of);
      });
    },

    async calls(of) {
      checkThreadId(of.threadId);
      return (await run.calls?.modelCalls(of)) ?? { items: [], next: null };
    },

    async delete(threadId, { memory: everything = false } = {}) {
      const checkpointer = checkpointerOf(services);
      return withThread(run, checkThreadId(threadId), async () => {
        // Before the thread, which a caller looks for when it deletes again after a crash.
        const memory = await run.memory?.("none");
        const types = everything ? {} : { types: ["short_term"] as const };
        const forgotten = await memory?.forget({ threadId, ...types });
        await checkpointer.deleteThread(threadId);
        await run.blobs?.forget(threadId);
        await services.forget?.(threadId);
        const { entries = 0, archived = 0 } = forgotten ?? {};
        return { memories: entries, archived };
      });
    },

    async *export(threadId) {
      const archive = archiveOf(services, "export", "exportThread");
      yield* archive.exportThread(checkThreadId(threadId));
    },

    async import(lines, options = {}) {
      const archive = archiveOf(services, "import", "importThread");
      const { threadId } = options;
      if (threadId === undefined) return archive.importThread(lines, { checkThreadId });
      checkThreadId(threadId);
      return withThread(run, threadId, () => archive.importThread(lines, { threadId }));
    },
  };
}

/** Page size of a summary lookup. */
const pageSize = 500;

async function summaryOf(
  archive: Pick<DurableSaver, "listSummaries">,
  of: { threadId: string; checkpointId: string; namespace?: string },
): Promise<CheckpointSummary | null> {
  const { threadId, checkpointId, namespace = "" } = of;
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof archive.listSummaries>> = await archive.listSummaries({
      threadId,
      namespace,
      limit: cursor === null ? 1 : pageSize,
      ...(cursor !== null && { cursor }),
    });
    const found = page.items.find(({ id }) => id === checkpointId);
    if (found !== undefined) return found;
    cursor = page.next;
  } while (cursor !== null);
  return null;
}
