import { describe, expect, it } from "vitest";
import type { LogEntry } from "../../src/experiment/log/log-entry.ts";
import { useChildren } from "../helpers/child-process.ts";
import { useDatabase, type TestDatabase } from "../helpers/databases.ts";
import { readLogLines, withoutTimes } from "../helpers/experiment-run.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** A process is killed at every moment of so many; 1 for all of them, which takes minutes. Default: some of them. */
const stride = Number(process.env["KILL_STRIDE"] ?? 0);

function killTests(database: TestDatabase, every: number): void {
  describe.skipIf(!database.available)(`a run that is killed, on ${database.kind}`, () => {
    const spawn = useChildren();
    const logFolder = tempFolder();

    it(
      "has the same log when it is gone on with as one that was not, wherever it was killed",
      { timeout: 900_000 },
      async () => {
        await database.shared.close(); // An embedded database belongs to one process.
        const { url, folder } = database.options;
        const options = JSON.stringify(url === undefined ? { folder } : { databaseUrl: url });
        const program = "test/experiment/programs/killed-run.ts";
        const begin = (left: string, next: string, moment: number) =>
          spawn(program, options, logFolder, left, next, String(moment));

        const whole = begin("-", "whole", 0);
        const [, count] = /^survived (\d+)$/.exec(await whole.nextLine()) ?? [];
        const moments = Number(count);
        expect(moments).toBeGreaterThan(60);
        const expected = alike(readLogLines(logFolder, "whole"));

        let left = "-";
        const killed: string[] = [];
        for (let moment = 1; moment <= moments; moment += every) {
          const next = `killed-${moment}`;
          const child = begin(left, next, moment);
          const printed = left === "-" ? [] : [await child.nextLine()];
          expect(printed).toEqual(left === "-" ? [] : [`ended ${left}`]);
          await expect(child.nextLine()).rejects.toThrow("ended without printing");
          killed.push(next);
          left = next;
        }
        expect(await begin(left, "-", 0).nextLine()).toBe(`ended ${left}`);
        const logs = killed.map((runId) => [runId, alike(readLogLines(logFolder, runId))]);
        expect(logs).toEqual(killed.map((runId) => [runId, expected]));
        if (stride > 0) console.log(`${database.kind}: ${killed.length} kills, ${moments} moments`);
      },
    );
  });
}

/** Without times, and what names the run. */
function alike(entries: readonly LogEntry[]): readonly unknown[] {
  return withoutTimes(
    entries.map((entry) =>
      entry.event_type === "CYCLE_START"
        ? { ...entry, run_id: "", payload: { ...entry.payload, config_hash: "" } }
        : { ...entry, run_id: "" },
    ),
  );
}

killTests(useDatabase("postgres"), stride || 41);
killTests(useDatabase("pglite"), stride || 61);
