import type { RunnableConfig } from "@langchain/core/runnables";

/** A checkpoint as a saver or as a graph reads it. */
interface Checkpointed {
  readonly config: RunnableConfig;
}

/**
 * A checkpoint and those that it was made from, newest first. At the end of a run that keeps no other checkpoints
 * LangGraph puts the one it began with again, on top of itself: savers that keep it so have one that is its own parent,
 * at which this ends.
 */
export async function* withAncestors<T extends Checkpointed>(
  from: T,
  parentOf: (checkpoint: T) => Promise<T | undefined>,
): AsyncGenerator<T> {
  const seen = new Set<string>();
  let checkpoint: T | undefined = from;
  while (checkpoint !== undefined) {
    const place = placeOf(checkpoint);
    if (seen.has(place)) return;
    seen.add(place);
    yield checkpoint;
    checkpoint = await parentOf(checkpoint);
  }
}

function placeOf({ config: { configurable } }: Checkpointed): string {
  return JSON.stringify([configurable?.["thread_id"], configurable?.["checkpoint_id"]]);
}
