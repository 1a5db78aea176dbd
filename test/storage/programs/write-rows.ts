import { writeSync } from "node:fs";
import { openDatabase } from "../../../src/storage/database.ts";

// Writes rows, one transaction each, and prints the id of each once the database has acknowledged it. Never ends.
const database = await openDatabase({ folder: process.argv[2]! });
await database.pool.query(
  "create table if not exists rows (id integer primary key, bytes bytea not null)",
);
for (let id = 1; ; id += 1) {
  const client = await database.pool.connect();
  await client.query("begin");
  await client.query("insert into rows (id, bytes) values ($1, $2)", [id, Buffer.alloc(5000, id)]);
  await client.query("commit");
  client.release();
  writeSync(1, `${id}\n`);
}
