import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { errorMessage, StratagraphError } from "../../errors.ts";
import type { DeadEnd } from "../errors.ts";
import type { DurableSaver } from "../../durable-saver.ts";

/** A checkpoint that was skipped. */
export interface SkippedCheckpoint {
  readonly checkpointId: string;
  /**
   * `damaged`: its content differs from what was written. `stray_input`: an earlier version wrote an input there on top
   * of an unfinished turn. `missing_node`: the agent's definition no longer has the node to run next.
   */
  readonly cause: "damaged" | DeadEnd["cause"];
  readonly reason: string;
}

export interface IntactCheckpoint {
  /** Null if there is no such checkpoint. */
  readonly tuple: CheckpointTuple | null;
  /** The skipped checkpoints above it, newest first. */
  readonly skipped: readonly SkippedCheckpoint[];
  /** Whether it would be the last checkpoint without the skipped ones. */
  readonly isBelowSkipped: boolean;
  /** Whether it is the last one of its thread and namespace, from which LangGraph resumes by default. */
  readonly isLast: boolean;
}

/** The thread cannot resume from any of its stored checkpoints. Nothing was written. */
export class NoWayOnError extends StratagraphError {
  readonly code = "no_way_on";
  override readonly kind = "run";

  constructor(
    readonly threadId: string,
    readonly skipped: readonly SkippedCheckpoint[],
  ) {
    const [newest] = skipped;
    super(
      `Thread "${threadId}" has no checkpoint that it can resume from; of the newest, ${newest?.checkpointId ?? ""}, ${newest?.reason ?? ""}. Start another thread, or restore the database from a backup.`,
    );
  }
}

/** The storage in which intact checkpoints are looked up. */
export interface CheckpointSource {
  readonly checkpointer: Pick<BaseCheckpointSaver, "getTuple">;
  /** Null if the checkpointer cannot list without loading values: then no checkpoint can be skipped. */
  readonly archive: Pick<DurableSaver, "listSummaries"> | null;
}

/**
 * Returns the given or last checkpoint. If that is damaged or a dead end, returns its nearest ancestor that is neither.
 *
 * @throws CorruptCheckpointError of the first damaged one if there is no such ancestor; else NoWayOnError
 */
export async function findIntactCheckpoint(
  source: CheckpointSource,
  of: {
    readonly threadId: string;
    readonly namespace: string;
    readonly checkpointId?: string | undefined;
    /** Returns why a checkpoint cannot be resumed; null if it can. Default: all can. */
    readonly deadEnd?: (tuple: CheckpointTuple) => DeadEnd | null;
  },
): Promise<IntactCheckpoint> {
  const { threadId, namespace } = of;
  const ancestry = new Ancestry(source.archive, { threadId, namespace });
  const lastId = await ancestry.last();
  const skipped: SkippedCheckpoint[] = [];
  let first: unknown;
  let id = of.checkpointId ?? lastId;
  while (!skipped.some(({ checkpointId }) => checkpointId === id)) {
    const read = await readIntact(source.checkpointer, { threadId, namespace, id });
    if (!("damage" in read)) {
      const { tuple } = read;
      if (tuple === null && skipped.length > 0) break;
      const deadEnd = (tuple && of.deadEnd?.(tuple)) ?? null;
      if (tuple === null || deadEnd === null) {
        const isBelowSkipped = (of.checkpointId ?? lastId) === lastId;
        return { tuple, skipped, isBelowSkipped, isLast: isBelowSkipped && skipped.length === 0 };
      }
      skipped.push({ checkpointId: tuple.checkpoint.id, ...deadEnd });
      const parentId: unknown = tuple.parentConfig?.configurable?.["checkpoint_id"];
      if (typeof parentId !== "string") break;
      id = parentId;
      continue;
    }
    first ??= read.damage;
    const checkpointId = id ?? checkpointIdOf(read.damage);
    if (checkpointId === null) break;
    skipped.push({ checkpointId, cause: "damaged", reason: reasonOf(read.damage) });
    const parent = await ancestry.parentOf(checkpointId);
    if (parent === null) break;
    id = parent;
  }
  const thrown: unknown = first ?? new NoWayOnError(threadId, skipped);
  throw thrown;
}

async function readIntact(
  checkpointer: CheckpointSource["checkpointer"],
  of: { threadId: string; namespace: string; id: string | null },
): Promise<{ tuple: CheckpointTuple | null } | { damage: unknown }> {
  const { threadId, namespace, id } = of;
  const place = { thread_id: threadId, checkpoint_ns: namespace };
  try {
    const tuple = await checkpointer.getTuple({
      configurable: { ...place, ...(id !== null && { checkpoint_id: id }) },
    });
    return { tuple: tuple ?? null };
  } catch (thrown) {
    if (!isCorrupt(thrown)) throw thrown;
    return { damage: thrown };
  }
}

function isCorrupt(thrown: unknown): boolean {
  return (thrown as { code?: unknown } | null)?.code === "corrupt_checkpoint";
}

function checkpointIdOf(thrown: unknown): string | null {
  const { checkpointId } = thrown as { checkpointId?: unknown };
  return typeof checkpointId === "string" ? checkpointId : null;
}

function reasonOf(thrown: unknown): string {
  const { reason } = thrown as { reason?: unknown };
  return typeof reason === "string" ? reason : errorMessage(thrown);
}

/** Parent links of checkpoints, read in pages on demand. */
class Ancestry {
  readonly #archive: CheckpointSource["archive"];
  readonly #of: { readonly threadId: string; readonly namespace: string };
  readonly #parents = new Map<string, string | null>();
  #last: string | null = null;
  /** Null after the last page. */
  #cursor: string | null | undefined;

  constructor(archive: CheckpointSource["archive"], of: { threadId: string; namespace: string }) {
    this.#archive = archive;
    this.#of = of;
  }

  async last(): Promise<string | null> {
    if (this.#cursor === undefined) await this.#readPage();
    return this.#last;
  }

  async parentOf(id: string): Promise<string | null> {
    while (!this.#parents.has(id) && this.#cursor !== null) await this.#readPage();
    return this.#parents.get(id) ?? null;
  }

  async #readPage(): Promise<void> {
    if (this.#archive === null) {
      this.#cursor = null;
      return;
    }
    const { items, next } = await this.#archive.listSummaries({
      ...this.#of,
      ...(typeof this.#cursor === "string" && { cursor: this.#cursor }),
    });
    if (this.#cursor === undefined) this.#last = items[0]?.id ?? null;
    for (const { id, parentId } of items) this.#parents.set(id, parentId);
    this.#cursor = next;
  }
}
