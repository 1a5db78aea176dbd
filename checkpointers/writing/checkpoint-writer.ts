import type { Checkpoint, PendingWrite } from "@langchain/langgraph-checkpoint";
import { canonicalHash } from "../../src/values/json.ts";
import { toJsonb } from "../checkpoint-body.ts";
import { threadKey, withoutElements, type CachedCheckpoint } from "../checkpoint-cache.ts";
import {
  type CheckpointDraft,
  draftCheckpoint,
  type DraftOf,
  type NewCheckpointKey,
  setNames,
  type WriterDeps,
} from "./checkpoint-draft.ts";
import type { DumpedValue } from "../elements/store-value.ts";
import { sealContext, writesHash } from "../integrity.ts";
import { ElementBatch } from "./log-positions.ts";
import {
  type ClaimedWrites,
  isReplacing,
  type DumpedWrite,
  toWriteSets,
  writeIndex,
  WriteQueue,
} from "./pending-writes.ts";
import { PutLanes, type QueuedPut } from "./put-lanes.ts";
import { retryConflicts, UNIQUE_VIOLATION } from "../queries.ts";

type PutOf = Pick<DraftOf, "metadata" | "newVersions">;

/** How a run puts that is ahead of the database. */
interface Ahead {
  readonly run: QueuedPut["run"];
  /** Called when the next put may come. */
  readonly goOn: () => void;
}

/** Each attempt begins logs of its own, so a second one fails only where ids are not unique. */
const ATTEMPTS = 3;

/** Puts checkpoints and pending writes. */
export class CheckpointWriter {
  readonly #parts: WriterDeps;
  /** By hash, those that are not in the database yet as far as is known here. */
  readonly #definitions = new Map<unknown, unknown>();

  readonly #queue: WriteQueue;
  readonly #lanes: PutLanes;

  constructor(parts: WriterDeps) {
    this.#parts = parts;
    this.#queue = new WriteQueue(parts.pool, parts.queries);
    this.#lanes = new PutLanes(parts.pool, parts.queries);
  }

  /**
   * Puts a checkpoint. One that is `ahead` waits in line with the other puts of its thread, which are stored together where
   * they can be.
   */
  async put(
    place: NewCheckpointKey,
    checkpoint: Checkpoint,
    { ahead, ...of }: PutOf & { readonly ahead?: Ahead },
  ): Promise<void> {
    const { threadId } = place;
    if (ahead === undefined) await this.#lanes.settled(threadId);
    const endPut = this.#queue.beginPut(threadId);
    try {
      await this.#keepDefinition(threadId, of.metadata);
      if (ahead === undefined)
        await this.#put(place, checkpoint, of, () => this.#queue.claim(threadId));
      else await this.#putInLine(place, checkpoint, of, ahead);
    } finally {
      endPut();
    }
  }

