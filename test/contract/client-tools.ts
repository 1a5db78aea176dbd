import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import { createRuntime, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import type { ExecuteOptions } from "../../src/runtime/execute-agent.ts";
import type { Database } from "../../src/storage/database.ts";
import { lockThread } from "../../src/storage/thread-lock.ts";
import { DatabaseToolJournal } from "../../src/storage/tool-journal.ts";
import { useDatabase } from "../helpers/databases.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { ScriptedModel, type ScriptedReply } from "../helpers/scripted-model.ts";

let threads = 0;

/** How calls of client tools wait in a database, whichever it is, and are answered from another runtime. */
export function clientToolsContract(kind: Database["kind"]): void {
  const database = useDatabase(kind);
  const made: string[] = [];
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    made.length = 0;
    await Promise.all(closers.splice(0).map((close) => close()));
  });

  const client = (name: string) =>
    defineTool({
      name,
      description: `Does what is ${name} on the client.`,
      input_schema: z.object({ of: z.string() }),
      transport: { type: "client" },
      execution: { timeout_ms: 60_000 },
    });
  const send = defineTool({
    name: "send",
    description: "Sends a text.",
    input_schema: z.object({ of: z.string() }),
    handler: ({ of }) => {
      made.push(of);
      return `sent ${of}`;
    },
  });
  const agent = defineAgent({ name: "remote", tools: [client("first"), client("second"), send] });
  const calls = ["first", "second", "send"].map((name) => ({ id: name, name, args: { of: name } }));

  /** A thread with a new runtime for each of its runs, as processes have. */
  const threadOf = () => {
    const threadId = `client-${(threads += 1)}`;
    const clock = new ManualClock();
    const run = async (
      script: readonly ScriptedReply[],
      input: { message: string } | null,
      options: ExecuteOptions = {},
    ) => {
      const checkpointer = await openCheckpointer(database.shared);
      const journal = new DatabaseToolJournal(database.shared.pool);
      const models = new ScriptedModel(script);
      const runtime = await createRuntime({ env: {}, models, clock, checkpointer });
      closers.push(() => runtime.close());
      const lock = (id: string) => lockThread(database.shared, id);
      const services = { ...runtime, journal, lockThread: lock };
      return {
        runtime,
        result: await executeAgent(agent, input, { runtime: services, threadId, ...options }),
      };
    };
    return { threadId, clock, run, start: () => run([{ calls }], { message: "go" }) };
  };

  describe.skipIf(!database.available)(`calls of client tools on ${kind}`, () => {
    it("are answered in parts from other runtimes, and nothing runs twice", async () => {
      const { run, start, threadId } = threadOf();
      const { result: asked, runtime } = await start();
      expect(asked.status).toBe("AWAITING_TOOL");
      const stored = await runtime.threads.stateAt({ threadId });
      expect(stored.toolCalls).toEqual(asked.toolCalls);
      expect(stored).toMatchObject({ status: "AWAITING_TOOL", waiting: [{ kind: "tool_calls" }] });

      const toolResults = [{ call_id: "second", output: { n: 2 } }];
      const { result: some } = await run([], null, { toolResults });
      expect(some.toolCalls.map(({ call_id }) => call_id)).toEqual(["first"]);
      await expect(run([], null, { toolResults })).rejects.toMatchObject({
        code: "unknown_tool_call",
      });
      const rest = { toolResults: [{ call_id: "first", error: "denied" }] };
      const { result: done } = await run(["done"], null, rest);
      expect(done).toMatchObject({
        status: "COMPLETED",
        toolCalls: [],
        output: { message: "done" },
      });
      expect(done.steps[0]?.tool_results).toMatchObject([
        { id: "first", outcome: "error", error: "denied" },
        { id: "second", outcome: "success", result: { n: 2 } },
        { id: "send", outcome: "success" },
      ]);
      expect(made).toEqual(["send"]);
    });

    it("are timeouts after their time, in any runtime", async () => {
      const { run, start, clock } = threadOf();
      await start();
      clock.advance(60_000);
      const { result } = await run(["done"], null);
      expect(result.steps[0]?.tool_results.map(({ outcome }) => outcome)).toEqual([
        "timeout",
        "timeout",
        "success",
      ]);
    });

    it("are answered once by two callers at a time", async () => {
      const { run, start } = threadOf();
      await start();
      const toolResults = ["first", "second"].map((call_id) => ({ call_id, output: 1 }));
      const both = await Promise.allSettled([
        run(["done"], null, { toolResults }),
        run(["done"], null, { toolResults }),
      ]);
      expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      expect(made).toEqual(["send"]);
    });

    it("wait again in a replay, with their whole time", async () => {
      const { run, start, threadId, clock } = threadOf();
      const { result: asked, runtime } = await start();
      const toolResults = ["first", "second"].map((call_id) => ({ call_id, output: 1 }));
      const before = await runtime.threads.stateAt({ threadId });
      await run(["done"], null, { toolResults });
      clock.advance(600_000);
      const again = await runtime.threads.replay(agent, { threadId, checkpointId: before.id });
      expect(again.toolCalls.map(({ call_id }) => call_id)).toEqual(["first", "second"]);
      expect(again.toolCalls[0]?.expires_at).toBe("2026-01-01T00:11:00.000Z");
      expect(asked.toolCalls[0]?.expires_at).toBe("2026-01-01T00:01:00.000Z");
    });
  });
}
