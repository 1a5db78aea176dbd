import { openDatabase } from "../../../src/storage/database.ts";

// Opens the database in a folder, says so, and keeps it until standard input ends; then closes it and says so.
const database = await openDatabase({ folder: process.argv[2]! });
await database.pool.query("select 1");
console.log("open");
for await (const _ of process.stdin);
await database.close();
console.log("closed");
