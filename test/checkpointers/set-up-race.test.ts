import { describe, expect, test } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { loopGraph } from "../contract/time-travel-graph.ts";
import { useChildren } from "../helpers/child-process.ts";
import { useDatabase } from "../helpers/databases.ts";

/** Processes that race; set it to 20 to look for what is rare. */
const racers = Number(process.env["RACERS"] ?? 8);

const database = useDatabase("postgres");
const start = useChildren();

describe.skipIf(!database.available)("the checkpointer's tables", () => {
  test("are made once by several processes at the same time, in a schema of any name", async () => {
    const schema = `twenty "at" once`;
    const processes = Array.from({ length: racers }, () =>
      start("test/checkpointers/programs/set-up.ts", database.options.url!, schema),
    );
    expect(await Promise.all(processes.map((child) => child.nextLine()))).toEqual(
      Array.from({ length: racers }, () => "ready"),
    );

    for (const child of processes) child.send("go");

    expect(await Promise.all(processes.map((child) => child.nextLine()))).toEqual(
      Array.from({ length: racers }, () => "set up"),
    );
    const graph = loopGraph(new PostgresCheckpointer(database.shared.pool, { schema }));
    const returned = await graph.invoke(
      { topic: "cats", left: 2 },
      { configurable: { thread_id: "after" } },
    );
    expect(returned.lines).toEqual(["cats 2", "cats 1"]);
  }, 120_000);
});
