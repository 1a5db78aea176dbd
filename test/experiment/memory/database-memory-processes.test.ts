import { describe, expect, test } from "vitest";
import { DatabaseExperimentMemory } from "../../../src/experiment/memory/database-memory.ts";
import { contentOf } from "../../contract/experiment-memory-contract.ts";
import { useChildren } from "../../helpers/child-process.ts";
import { useDatabase } from "../../helpers/databases.ts";
import { afterChanges } from "./programs/nth-change.ts";

const database = useDatabase("postgres");
const start = useChildren();

describe.skipIf(!database.available)("experiment memory that processes share", () => {
  test("is whole after a process was killed while it wrote, and can be gone on with", async () => {
    const { url } = database.options as { url: string };
    const memory = new DatabaseExperimentMemory(database.shared.pool).of("killed");
    let last = 0;
    for (const lines of [5, 40, 12]) {
      const writer = start(
        "test/experiment/memory/programs/write-changes.ts",
        url,
        "killed",
        `${last}`,
      );
      let told = 0;
      for (let line = 0; line < lines; line += 1) told = Number(await writer.nextLine());
      await writer.kill();
      await memory.rewind(2 ** 31 - 1); // Waits for the lock that the killed one may still hold.
      const { rows } = await database.shared.pool.query<{ change: number }>(
        "select change from experiment_memory_changes where run_id = 'killed' order by change",
      );
      expect(rows.map(({ change }) => change)).toEqual(rows.map((_, i) => i + 1));
      expect(rows.length).toBeGreaterThanOrEqual(told);
      expect(await contentOf(memory)).toEqual(afterChanges(rows.length));
      last = told - 3;
      await memory.rewind(last);
      expect(await contentOf(memory)).toEqual(afterChanges(last));
    }
  });

  test("is set up once by processes that begin at the same time", async () => {
    const { url } = database.options as { url: string };
    const runs = ["run-1", "run-2", "run-3"];
    const children = runs.map((runId) =>
      start("test/experiment/memory/programs/set-up.ts", url, "raced", runId),
    );
    for (const child of children) expect(await child.nextLine()).toBe("ready");
    for (const child of children) child.send("go");
    for (const child of children) expect(await child.nextLine()).toBe("written");
    const memory = new DatabaseExperimentMemory(database.shared.pool, { schema: "raced" });
    for (const runId of runs) expect(await memory.of(runId).read("a")).toBe(runId);
  });

  test("is changed by connections at once, each on its run", async () => {
    const memories = await Promise.all(
      [1, 2, 3].map(async () => new DatabaseExperimentMemory((await database.open()).pool)),
    );
    const numbers = Array.from({ length: 50 }, (_, i) => i + 1);
    await Promise.all(
      memories.flatMap((memory, who) =>
        numbers.map((n) => memory.of(`apart-${who}`).write(`key ${n % 7}`, `${who}.${n}`, n)),
      ),
    );
    for (const who of memories.keys()) {
      const memory = memories[0]!.of(`apart-${who}`);
      expect(await memory.read("key 1")).toBe(`${who}.50`);
      await memory.rewind(10);
      expect(await memory.read("key 1")).toBe(`${who}.8`);
      expect(await memory.read("key 4")).toBe(`${who}.4`);
    }
  });

  test("takes each number from one of two that run the same run, and stays whole", async () => {
    const memories = await Promise.all(
      [1, 2].map(async () => new DatabaseExperimentMemory((await database.open()).pool)),
    );
    const made: string[] = [];
    for (let number = 1; number <= 40; number += 1) {
      const ends = await Promise.allSettled(
        memories.map((memory, who) => memory.of("both").write("a", `${who}.${number}`, number)),
      );
      const winners = ends.flatMap(({ status }, who) => (status === "fulfilled" ? [who] : []));
      expect(winners).toHaveLength(1);
      made.push(`${winners[0]}.${number}`);
    }
    const memory = memories[0]!.of("both");
    for (const kept of [40, 21, 1]) {
      await memory.rewind(kept);
      expect(await memory.read("a")).toBe(made[kept - 1]);
    }
  });
});
