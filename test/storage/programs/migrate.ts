import { loadMigrations, migrate } from "../../../src/storage/migrate.ts";
import { openDatabase } from "../../../src/storage/database.ts";

// On a line of standard input, runs the migrations of a folder on a Postgres database, says so, and ends.
const [url, folder, schema] = process.argv.slice(2) as [string, string, string];
const database = await openDatabase({ url, maxConnections: 1 });
const migrations = await loadMigrations(new URL(folder));
console.log("ready");
for await (const _ of process.stdin) break;
await migrate(database.pool, { schema, name: "race", migrations });
console.log("migrated");
await database.close();
