import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { useChildren, type Child } from "../helpers/child-process.ts";
import { useDatabase, type TestDatabase } from "../helpers/databases.ts";
import { seededRandom } from "../helpers/random.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { range, rightAnswer, total } from "./crashing-agent.ts";

/** How often a turn is run to its end, on each database; set it to 100 to measure. */
const trials = Number(process.env["CRASH_TRIALS"] ?? 1);
/** How often a turn's process is killed before it is left alone. */
const kills = 2;
/** A process is killed after up to so many lines of the log, and up to so many milliseconds more. */
const lifetime = { lines: 14, ms: 15 };
const random = seededRandom("tool-crash");

interface Outcome {
  readonly status: string;
  readonly output: unknown;
  readonly tally: readonly number[];
  readonly failure: unknown;
}

/** Runs one turn to its end in one process after the other. */
async function runTurn(spawn: () => Child) {
  let killed = 0;
  let next = spawn();
  for (;;) {
    const child = next;
    // The next one loads its code meanwhile.
    if (killed < kills) next = spawn();
    if ((await child.nextLine()) !== "ready") throw new Error("It did not start.");
    child.send("go");
    if ((await child.nextLine()) !== "open") throw new Error("It did not open the database.");
    const line = await outcomeOf(child, killed < kills);
    await child.kill();
    if (line !== null) {
      await next.kill();
      return { killed, outcome: JSON.parse(line) as Outcome };
    }
    if (killed === kills) throw new Error("It ended without an outcome.");
    killed += 1;
  }
}

/** The last line of a process; null when its time is over before. It prints one for every line of the log too. */
async function outcomeOf(child: Child, isMortal: boolean): Promise<string | null> {
  const lines = isMortal ? random.int(0, lifetime.lines) : Infinity;
  for (let seen = 0; seen < lines; seen += 1) {
    const line = await child.nextLine();
    if (line.startsWith("{")) return line;
  }
  await delay(random() * lifetime.ms);
  return null;
}

/** What the log of a turn says, and what it must not say. */
function readLog(log: string) {
  const lines = readFileSync(log, "utf8").split("\n").filter(Boolean);
  const ended = new Set<string>();
  const ran = new Map<string, number>();
  const added = new Map<number, number>();
  const figures = { made: 0, recorded: 0, repeated: 0, unknown: 0, again: 0, twice: 0 };
  for (const line of lines) {
    const [what, name, detail, id = ""] = line.split(" ");
    if (what === "ran") {
      if (ended.has(id)) figures.again += 1;
      const times = (ran.get(id) ?? 0) + 1;
      ran.set(id, times);
      if (name !== "note" && times > 1) figures.twice += 1;
      if (name === "add") added.set(Number(detail), (added.get(Number(detail)) ?? 0) + 1);
    } else {
      if (what === "ended") ended.add(id);
      if (detail === "made" || detail === "recorded" || detail === "repeated") figures[detail] += 1;
      else figures.unknown += 1;
    }
  }
  return { figures, added };
}

function toolCrashTests(database: TestDatabase): void {
  describe.skipIf(!database.available)(`a process that is killed, on ${database.kind}`, () => {
    const spawn = useChildren();
    const folder = tempFolder();

    it(
      "has its turn finished by another, and no call that had ended made again",
      { timeout: 120_000 * (1 + trials) },
      async () => {
        await database.shared.close(); // An embedded database belongs to one process.
        const { url, folder: databaseFolder } = database.options;
        const options = url === undefined ? { folder: databaseFolder } : { databaseUrl: url };
        const sum = {
          killed: 0,
          made: 0,
          recorded: 0,
          repeated: 0,
          unknown: 0,
          again: 0,
          twice: 0,
        };
        for (const trial of range(trials)) {
          const log = join(folder, `${database.kind}-${trial}.log`);
          writeFileSync(log, "");
          const program = "test/runtime/programs/crash-midway.ts";
          const args = [JSON.stringify(options), log, `thread-${trial}`];
          const { killed, outcome } = await runTurn(() => spawn(program, ...args));
          const { figures, added } = readLog(log);
          expect(outcome).toEqual({
            status: "COMPLETED",
            output: { message: rightAnswer },
            tally: range(total),
            failure: null,
          });
          // Once each in the world too, since what was unknown was looked up.
          expect(Object.fromEntries(added)).toEqual(
            Object.fromEntries(range(total).map((n) => [n, 1])),
          );
          // A call is made again: after its end was acknowledged; twice, and must not be.
          expect(figures).toMatchObject({ again: 0, twice: 0 });
          sum.killed += killed;
          for (const key of Object.keys(figures) as (keyof typeof figures)[]) {
            sum[key] += figures[key];
          }
        }
        if (process.env["CRASH_TRIALS"]) console.log(database.kind, trials, "turns:", sum);
      },
    );
  });
}

toolCrashTests(useDatabase("postgres"));
toolCrashTests(useDatabase("pglite"));
