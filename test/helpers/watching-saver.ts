import { MemorySaver } from "@langchain/langgraph";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { Checkpoint, CheckpointMetadata, PendingWrite } from "@langchain/langgraph-checkpoint";

/** A saver in memory that tells a watched run, as ours does, of what it could not write. */
export class WatchingSaver extends MemorySaver {
  /** Throws what this write is to fail with. */
  beforeWrite: (write: "put" | "putWrites", config: RunnableConfig) => void = () => undefined;
  readonly watched: string[] = [];
  /** Writes that were made. */
  written = 0;
  #run: { readonly onFailure: (error: unknown) => void; failed: boolean } | undefined;

  watchRun(threadId: string, onFailure: (error: unknown) => void): () => void {
    this.watched.push(`begin ${threadId}`);
    this.#run = { onFailure, failed: false };
    return () => {
      this.watched.push(`end ${threadId}`);
      this.#run = undefined;
    };
  }

  refuseRun(_threadId: string, error: unknown): void {
    this.#fail(error);
  }

  override async put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata) {
    const { thread_id, checkpoint_ns = "" } = config.configurable ?? {};
    const written: RunnableConfig = {
      configurable: { thread_id, checkpoint_ns, checkpoint_id: checkpoint.id },
    };
    return this.#guard("put", config, written, (): Promise<RunnableConfig> =>
      super.put(config, checkpoint, metadata),
    );
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string) {
    const write = () => super.putWrites(config, writes, taskId);
    return this.#guard("putWrites", config, undefined, write);
  }

  async #guard<Result>(
    kind: "put" | "putWrites",
    config: RunnableConfig,
    skipped: Result,
    write: () => Promise<Result>,
  ): Promise<Result> {
    if (this.#run?.failed) return skipped;
    try {
      this.beforeWrite(kind, config);
      const result = await write();
      this.written += 1;
      return result;
    } catch (thrown) {
      if (this.#run === undefined) throw thrown;
      this.#fail(thrown);
      return skipped;
    }
  }

  #fail(error: unknown): void {
    const run = this.#run;
    if (run === undefined || run.failed) return;
    run.failed = true;
    run.onFailure(error);
  }
}
