import { describe, expect, it } from "vitest";
import { createRuntime } from "../../src/index.ts";
import { useChildren } from "../helpers/child-process.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("postgres");
const start = useChildren();
const program = "test/runtime/programs/run-slow-tool.ts";

describe.skipIf(!database.available)("a turn that another process runs on postgres", () => {
  it("is aborted with its tool, once for two cancellations, and is resumed elsewhere", async () => {
    const databaseUrl = database.options.url!;
    const child = start(program, databaseUrl);
    expect(await child.nextLine()).toBe("working");
    const runtime = await createRuntime({ databaseUrl, env: {} });
    try {
      const asked = await runtime.threads.cancel("t", { reason: "first", waitMs: 0 });
      expect(asked.outcome).toBe("requested");
      const waiting = runtime.threads.cancel("t", { reason: "second", waitMs: 60_000 });
      expect(await child.nextLine()).toBe("aborted");
      const ended = JSON.parse(await child.nextLine()) as { cancel_reason: string };
      expect(ended).toMatchObject({ status: "CANCELLED" });
      expect(["first", "second"]).toContain(ended.cancel_reason);
      expect(await waiting).toEqual({ threadId: "t", outcome: "cancelled", status: "CANCELLED" });
      const { rows } = await database.shared.pool.query("select from stratagraph.cancel_request");
      expect(rows).toEqual([]);

      // The request is not for the run that resumes the turn.
      const again = start(program, databaseUrl, "resume");
      expect(await again.nextLine()).toBe("working");
      await again.kill();
      const killed = await runtime.threads.cancel("t", { reason: "its process is gone" });
      expect(killed).toEqual({ threadId: "t", outcome: "cancelled", status: "CANCELLED" });
    } finally {
      await runtime.close();
    }
  });
});
