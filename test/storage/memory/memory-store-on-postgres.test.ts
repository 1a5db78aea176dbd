import { openDatabaseMemory } from "../../../src/storage/memory/database-memory.ts";
import { memoryStoreContract } from "../../contract/memory-store.ts";
import { useDatabase } from "../../helpers/databases.ts";
import { hasPgvector } from "../../helpers/pgvector.ts";

const database = useDatabase("postgres");

memoryStoreContract({
  name: "on postgres with pgvector",
  available: database.available && (await hasPgvector()),
  isAlone: false,
  hasVectorIndex: true,
  open: async (of) => openDatabaseMemory(database.shared, of),
});

memoryStoreContract({
  name: "on postgres without pgvector",
  available: database.available,
  isAlone: false,
  hasVectorIndex: false,
  open: async (of) =>
    openDatabaseMemory(database.shared, { ...of, schema: "scanned", vectors: "scan" }),
});

memoryStoreContract({
  name: "on postgres by the index of pgvector alone",
  available: database.available && (await hasPgvector()),
  isAlone: false,
  hasVectorIndex: true,
  open: async (of) =>
    openDatabaseMemory(database.shared, { ...of, schema: "indexed", exactUpTo: 0 }),
});
