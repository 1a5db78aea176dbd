import { once } from "node:events";
import { writeSync } from "node:fs";
import { openDatabase } from "../../../src/storage/database.ts";

// On a line of standard input, opens the database in a folder, prints the numbers of its rows as one line, and appends
// rows for ever, printing the number of each once the database has acknowledged it.
const database = await openDatabase({ folder: process.argv[2]! });
writeSync(1, "ready\n");
await once(process.stdin, "data");
await database.pool.query("create table if not exists numbers (n integer, padding text)");
const { rows } = await database.pool.query<{ n: number }>("select n from numbers order by n");
writeSync(1, `${JSON.stringify(rows.map(({ n }) => n))}\n`);
for (let n = (rows.at(-1)?.n ?? 0) + 1; ; n += 1) {
  await database.pool.query("insert into numbers values ($1, repeat('x', 2000))", [n]);
  writeSync(1, `${n}\n`);
}
