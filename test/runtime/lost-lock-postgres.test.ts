import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { useDatabase } from "../helpers/databases.ts";
import { ScriptedModel } from "../helpers/scripted-model.ts";

const database = useDatabase("postgres");

describe.skipIf(!database.available)("a run on postgres whose lock's session ends", () => {
  it("ends with the error of the database, keeps nothing of itself after that, and is resumed", async () => {
    const checkpoints = async () => {
      const { rows } = await database.shared.pool.query(
        "select checkpoint_id from stratagraph.checkpoints",
      );
      return rows.length;
    };
    let before = 0;
    const cut = defineTool({
      name: "cut",
      description: "Ends the session that holds the locks.",
      input_schema: z.object({}),
      handler: async (_input, { signal }) => {
        // All of them: a tool runs when what led to it is durable.
        before = await checkpoints();
        const told = new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => resolve());
        });
        await database.shared.pool.query(
          `select pg_terminate_backend(pid) from pg_locks
          where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
        );
        await told;
        return "cut";
      },
    });
    const agent = defineAgent({ name: "cutter", tools: [cut] });
    const runtime = await createRuntime({
      models: new ScriptedModel([{ calls: [{ name: "cut", args: {} }] }, "Done.", "Done."], true),
      databaseUrl: database.options.url!,
      env: {},
    });
    try {
      await expect(
        executeAgent(agent, { message: "go" }, { runtime, threadId: "t" }),
      ).rejects.toMatchObject({ code: "database_unavailable" });
      expect(before).toBeGreaterThan(0);
      expect(await checkpoints()).toBe(before);
      const resumed = await executeAgent(agent, null, { runtime, threadId: "t" });
      expect(resumed.status).toBe("COMPLETED");
    } finally {
      await runtime.close();
    }
  });
});
