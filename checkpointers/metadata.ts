import type { CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { keepData } from "./elements/revive.ts";
import { toJsonb } from "./jsonb.ts";

/** LangGraph's own, whatever serializer the values have: metadata is never encrypted, since filters look into it. */
const json = keepData();
const decoder = new TextDecoder();

/** Metadata as `jsonb` keeps it. `definitionHash` is of the definition that the graph was compiled from. */
export async function dumpMetadata(
  metadata: CheckpointMetadata,
  definitionHash: unknown,
): Promise<Record<string, unknown>> {
  const stamped =
    typeof definitionHash === "string"
      ? { ...metadata, definition_hash: definitionHash }
      : metadata;
  const [, bytes] = await json.dumpsTyped(stamped);
  return toJsonb(JSON.parse(decoder.decode(bytes))) as Record<string, unknown>;
}

export async function loadMetadata(stored: unknown): Promise<CheckpointMetadata> {
  return (await json.loadsTyped("json", JSON.stringify(stored))) as CheckpointMetadata;
}
