import { DatabaseExperimentMemory } from "../../../../src/experiment/memory/database-memory.ts";
import { openDatabase } from "../../../../src/storage/database.ts";

// On a line of standard input, makes the first change of a run in a schema, says so, and ends.
const [url, schema, runId] = process.argv.slice(2) as [string, string, string];
const database = await openDatabase({ url, maxConnections: 1 });
const memory = new DatabaseExperimentMemory(database.pool, { schema }).of(runId);
console.log("ready");
for await (const _ of process.stdin) break;
await memory.write("a", runId, 1);
console.log("written");
await database.close();
