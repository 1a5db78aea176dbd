import { MemorySaver } from "@langchain/langgraph";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";

/** A saver in memory that keeps, as ours does, what each checkpoint's definition was. */
export class StampingSaver extends MemorySaver {
  readonly documents = new Map<string, unknown>();
  /** `source` and definition of every checkpoint put, in order. */
  readonly puts: { source: string; namespace: string; hash: unknown }[] = [];

  rememberDefinition(hash: string, document: unknown): void {
    this.documents.set(hash, document);
  }

  async definitionOf(hash: string): Promise<unknown> {
    return this.documents.get(hash);
  }

  override async put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata) {
    const hash: unknown = config.configurable?.["__definition_hash"];
    const namespace = String(config.configurable?.["checkpoint_ns"] ?? "");
    this.puts.push({ source: metadata.source, namespace, hash });
    return super.put(config, checkpoint, { ...metadata, definition_hash: hash } as never);
  }
}
