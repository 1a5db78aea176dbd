import { openCheckpointer } from "../../../checkpointers/postgres.ts";
import { openDatabase } from "../../../src/storage/database.ts";

// On a line of standard input, makes the tables of the checkpointer in a schema, says so, and ends.
const [url, schema] = process.argv.slice(2) as [string, string];
const database = await openDatabase({ url, maxConnections: 1 });
const saver = await openCheckpointer(database, { schema });
console.log("ready");
for await (const _ of process.stdin) break;
await saver.setup();
console.log("set up");
await database.close();
