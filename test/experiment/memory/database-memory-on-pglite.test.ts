import { DatabaseExperimentMemory } from "../../../src/experiment/memory/database-memory.ts";
import { experimentMemoryContract } from "../../contract/experiment-memory-contract.ts";
import { experimentMemoryTables, fillTables } from "../../contract/experiment-memory-tables.ts";
import { useDatabase } from "../../helpers/databases.ts";

const database = useDatabase("pglite");

experimentMemoryContract("on pglite", {
  create: () => new DatabaseExperimentMemory(database.shared.pool),
  fill: fillTables(database),
});
experimentMemoryTables(database);
