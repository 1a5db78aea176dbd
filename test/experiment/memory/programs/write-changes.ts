import { writeSync } from "node:fs";
import { DatabaseExperimentMemory } from "../../../../src/experiment/memory/database-memory.ts";
import { openDatabase } from "../../../../src/storage/database.ts";
import { nthChange } from "./nth-change.ts";

// Goes on with a run's changes after the one given, and prints the number of each once it is acknowledged. Never ends.
const [url, runId, last] = process.argv.slice(2) as [string, string, string];
const database = await openDatabase({ url, maxConnections: 2 });
const memory = new DatabaseExperimentMemory(database.pool).of(runId);
await memory.rewind(Number(last));
for (let number = Number(last) + 1; ; number += 1) {
  const { key, value } = nthChange(number);
  await (value === null ? memory.delete(key, number) : memory.write(key, value, number));
  writeSync(1, `${number}\n`);
}
