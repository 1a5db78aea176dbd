import { uuid6 } from "@langchain/langgraph-checkpoint";
import { describe, expect, test } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { saverConcurrency } from "../contract/saver-concurrency.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("postgres");

saverConcurrency(database);

describe.skipIf(!database.available)("Puts where transactions are serializable by default", () => {
  test("of one thread's subgraphs all succeed at the same time, and are counted", async () => {
    const url = new URL(database.options.url!);
    url.searchParams.set("options", "-c default_transaction_isolation=serializable");
    const strict = await openDatabase({ ...database.options, url: url.toString() });
    const saver = new PostgresCheckpointer(strict.pool);
    const metadata = { source: "loop" as const, step: 0, parents: {} };
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        saver.put(
          { configurable: { thread_id: "parallel", checkpoint_ns: n === 0 ? "" : `node:${n}` } },
          {
            v: 4,
            id: uuid6(n),
            ts: "",
            channel_values: {},
            channel_versions: {},
            versions_seen: {},
          },
          metadata,
          {},
        ),
      ),
    );
    const { rows } = await strict.pool.query(
      "select entries, checkpoints from checkpoint_threads where thread_id = 'parallel'",
    );
    await strict.close();
    expect(rows).toEqual([{ entries: 40, checkpoints: 1 }]);
  });
});
