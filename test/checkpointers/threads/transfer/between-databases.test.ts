import { randomUUID } from "node:crypto";
import { Command } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { PostgresCheckpointer } from "../../../../checkpointers/postgres.ts";
import { askingGraph } from "../../../contract/transfer-contract.ts";
import { useDatabase } from "../../../helpers/databases.ts";
import { threadTuples } from "../../../helpers/thread-tuples.ts";
import { transferOf } from "../../../helpers/thread-transfer.ts";

const postgres = useDatabase("postgres");
const pglite = useDatabase("pglite");

describe.skipIf(!postgres.available)("threads between databases", () => {
  it.each([
    ["Postgres", "PGlite", postgres, pglite],
    ["PGlite", "Postgres", pglite, postgres],
  ])("go from %s to %s, and on from there", async (_from, _to, from, to) => {
    const id = randomUUID();
    const thread = { configurable: { thread_id: id } };
    const [source, target] = [from, to].map(
      ({ shared }) => new PostgresCheckpointer(shared.pool),
    ) as [PostgresCheckpointer, PostgresCheckpointer];
    await askingGraph(source).invoke({}, thread);
    await target.setup();

    await transferOf(to.shared.pool).import(transferOf(from.shared.pool).stream(id));

    expect(await threadTuples(target, id)).toEqual(await threadTuples(source, id));
    expect((await target.verifyThread(id)).damaged).toEqual([]);
    const answer = new Command({ resume: "this one" }) as never;
    expect(await askingGraph(target).invoke(answer, thread)).toMatchObject({ heard: "this one" });
  });
});
