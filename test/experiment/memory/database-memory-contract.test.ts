import { DatabaseExperimentMemory } from "../../../src/experiment/memory/database-memory.ts";
import { experimentMemoryContract } from "../../contract/experiment-memory-contract.ts";
import { experimentMemoryTables, fillTables } from "../../contract/experiment-memory-tables.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";

for (const kind of drawDatabases(import.meta.url)) {
  const database = useDatabase(kind);
  experimentMemoryContract(`on ${kind}`, {
    available: database.available,
    create: () => new DatabaseExperimentMemory(database.shared.pool),
    fill: fillTables(database),
  });
  experimentMemoryTables(database);
}
