import { openDatabase } from "../../../src/storage/database.ts";
import { lockThread } from "../../../src/storage/thread-lock.ts";

// Takes a thread of a Postgres database and says so, or says why not; keeps it until standard input ends.
const [url, threadId] = process.argv.slice(2) as [string, string];
const database = await openDatabase({ url });
try {
  const lock = await lockThread(database, threadId);
  console.log("locked");
  for await (const _ of process.stdin);
  await lock.release();
  console.log("released");
} catch (error) {
  console.log((error as { code: string }).code);
}
await database.close();
