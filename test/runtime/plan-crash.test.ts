import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { useChildren, type Child } from "../helpers/child-process.ts";
import { useDatabase, type TestDatabase } from "../helpers/databases.ts";
import { seededRandom } from "../helpers/random.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { range } from "./crashing-agent.ts";
import { ids } from "./crashing-planner.ts";

/** How often a plan is begun, killed once and run to its end, on each database. */
const trials = Number(process.env["CRASH_TRIALS"] ?? 1);
/** A process is killed after up to so many lines of the log, and up to so many milliseconds more. */
const lifetime = { lines: 2.5 * ids.length, ms: 20 };
const random = seededRandom("plan-crash");

/** Runs a plan in one process that is killed, and in another to its end: the last line of that. */
async function runPlan(spawn: () => Child): Promise<string> {
  const [mortal, last] = [spawn(), spawn()];
  await begin(mortal);
  const killedAfter = random.int(0, lifetime.lines);
  for (let seen = 0; seen < killedAfter; seen += 1) await mortal.nextLine();
  await delay(random() * lifetime.ms);
  await mortal.kill();
  await begin(last);
  for (;;) {
    const line = await last.nextLine();
    if (line.startsWith("{")) {
      await last.kill();
      return line;
    }
  }
}

async function begin(child: Child): Promise<void> {
  expect(await child.nextLine()).toBe("ready");
  child.send("go");
  expect(await child.nextLine()).toBe("open");
}

/** How often each subtask ran, and which ran again after it had ended. */
function readLog(log: string) {
  const ended = new Set<string>();
  const again: string[] = [];
  const figures = { ran: 0, cutOff: 0 };
  const ran = new Set<string>();
  for (const line of readFileSync(log, "utf8").split("\n").filter(Boolean)) {
    const [what, id = ""] = line.split(" ");
    if (what === "ended") ended.add(id);
    else {
      if (ended.has(id)) again.push(id);
      if (ran.has(id)) figures.cutOff += 1;
      ran.add(id);
      figures.ran += 1;
    }
  }
  return { ran, again, figures };
}

function planCrashTests(database: TestDatabase): void {
  describe.skipIf(!database.available)(`a process that is killed, on ${database.kind}`, () => {
    const spawn = useChildren();
    const folder = tempFolder();

    it(
      "has its plan finished by another, and no subtask or call that had ended run again",
      { timeout: 60_000 * (1 + trials) },
      async () => {
        await database.shared.close(); // An embedded database belongs to one process.
        const { url, folder: databaseFolder } = database.options;
        const options = url === undefined ? { folder: databaseFolder } : { databaseUrl: url };
        const sum = { ran: 0, cutOff: 0, again: 0 };
        for (const trial of range(trials)) {
          const log = join(folder, `${database.kind}-${trial}.log`);
          writeFileSync(log, "");
          const args = [JSON.stringify(options), log, `thread-${trial}`];
          const line = await runPlan(() => spawn("test/runtime/programs/crash-plan.ts", ...args));
          expect(JSON.parse(line)).toEqual({ status: "COMPLETED", states: ids.map(() => "done") });
          const { ran, again, figures } = readLog(log);
          expect(again).toEqual([]);
          expect(ran).toEqual(new Set(ids));
          sum.ran += figures.ran;
          sum.cutOff += figures.cutOff;
        }
        if (process.env["CRASH_TRIALS"]) console.log(database.kind, trials, "plans:", sum);
      },
    );
  });
}

planCrashTests(useDatabase("postgres"));
planCrashTests(useDatabase("pglite"));
