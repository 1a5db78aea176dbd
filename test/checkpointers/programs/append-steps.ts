import { once } from "node:events";
import { writeSync } from "node:fs";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { openCheckpointer } from "../../../checkpointers/postgres.ts";
import { openDatabase } from "../../../src/storage/database.ts";

// On a line of standard input, opens the database in a folder, prints the steps of its thread as one line, and puts
// checkpoints for ever, each with one step more and a pending write, printing the step once both are acknowledged.
const database = await openDatabase({ folder: process.argv[2]! });
const saver = await openCheckpointer(database);
writeSync(1, "ready\n");
await once(process.stdin, "data");
const thread = { thread_id: "steps", checkpoint_ns: "" };
const stored = await saver.getTuple({ configurable: thread });
let steps = (stored?.checkpoint.channel_values["steps"] ?? []) as { n: number; text: string }[];
let parent = stored?.checkpoint.id;
writeSync(1, `${JSON.stringify(steps.map(({ n }) => n))}\n`);
for (let n = steps.length + 1; ; n += 1) {
  steps = [...steps, { n, text: "x".repeat(1000) }];
  const versions = { steps: saver.getNextVersion(undefined) };
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(n),
    channel_values: { steps },
    channel_versions: versions,
  };
  const at = {
    configurable: { ...thread, ...(parent !== undefined && { checkpoint_id: parent }) },
  };
  const metadata = { source: "loop" as const, step: n, parents: {} };
  const put = await saver.put(at, checkpoint, metadata, versions);
  await saver.putWrites(put, [["steps", n]], "task");
  parent = checkpoint.id;
  writeSync(1, `${n}\n`);
}
