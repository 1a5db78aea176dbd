import { randomInt } from "node:crypto";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDatabase } from "../../src/storage/database.ts";
import { useChildren, type Child } from "../helpers/child-process.ts";
import { newDatabaseFolder } from "../helpers/pglite-template.ts";

/** Each costs about a second of both cores. `KILLS=50` is the thorough run. */
const KILLS = Number(process.env["KILLS"] ?? 10);
/** Kills come after so many acknowledged rows, or before the first: while the folder is being opened. */
const MAX_ROWS = 12;

const start = useChildren();
let folder: string;
beforeAll(async () => {
  folder = await newDatabaseFolder();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A writer that has loaded its modules and waits to be told to begin, so that loading is not waited for. */
const prepare = (): Child => start("test/storage/programs/append-rows.ts", folder);

async function yieldTurns(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await new Promise(setImmediate);
}

interface Trial {
  /** The rows that were there when the writer began; absent when it was killed before it could tell. */
  found?: readonly number[];
  /** The last row acknowledged so far. */
  acknowledged: number;
}

/** Lets a writer begin and kills it at a random moment. `known` is the last row acknowledged before. */
async function killAmidWrites(writer: Child, known: number): Promise<Trial> {
  await writer.nextLine();
  writer.send("begin");
  const rows = randomInt(-1, MAX_ROWS);
  let found: number[] | undefined;
  let acknowledged = known;
  if (rows >= 0) {
    found = JSON.parse(await writer.nextLine()) as number[];
    for (let i = 0; i < rows; i += 1) acknowledged = Number(await writer.nextLine());
  }
  await yieldTurns(randomInt(2000));
  await writer.kill();
  return { found, acknowledged };
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

test(
  `has every acknowledged row after each of ${KILLS} kills at random moments`,
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
    const { rows } = await database.pool.query<{ n: number }>("select n from numbers order by n");
    await database.close();
    expect(rows.map(({ n }) => n)).toEqual(upTo(Math.max(known, rows.length)));
  },
);
