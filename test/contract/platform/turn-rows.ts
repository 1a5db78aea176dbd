import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  defineAgent,
  defineRail,
  defineTool,
  executeAgent,
  type Runtime,
} from "../../../src/index.ts";
import { systemIds } from "../../../src/clock.ts";
import { openPlatform, type Platform } from "../../../src/storage/platform/open-platform.ts";
import { withTenant } from "../../../src/storage/tenant.ts";
import type { TestDatabase } from "../../helpers/databases.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { ScriptedModel, type ScriptedReply } from "../../helpers/scripted-model.ts";

const look = defineTool({
  name: "look",
  description: "Looks on the client.",
  input_schema: z.object({}),
  transport: { type: "client" },
});
const remote = defineAgent({ name: "remote", tools: [look] });
const asksClient = { calls: [{ id: "l", name: "look", args: {} }] };
const toolResults = [{ call_id: "l", output: 1 }];
const go = { message: "go" };

let made = 0;

/** The rows of turns that wait, are cancelled, forked, or named by their caller. */
export function turnRowsContract(database: TestDatabase): void {
  describe.skipIf(!database.available)(`rows of turns on ${database.kind}`, () => {
    let platform: Platform;
    let tenantId: string;
    const runtimes: Runtime[] = [];
    beforeAll(async () => {
      platform = await openPlatform(database.shared);
    });
    afterEach(async () => {
      await Promise.all(runtimes.splice(0).map((runtime) => runtime.close()));
    });

    async function runtimeWith(
      script: readonly ScriptedReply[],
      { of = systemIds(), ...options }: Parameters<typeof createRuntime>[0] & { of?: string } = {},
    ): Promise<Runtime> {
      tenantId = of;
      const { url, folder } = database.options;
      const runtime = await createRuntime({
        ...(url === undefined ? { folder: folder as string } : { databaseUrl: url }),
        env: {},
        tenantId,
        models: new ScriptedModel(script),
        ...options,
      });
      runtimes.push(runtime);
      return runtime;
    }
    // Padded, since rows of the same time are in the order of their threads.
    const thread = () => `turn-row-${String((made += 1)).padStart(4, "0")}`;
    const rows = (sql: string, of = tenantId) =>
      withTenant(platform.tables.tenants, of, async (client) => {
        const found = await client.query(sql.replaceAll("$s", platform.tables.schema));
        return found.rows;
      });
    const turns = (of?: string) =>
      rows(
        `select i.thread_id as thread, t.turn_number as turn, t.status, i.status as now, t.ended_at is not null as ended,
        (select count(*)::integer from $s.llm_call c where c.turn_id = t.id) as calls
        from $s.turn t join $s.agent_instance i on i.id = t.instance_id order by t.at, i.thread_id`,
        of,
      );

    test("say that a turn waits for tools, and end with it, without a second row", async () => {
      const runtime = await runtimeWith([asksClient, "Seen."]);
      const threadId = thread();
      const { status } = await executeAgent(remote, go, { runtime, threadId });
      expect(status).toBe("AWAITING_TOOL");
      const row = { thread: threadId, turn: 1, ended: true };
      const waits = { status: "AWAITING_TOOL", now: "AWAITING_TOOL", calls: 1 };
      expect(await turns()).toEqual([{ ...row, ...waits }]);
      await executeAgent(remote, null, { runtime, threadId, toolResults });
      const done = { status: "COMPLETED", now: "COMPLETED", calls: 2 };
      expect(await turns()).toEqual([{ ...row, ...done }]);
    });

    test("have the end of a waiting turn that is cancelled from outside", async () => {
      const runtime = await runtimeWith([asksClient, "Seen."]);
      const threadId = thread();
      await executeAgent(remote, go, { runtime, threadId });
      await runtime.threads.cancel(threadId);
      const row = { thread: threadId, turn: 1, ended: true, calls: 1 };
      expect(await turns()).toEqual([{ ...row, status: "CANCELLED", now: "CANCELLED" }]);
      await executeAgent(remote, null, { runtime, threadId });
      expect(await turns()).toEqual([{ ...row, status: "AWAITING_TOOL", now: "AWAITING_TOOL" }]);
    });

    test("are of one thread each where callers give two threads or tenants the same turn id", async () => {
      const clock = new ManualClock();
      const [one, other] = [thread(), thread()];
      for (const turnId of ["same", systemIds()]) {
        const runtime = await runtimeWith(["A.", "B."], { clock });
        const first = tenantId;
        for (const threadId of [one, other])
          await executeAgent(remote, go, { runtime, threadId, turnId });
        const row = { turn: 1, status: "COMPLETED", now: "COMPLETED", ended: true, calls: 1 };
        expect(await turns()).toEqual([
          { ...row, thread: one },
          { ...row, thread: other },
        ]);
        const { items } = await runtime.threads.calls({ threadId: one });
        expect(items).toHaveLength(1);
        const second = await runtimeWith(["A."], { clock });
        await executeAgent(remote, go, { runtime: second, threadId: one, turnId });
        expect(await turns()).toEqual([{ ...row, thread: one }]);
        expect(await turns(first)).toHaveLength(2);
      }
    });

    test("of a forked thread leave those of the original as they are", async () => {
      const runtime = await runtimeWith([asksClient, "Seen."]);
      const threadId = thread();
      await executeAgent(remote, go, { runtime, threadId });
      const fork = await runtime.threads.fork({ threadId });
      const of = { runtime, threadId: fork.threadId };
      await executeAgent(remote, null, { ...of, toolResults });
      expect(await turns()).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ thread: threadId, status: "AWAITING_TOOL", calls: 1 }),
          expect.objectContaining({ thread: fork.threadId, status: "COMPLETED", calls: 1 }),
        ]),
      );
    });

    test("are one for a turn with a caller's id whose input a judge reads first", async () => {
      const clock = new ManualClock();
      const judged = defineRail({
        name: "judged",
        on: ["input"],
        async check(_value, context) {
          await context.ask("test:judge", { system: "Judge.", user: "It" });
          await runtime.calls?.flush();
          clock.advance(5);
          return { verdict: "pass" };
        },
      });
      const agent = defineAgent({
        name: "one",
        guardrail_config: { input_rails: [{ type: "custom", name: "judged" }] },
      });
      const runtime = await runtimeWith(["fine", "Hello."], { clock, rails: [judged] });
      const threadId = thread();
      await executeAgent(agent, go, { runtime, threadId, turnId: "mine" });
      expect(await turns()).toMatchObject([{ turn: 1, status: "COMPLETED", calls: 2 }]);
      expect(await rows("select sum(turns) as turns from $s.usage_day")).toEqual([{ turns: "1" }]);
      const { items } = await runtime.threads.calls({ threadId });
      expect(items.map(({ turn, purpose }) => [turn, purpose])).toEqual([
        [0, "rail"],
        [0, "reasoning"],
      ]);
    });
  });
}
