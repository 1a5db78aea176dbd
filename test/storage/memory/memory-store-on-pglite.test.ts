import { openDatabaseMemory } from "../../../src/storage/memory/database-memory.ts";
import { memoryStoreContract } from "../../contract/memory-store.ts";
import { useDatabase } from "../../helpers/databases.ts";

const database = useDatabase("pglite");

memoryStoreContract({
  name: "on pglite",
  isAlone: true,
  hasVectorIndex: true,
  open: async (of) => openDatabaseMemory(database.shared, of),
});

memoryStoreContract({
  name: "on pglite without vectors",
  isAlone: true,
  hasVectorIndex: false,
  // In the same tables: to make others takes a second.
  open: async (of) => openDatabaseMemory(database.shared, { ...of, vectors: "scan" }),
});
