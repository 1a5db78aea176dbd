import { MemorySaver } from "@langchain/langgraph";

/** What a memory saver keeps, as the next process has it: threads that a run of the last one held are free. */
export function reopenedSaver({ storage, writes }: MemorySaver): MemorySaver {
  return Object.assign(new MemorySaver(), { storage, writes });
}
