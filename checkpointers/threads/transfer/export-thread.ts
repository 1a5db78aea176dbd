import { createHash } from "node:crypto";
import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { type Clock, systemClock } from "../../../src/clock.ts";
import { loadBlob, storedBlobs } from "../../blobs.ts";
import { DamagedValue } from "../../elements/load-value.ts";
import { elementHash } from "../../elements/store-value.ts";
import { CorruptCheckpointError, NoCheckpointError } from "../../errors.ts";
import { checkDefinition, writesHash } from "../../integrity.ts";
import { unpackWrites } from "../../writing/pending-writes.ts";
import type { SealedTables } from "../../tables.ts";
import { CheckedThread } from "./checked-thread.ts";
import {
  type ContentLine,
  type EndLine,
  FORMAT_VERSION,
  type HeaderLine,
  toLine,
  toReadable,
  type WriteSetLine,
} from "./format.ts";
import {
  type NamespacedCheckpointId,
  type StoredCheckpoint,
  storedParts,
  type StoredWriteSet,
  ThreadRows,
} from "./thread-rows.ts";

export interface ExportDeps extends SealedTables {
  readonly serde: SerializerProtocol;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * A thread as lines of JSON, without line feeds: a header, the definitions it was made under, its checkpoints with
 * parents before children, each after the elements that it is the first to need, and an end with a SHA-256 over it all.
 * What the serializer gives as JSON can be read in the file; what it encrypts stays so, and takes the same key to import.
 * Values that the checkpointer has sealed are opened: the file is plain, and is sealed where it is imported.
 *
 * Every checkpoint is checked on its way. The thread may go on meanwhile: checkpoints put after the first line are left
 * out. The database is asked for a few hundred rows at a time, and no session is held in between.
 *
 * @throws {NoCheckpointError} when there is no such thread, or checkpoints of it are removed meanwhile
 * @throws {CorruptCheckpointError} when a checkpoint is not as it was written
 * @throws {CorruptDefinitionError} when a definition does not have its hash
 * @throws {CorruptBlobError} when an attachment does not have its hash
 */
export async function* exportThread(
  { serde, clock = systemClock, ...tables }: ExportDeps,
  threadId: string,
): AsyncGenerator<string> {
  const rows = new ThreadRows(tables, threadId);
  const keys = parentsFirst(await rows.keys());
  if (keys.length === 0) throw new NoCheckpointError(threadId, null);
  const hash = createHash("sha256");
  let lines = 0;
  const written = (line: HeaderLine | ContentLine): string => {
    const text = toLine(line);
    hash.update(`${text}\n`);
    lines += 1;
    return text;
  };
  yield written({
    format: "stratagraph-thread",
    version: FORMAT_VERSION,
    threadId,
    exportedAt: clock.now().toISOString(),
    checkpoints: keys.length,
  });
  for await (const line of contentOf(rows, { threadId, keys, serde })) yield written(line);
  for await (const row of storedBlobs(tables, threadId)) {
    await loadBlob(row, serde);
    const { body, ...attachment } = row;
    yield written({ attachment: { ...attachment, value: toReadable(body) } });
  }
  const end: EndLine = { end: { lines, sha256: hash.digest("hex") } };
  yield toLine(end);
}

async function* contentOf(
  rows: ThreadRows,
  of: {
    readonly threadId: string;
    readonly keys: readonly NamespacedCheckpointId[];
    readonly serde: SerializerProtocol;
  },
): AsyncGenerator<ContentLine> {
  const { threadId, keys, serde } = of;
  const thread = new CheckedThread(serde);
  for (const definition of await rows.definitions()) {
    checkDefinition(definition.hash, definition.definition);
    yield { definition };
  }
  for await (const stockBlob of rows.stockBlobs()) yield { stockBlob };
  for await (const stockWrite of rows.stockWrites()) yield { stockWrite };
  for await (const part of storedParts(rows, keys)) {
    if ("gone" in part) throw new NoCheckpointError(threadId, part.gone.id);
    if ("element" in part) {
      const { blob, ...element } = part.element;
      thread.addElement(element.log, element.idx, {
        hash: elementHash({ type: element.type, blob }),
      });
      yield { element: { ...element, value: toReadable(blob) } };
      continue;
    }
    const { checkpoint, writeSets } = part;
    try {
      yield await toContent(checkpoint, { threadId, thread, writeSets });
    } catch (thrown) {
      if (!(thrown instanceof DamagedValue)) throw thrown;
      const { namespace, id } = checkpoint;
      // Its elements may have been removed with it, after its row was read.
      if ((await rows.checkpoints([checkpoint])).length === 0)
        throw new NoCheckpointError(threadId, id);
      throw new CorruptCheckpointError(threadId, namespace, id, thrown.message);
    }
  }
}

async function toContent(
  stored: StoredCheckpoint,
  of: {
    readonly threadId: string;
    readonly thread: CheckedThread;
    readonly writeSets: readonly StoredWriteSet[];
  },
): Promise<ContentLine> {
  const { threadId, thread } = of;
  const { namespace, id, parentId, type, body, metadata, summary, hash, parentHash } = stored;
  const writeSets = of.writeSets.map((set) => toWriteSet(set, threadId));
  const common = { namespace, id, parentId, type, metadata, writeSets };
  if (body === null) {
    thread.addStock(common);
    return { stockCheckpoint: { ...common, checkpoint: stored.checkpoint! } };
  }
  if (hash === null) throw new DamagedValue("its hash is missing");
  const segments = (stored.segments ?? []).map(Number);
  await thread.check({ ...common, threadId, body, segments, summary, hash, parentHash });
  return {
    checkpoint: {
      ...common,
      body: toReadable(body),
      segments,
      summary,
      hash: hash.toString("hex"),
      parentHash: parentHash?.toString("hex") ?? null,
    },
  };
}

function toWriteSet(
  { namespace, id, taskId, idx, body, hash }: StoredWriteSet,
  threadId: string,
): WriteSetLine {
  const expected = writesHash({ threadId, namespace, checkpointId: id, taskId, idx, body });
  if (!expected.equals(hash))
    throw new DamagedValue("its pending writes do not have the hash they were given");
  const { taskPath, writes } = unpackWrites(body);
  return {
    taskId,
    ...(taskPath !== "" && { taskPath }),
    idx,
    hash: hash.toString("hex"),
    writes: writes.map(({ blob, ...write }) => ({ ...write, value: toReadable(blob) })),
  };
}

interface Related {
  readonly namespace: string;
  readonly id: string;
  readonly parentId: string | null;
}

/** The same, each after its parent if that is among them, and otherwise as they were. */
export function parentsFirst<Entry extends Related>(entries: readonly Entry[]): Entry[] {
  const waiting = new Map(entries.map((entry) => [keyOf(entry.namespace, entry.id), entry]));
  const ordered: Entry[] = [];
  for (const entry of entries) {
    const line: Entry[] = [];
    let next: Entry | undefined = entry;
    while (next && waiting.delete(keyOf(next.namespace, next.id))) {
      line.push(next);
      next = next.parentId === null ? undefined : waiting.get(keyOf(next.namespace, next.parentId));
    }
    ordered.push(...line.toReversed());
  }
  return ordered;
}

function keyOf(namespace: string, id: string): string {
  return `${namespace}\n${id}`;
}
