import type { RunnableConfig } from "@langchain/core/runnables";
import type { Checkpoint, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { StratagraphError } from "../src/errors.ts";

/** What is stored of a checkpoint is not what was written: it was changed, cut off or removed since. */
export class CorruptCheckpointError extends StratagraphError {
  readonly code = "corrupt_checkpoint";
  override readonly kind = "run";

  constructor(
    readonly threadId: string,
    readonly namespace: string,
    readonly checkpointId: string,
    readonly reason: string,
    options?: { cause?: unknown },
  ) {
    super(
      `Expected checkpoint ${checkpointId} of thread ${threadId}${within(namespace)} as it was written, but ${reason}. ` +
        "Recover the thread from its nearest sound checkpoint, or restore the database from a backup.",
      options,
    );
  }
}

/** What is stored under the hash of a definition is another definition. It is not used. */
export class CorruptDefinitionError extends StratagraphError {
  readonly code = "corrupt_definition";
  override readonly kind = "run";

  constructor(readonly hash: string) {
    super(
      `Expected the definition stored under ${hash} to have that hash, but it is another one. ` +
        "Run the agent with the definition that the thread was begun under, which stores that again, or accept the change.",
    );
  }
}

/** The stored bytes of an attachment are not those that were attached. They are not used. */
export class CorruptBlobError extends StratagraphError {
  readonly code = "corrupt_attachment";
  override readonly kind = "run";

  constructor(
    /** Hex. */
    readonly sha256: string,
    options?: { cause?: unknown },
  ) {
    super(
      `Expected the attachment with SHA-256 ${sha256} as it was stored, but its bytes have another hash or cannot be read. ` +
        "Attach the file again, which stores it again, or restore the database from a backup.",
      options,
    );
  }
}

/** There is no such thread, or no such checkpoint in it. */
export class NoCheckpointError extends StratagraphError {
  readonly code = "no_checkpoint";

  constructor(
    readonly threadId: string,
    readonly checkpointId: string | null,
  ) {
    super(
      checkpointId === null
        ? `Expected a thread with a checkpoint, but nothing is stored of thread ${threadId}. Check its id, and which database is used.`
        : `Expected checkpoint ${checkpointId} in thread ${threadId}, but it is not there. Look at the thread's history for those that are.`,
    );
  }
}

/** A call to the checkpointer does not say where to read or write, or names what no database can hold. */
export class CheckpointConfigError extends StratagraphError {
  readonly code = "checkpoint_config";

  constructor(
    readonly missing: string,
    found = "it is not there",
  ) {
    super(
      `Expected \`${missing}\` as text in the config's \`configurable\`, and ${found}. Pass { configurable: { ${missing}: "…" } }.`,
    );
  }
}

function within(namespace: string): string {
  return namespace === "" ? "" : ` in subgraph ${namespace}`;
}

/** A page was asked for that there cannot be. */
export class InvalidPageError extends StratagraphError {
  readonly code = "invalid_page";

  constructor(
    readonly option: "cursor" | "limit",
    readonly value: unknown,
  ) {
    super(
      option === "limit"
        ? `Expected \`limit\` to be a whole number from 1 to 1,000, got ${String(value)}.`
        : `Expected \`cursor\` to be \`next\` of the page before, got ${JSON.stringify(value)}.`,
    );
  }
}

/** The retention rule is invalid. Nothing was removed. */
export class InvalidRetentionError extends StratagraphError {
  readonly code = "invalid_retention";

  constructor(
    readonly option: "keep" | "olderThan",
    readonly value: unknown,
  ) {
    super(
      option === "keep"
        ? `Expected \`keep\` to be "latest", "turn_ends" or "all", got ${JSON.stringify(value)}. Nothing was removed.`
        : "Expected `olderThan` to be a valid date, got an invalid one. Nothing was removed.",
    );
  }
}

/** The checkpoint does not hold all of its values: LangGraph puts delta channels together from those before it. */
export class DeltaForkError extends StratagraphError {
  readonly code = "delta_fork";

  constructor(
    readonly threadId: string,
    readonly checkpointId: string,
    readonly channels: readonly string[],
  ) {
    super(
      `Expected a checkpoint that holds all of its values, but channels ${channels.join(", ")} of checkpoint ${checkpointId} in thread ${threadId} are delta channels, ` +
        "which need the checkpoints before it. Fork within the thread with updateState, or export the thread and import it under another id.",
    );
  }
}

/** What was to be imported is not, or no longer, what an export gives. Nothing was stored. */
export class InvalidExportError extends StratagraphError {
  readonly code = "invalid_export";

  constructor(
    /** Counted from 1. */
    readonly line: number,
    /** As part of a sentence. */
    readonly reason: string,
    options?: { cause?: unknown },
  ) {
    super(
      `Expected the lines of an exported thread, but at line ${line} ${reason}. Nothing was imported. ` +
        "Import the file as it was exported, or export the thread again.",
      options,
    );
  }
}

/** The id of a new thread is taken. */
export class ThreadExistsError extends StratagraphError {
  readonly code = "thread_exists";

  constructor(readonly threadId: string) {
    super(
      `Expected an id for a new thread, but there is a thread ${threadId}. Choose another id, or delete that thread first.`,
    );
  }
}

/** Whether LangGraph may be asking which checkpoint is the newest: it takes the id out of a config that had one. */
export function asksForNewestId({ configurable = {} }: RunnableConfig): boolean {
  return (
    Object.hasOwn(configurable, "checkpoint_id") && configurable["checkpoint_id"] === undefined
  );
}

/** A damaged checkpoint by its id. Reading anything else of it throws `damage`. */
export function damagedTuple(damage: CorruptCheckpointError): CheckpointTuple {
  const { threadId, namespace, checkpointId } = damage;
  const refuse = () => {
    throw damage;
  };
  const checkpoint = new Proxy({ id: checkpointId } as Checkpoint, {
    get: (target, key) => (key === "id" ? target.id : refuse()),
    has: refuse,
    ownKeys: refuse,
    getOwnPropertyDescriptor: refuse,
  });
  const tuple = {
    config: {
      configurable: {
        thread_id: threadId,
        checkpoint_ns: namespace,
        checkpoint_id: checkpointId,
      },
    },
    checkpoint,
  };
  const refused = { get: refuse, enumerable: true };
  return Object.defineProperties(tuple, {
    metadata: refused,
    parentConfig: refused,
    pendingWrites: refused,
  });
}
