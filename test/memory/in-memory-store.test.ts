import { createInMemoryMemory } from "../../src/memory/in-memory-store.ts";
import { memoryStoreContract } from "../contract/memory-store.ts";

memoryStoreContract({
  name: "in this process",
  isAlone: true,
  hasVectorIndex: false,
  open: async (of) => createInMemoryMemory(of),
});