  async #putInLine(
    place: NewCheckpointKey,
    checkpoint: Checkpoint,
    of: PutOf,
    { run, goOn }: Ahead,
  ): Promise<void> {
    const { threadId, parentId } = place;
    const { round } = this.#lanes;
    // A parent that waits may be forgotten meanwhile: other threads need the room.
    if (parentId !== null && this.#parts.known.get(threadKey(place), parentId) === undefined)
      await this.#lanes.settled(threadId);
    const parent = await this.#parentOf(place);
    const batch = this.#newBatch(parent);
    const claim = () => this.#queue.claim(threadId);
    const draft = await this.#draft(place, checkpoint, { ...of, parent, batch, claim });
    const { statement, bytes, writes, known } = draft;
    const redo = async () => {
      let claimed: ClaimedWrites | null | undefined = writes;
      await this.#put(place, checkpoint, of, () => {
        const first = claimed;
        claimed = undefined;
        return first === undefined ? claim() : first;
      });
    };
    this.#parts.known.add(threadKey(place), known);
    const { namespace } = place;
    const put = { namespace, checkpointId: checkpoint.id, statement, bytes, round, run, redo };
    const { stored, hasRoom } = this.#lanes.add(threadId, put);
    void hasRoom.then(goOn);
    try {
      await stored;
      writes?.written();
    } catch (thrown) {
      writes?.release();
      throw thrown;
    }
  }

  /** Waits for the puts of a thread that are queued. */
  async settled(threadId: string): Promise<void> {
    await this.#lanes.settled(threadId);
  }

  async #put(
    place: NewCheckpointKey,
    checkpoint: Checkpoint,
    of: PutOf,
    claim: () => ClaimedWrites | null,
  ): Promise<void> {
    let parent = await this.#parentOf(place);
    for (let attempt = 1; ; attempt += 1) {
      const batch = this.#newBatch(parent);
      const draft = await this.#draft(place, checkpoint, { ...of, parent, batch, claim });
      try {
        if (await this.#insert(place.threadId, draft)) {
          this.#parts.known.add(threadKey(place), draft.known);
          return;
        }
        // The parent was removed or replaced: this checkpoint must hold all of its values itself.
        this.#parts.known.withoutElements(threadKey(place));
        if (parent === undefined) continue;
        parent = withoutElements(parent);
        this.#parts.known.add(threadKey(place), parent);
      } catch (thrown) {
        if (!isTaken(thrown) || attempt === ATTEMPTS) throw thrown;
        batch.closeLogs(this.#parts.tails.all());
      }
    }
  }

  async #parentOf({ threadId, namespace, parentId }: NewCheckpointKey) {
    if (parentId === null) return undefined;
    return this.#parts.reader.getOrRead({ threadId, namespace, id: parentId });
  }

  #newBatch(parent: CachedCheckpoint | undefined): ElementBatch {
    const { freeze, tails, logIds } = this.#parts;
    const newTail = async () => tails.begin(await logIds.take());
    const port = { dump: (value: unknown) => this.#dump(value), freeze, newTail };
    return new ElementBatch(port, parent?.scalarLog ?? null);
  }

  #draft(
    place: NewCheckpointKey,
    checkpoint: Checkpoint,
    { claim, ...of }: Omit<DraftOf, "pending"> & { readonly claim: () => ClaimedWrites | null },
  ): Promise<CheckpointDraft> {
    const claimedRows = () => this.#queue.claimedRows(place.threadId);
    return draftCheckpoint(this.#parts, place, checkpoint, {
      ...of,
      pending: { claim, claimedRows },
    });
  }

  /** Whether it was inserted: not where what it refers to has changed. */
  async #insert(threadId: string, { statement, writes }: CheckpointDraft): Promise<boolean> {
    const { queries } = this.#parts;
    const pool = this.#parts.pool.forThread(threadId);
    const replace = { name: `${queries.name}-replace`, text: queries.replace };
    const { rowCount } = await retryConflicts(() => pool.query(statement))
      .catch((thrown: unknown) => {
        if (!isViolation(thrown) || isTaken(thrown)) throw thrown;
        return retryConflicts(() => pool.query({ ...statement, ...replace }));
      })
      .catch((thrown: unknown) => {
        writes?.release();
        throw thrown;
      });
    writes?.written();
    return rowCount !== 0;
  }

  async putWrites(
    place: {
      readonly threadId: string;
      readonly namespace: string;
      readonly checkpointId: string;
      readonly taskId: string;
      readonly taskPath: string;
    },
    writes: PendingWrite[],
  ): Promise<void> {
    const dumped: DumpedWrite[] = [];
    for (const [at, write] of writes.entries()) {
      const { type, blob } = await this.#dump(write[1]);
      dumped.push({ idx: writeIndex(write, at), channel: write[0], type, blob });
    }
    const replacing = isReplacing(writes);
    const { threadId, namespace, checkpointId, taskId, taskPath } = place;
    const rows = toWriteSets(dumped, { replacing, taskPath }).map(({ idx, body: packed }) => {
      const body = this.#parts.cipher.sealBytes(packed, sealContext.writes({ ...place, idx }));
      const hash = writesHash({ ...place, idx, body });
      return { namespace, checkpointId, taskId, idx, body, hash };
    });
    if (rows.length === 0) return;
    if (!replacing) {
      await this.#queue.add(threadId, rows);
      this.#parts.known.addWrites(threadKey(place), checkpointId, setNames(rows));
      return;
    }
    const { queries, pool } = this.#parts;
    await pool.forThread(threadId).query({
      ...(rows.length === 1 && { name: `${queries.name}-replace-writes` }),
      text: queries.replaceWrites(rows.length),
      values: rows.flatMap(({ idx, body, hash }) => [
        threadId,
        namespace,
        checkpointId,
        taskId,
        idx,
        body,
        hash,
      ]),
    });
  }

  /** What a definition hash stands for, once for each. */
  async #keepDefinition(
    threadId: string,
    { definition_hash: hash }: Record<string, unknown>,
  ): Promise<void> {
    const definition = this.#definitions.get(hash);
    if (definition === undefined) return;
    const { queries, pool } = this.#parts;
    const stored = toJsonb(definition);
    // One that `jsonb` cannot hold exactly is not kept: under its hash no other may stand.
    if (canonicalHash(stored) === hash) {
      await pool.forThread(threadId).query(queries.putDefinition, [hash, JSON.stringify(stored)]);
    }
    this.#definitions.delete(hash);
  }

  /** To be kept with the first checkpoint that was made under it. */
  rememberDefinition(hash: string, definition: unknown): void {
    this.#definitions.set(hash, definition);
  }

  #dump(value: unknown): DumpedValue | Promise<DumpedValue> {
    const { serde } = this.#parts;
    return serde.dumpsTyped(value).then(([type, blob]) => ({
      type: type === "json" ? null : type,
      blob,
    }));
  }
}

function isViolation(thrown: unknown): boolean {
  return (thrown as { code?: unknown }).code === UNIQUE_VIOLATION;
}

/** Whether another element stands where one was to go. */
function isTaken(thrown: unknown): boolean {
  const { constraint } = thrown as { constraint?: unknown };
  return isViolation(thrown) && constraint === "checkpoint_elements_pkey";
}
