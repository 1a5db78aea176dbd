import { rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { useChildren, type Child } from "../helpers/child-process.ts";
import { newDatabaseFolder } from "../helpers/pglite-template.ts";
import { seededRandom } from "../helpers/random.ts";

/** Each costs about a second of both cores; set it to 500 to look for what is rare. */
const KILLS = Number(process.env["KILLS"] ?? 6);
/** Kills come after so many acknowledged steps, or before the first: while the folder is being opened. */
const MAX_STEPS = 12;
const random = seededRandom("killed-writers");

const start = useChildren();
let folder: string;
beforeAll(async () => {
  folder = await newDatabaseFolder();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A writer that has loaded its modules and waits to be told to begin, so that loading is not waited for. */
const prepare = (): Child => start("test/checkpointers/programs/append-steps.ts", folder);

async function yieldTurns(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await new Promise(setImmediate);
}

interface Trial {
  /** The steps that were there when the writer began; absent when it was killed before it could tell. */
  found?: readonly number[];
  /** The last step acknowledged so far. */
  acknowledged: number;
}

/** Lets a writer begin and kills it at a random moment. `known` is the last step acknowledged before. */
async function killAmidWrites(writer: Child, known: number): Promise<Trial> {
  await writer.nextLine();
  writer.send("begin");
  const steps = random.int(-1, MAX_STEPS);
  let found: number[] | undefined;
  let acknowledged = known;
  if (steps >= 0) {
    found = JSON.parse(await writer.nextLine()) as number[];
    for (let i = 0; i < steps; i += 1) acknowledged = Number(await writer.nextLine());
  }
  await yieldTurns(random.int(0, 2000));
  await writer.kill();
  return { found, acknowledged };
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

test(
  `has every acknowledged checkpoint, whole, after each of ${KILLS} kills at random moments`,
  { timeout: KILLS * 20_000 },
  async () => {
    let known = 0;
    let next = prepare();
    for (let i = 0; i < KILLS; i += 1) {
      const writer = next;
      next = prepare();
      const { found = upTo(known), acknowledged } = await killAmidWrites(writer, known);
      expect(found).toEqual(upTo(Math.max(known, found.length)));
      known = acknowledged;
    }
    await next.kill();
    const database = await openDatabase({ folder });
    const saver = await openCheckpointer(database);
    const thread = { thread_id: "steps", checkpoint_ns: "" };
    const last = await saver.getTuple({ configurable: thread });
    const verified = await saver.verifyThread("steps");
    await database.close();
    const steps = last?.checkpoint.channel_values["steps"] as { n: number }[];
    expect(steps.map(({ n }) => n)).toEqual(upTo(Math.max(known, steps.length)));
    expect(verified).toEqual({ checked: steps.length, damaged: [] });
    // The write of a step that nobody was told of may not have come to be: it follows the checkpoint.
    const written = (last?.pendingWrites ?? []).map(([, , value]) => value);
    const possible = steps.length > known ? [[], [steps.length]] : [[known]];
    expect(possible).toContainEqual(written);
  },
);
