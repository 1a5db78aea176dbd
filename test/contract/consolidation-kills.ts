import { describe, expect, test } from "vitest";
import { defaultTenant } from "../../src/memory/store.ts";
import { openDatabase, type DatabaseOptions } from "../../src/storage/database.ts";
import { openDatabaseMemory } from "../../src/storage/memory/database-memory.ts";
import { useChildren, type Child } from "../helpers/child-process.ts";
import { seededRandom } from "../helpers/random.ts";
import { lostOrDoubled, rememberedThread } from "../helpers/remembered-thread.ts";

/** Each costs a second or so of both cores; `npm run chaos` takes more. */
const KILLS = Number(process.env["KILLS"] ?? 1);
const count = 30;

export interface KillSubject {
  readonly kind: string;
  readonly available: boolean;
  /** Of a database that no process has open; from the first test on. */
  readonly options: () => DatabaseOptions;
}

async function answers(process: Child, round: number, expected: readonly string[]): Promise<void> {
  process.send(String(round));
  for (const line of expected) expect(await process.nextLine()).toBe(line);
}

/** Ends processes as kill -9 does while they consolidate. */
export function consolidationKillContract({ kind, available, options }: KillSubject): void {
  describe.skipIf(!available)(`killed consolidations on ${kind}`, () => {
    const start = useChildren();
    const random = seededRandom(`killed consolidations on ${kind}`);
    /** A process that has loaded its modules, so that loading is not waited for. */
    const prepare = (): Child =>
      start(
        "test/storage/memory/programs/consolidate-rounds.ts",
        JSON.stringify(options()),
        String(count),
      );

    test(
      `keep every entry in one place after kills at random moments (${KILLS})`,
      { timeout: 30_000 + KILLS * 20_000 },
      async () => {
        let next = prepare();
        for (let round = 0; round <= KILLS; round += 1) {
          const process = next;
          expect(await process.nextLine()).toBe("ready");
          // What the process before was killed in.
          await answers(process, round, ["added", "done"]);
          if (round < KILLS) {
            next = prepare();
            await answers(process, round + 1, ["added"]);
            const turns = random.int(0, 3_000);
            for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
          }
          await process.kill();
        }
        const database = await openDatabase(options());
        const store = openDatabaseMemory(database).forTenant(defaultTenant);
        const faults: string[] = [];
        const left: number[] = [];
        for (let round = 0; round <= KILLS; round += 1) {
          const thread = rememberedThread(round, count);
          faults.push(...(await lostOrDoubled(store, thread)));
          left.push(await store.count({ namespace: thread.namespace, types: ["short_term"] }));
        }
        await database.close();
        expect(faults).toEqual([]);
        expect(left).toEqual(left.map(() => 0));
      },
    );
  });
}
