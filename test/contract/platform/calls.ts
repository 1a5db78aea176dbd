import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  defineAgent,
  definePlanner,
  defineRail,
  defineTool,
  executeAgent,
  type Runtime,
  type RuntimeOptions,
} from "../../../src/index.ts";
import { systemClock, systemIds } from "../../../src/clock.ts";
import { openPlatform, type Platform } from "../../../src/storage/platform/open-platform.ts";
import type { LoggedTurn } from "../../../src/models/calls/call-log.ts";
import { DatabaseCallLog } from "../../../src/storage/platform/call-log.ts";
import { withTenant } from "../../../src/storage/tenant.ts";
import { noUsage } from "../../../src/state/usage.ts";
import type { TestDatabase } from "../../helpers/databases.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { asPlan, plannerReplies } from "../../helpers/run-plan.ts";
import { ScriptedModel, type ScriptedReply } from "../../helpers/scripted-model.ts";

const double = defineTool({
  name: "double",
  description: "Doubles a number.",
  input_schema: z.object({ n: z.number() }),
  handler: ({ n }) => {
    if (n > 100) throw new Error("too large");
    return { doubled: n * 2 };
  },
});
const callsDouble = (n: number) => ({ calls: [{ name: "double", args: { n } }] });

/** Redacts a password, or asks a judge about the text. */
const hides = (on: "input" | "output", judge?: string) =>
  defineRail({
    name: "hides",
    on: [on],
    async check({ text }, context) {
      if (judge !== undefined) await context.ask(judge, { system: "Judge.", user: text });
      const start = text.indexOf("hunter2");
      if (start < 0) return { verdict: "pass" };
      return { verdict: "redact", spans: [{ start, end: start + 7, label: "PASSWORD" }] };
    },
  });

let made = 0;

/** The rows that the runs of a runtime leave in a database. */
export function callsContract(database: TestDatabase): void {
  describe.skipIf(!database.available)(`rows of calls on ${database.kind}`, () => {
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
      script: readonly ScriptedReply[] | null,
      options: RuntimeOptions = {},
    ): Promise<Runtime> {
      tenantId = systemIds();
      const { url, folder } = database.options;
      const runtime = await createRuntime({
        ...(url === undefined ? { folder: folder as string } : { databaseUrl: url }),
        env: {},
        tenantId,
        tools: [double],
        ...(script !== null && { models: new ScriptedModel(script) }),
        ...options,
      });
      runtimes.push(runtime);
      return runtime;
    }

    const thread = () => `thread-${(made += 1)}`;
    const rows = <Row = Record<string, unknown>>(sql: string, of = tenantId) =>
      withTenant(platform.tables.tenants, of, async (client) => {
        const found = await client.query<Row>(sql.replaceAll("$s", platform.tables.schema));
        return found.rows;
      });
    const purposes = async () =>
      (
        await rows<Record<string, string | number | null>>(
          "select agent, purpose, step from $s.llm_call order by at, id",
        )
      ).map((row) =>
        [row["agent"], row["purpose"], row["step"]].filter((one) => one !== null).join(" "),
      );

    test("has each request, tool call and turn when the run returns", async () => {
      const runtime = await runtimeWith([callsDouble(21), callsDouble(101), "It is 42."]);
      const agent = defineAgent({ name: "one", tools: ["double"] });
      const threadId = thread();
      const { usage } = await executeAgent(agent, { message: "Double 21." }, { runtime, threadId });
      expect(await purposes()).toEqual(["one reasoning 0", "one reasoning 1", "one reasoning 2"]);
      expect(
        await rows(
          "select step, tool_name, input, output, outcome, status from $s.tool_call order by step",
        ),
      ).toEqual([
        {
          step: 0,
          tool_name: "double",
          input: { n: 21 },
          output: { doubled: 42 },
          outcome: "success",
          status: "success",
        },
        {
          step: 1,
          tool_name: "double",
          input: { n: 101 },
          output: { error: "too large" },
          outcome: "error",
          status: "error",
        },
      ]);
      const [turn] = await rows(
        "select t.*, i.thread_id, i.status as now, i.turns, i.started_at, i.completed_at from $s.turn t join $s.agent_instance i on i.id = t.instance_id",
      );
      const { items } = await runtime.threads.history(threadId, { limit: 1 });
      expect(turn).toMatchObject({
        thread_id: threadId,
        now: "COMPLETED",
        turns: 1,
        turn_number: 1,
        status: "COMPLETED",
        checkpoint_id: items[0]?.id,
        input: { message: "Double 21." },
        output: { message: "It is 42." },
        cause: null,
        tokens_in: String(usage.tokens_in),
        llm_calls: 3,
        tool_calls: 2,
        cost_usd: usage.cost_usd,
        ended_at: expect.any(Date),
        started_at: expect.any(Date),
        completed_at: expect.any(Date),
      });
      expect(
        await rows(
          "select turns, llm_calls, tool_calls, tokens_in, tokens_out, cost_usd from $s.usage_day",
        ),
      ).toEqual([
        {
          turns: "1",
          llm_calls: "3",
          tool_calls: "2",
          tokens_in: "30",
          tokens_out: "15",
          cost_usd: "0.003",
        },
      ]);
    });

    test("keep what was sent and what came", async () => {
      const runtime = await runtimeWith([callsDouble(2), "4"]);
      const agent = defineAgent({ name: "one", system_prompt: "You double.", tools: ["double"] });
      await executeAgent(agent, { message: "Double 2." }, { runtime, threadId: thread() });
      const [first, last] = await rows(
        "select messages, response, finish_reason, model, provider from $s.llm_call order by at, id",
      );
      expect(first).toMatchObject({
        messages: [{ role: "system" }, { role: "human", content: "Double 2." }],
        response: { content: "", tool_calls: [{ name: "double", args: { n: 2 } }] },
        finish_reason: "stop",
        model: "test:scripted",
        provider: "test",
      });
      expect(last).toMatchObject({ response: { content: "4" } });
    });

    test("name the purposes of deep steps", async () => {
      const reply: ScriptedReply = () => new AIMessage("Done.");
      const runtime = await runtimeWith([
        "Approach",
        "Plan",
        callsDouble(1),
        "Reflection",
        "Plan",
        "The answer",
        '{"accepted": true}',
        reply,
      ]);
      const agent = defineAgent({
        name: "deep",
        tools: ["double"],
        execution_config: { mode: "deep" },
      });
      await executeAgent(agent, { message: "Go." }, { runtime, threadId: thread() });
      expect(await purposes()).toEqual([
        "deep planning",
        "deep planning 0",
        "deep reasoning 0",
        "deep reflection 0",
        "deep planning 1",
        "deep reasoning 1",
        "deep judging",
      ]);
    });

    test("name the synthesis of a turn without steps left", async () => {
      const runtime = await runtimeWith([callsDouble(1), "Enough."]);
      const agent = defineAgent({
        name: "short",
        tools: ["double"],
        execution_config: { max_iterations: 1 },
      });
      await executeAgent(agent, { message: "Go." }, { runtime, threadId: thread() });
      expect(await purposes()).toEqual(["short reasoning 0", "short synthesis 1"]);
    });

    test("name nodes, routers and nested agents, in the turn of the outermost", async () => {
      const inner = defineAgent({ name: "inner" });
      const outer = defineAgent({
        name: "outer",
        agents: [inner],
        execution_config: { max_attempts: 1 },
        workflow_graph: {
          entry_point: "draft",
          nodes: [
            { name: "draft", type: "llm", config: { prompt: "Draft" } },
            {
              name: "choose",
              type: "router",
              config: {
                prompt: "Choose",
                choices: [
                  { name: "go", description: "Go." },
                  { name: "stop", description: "Stop." },
                ],
              },
            },
            {
              name: "sub",
              type: "agent",
              config: { agent: "inner", input: { message: "Inside" } },
            },
          ],
          edges: [
            { from: "draft", to: "choose" },
            { from: "choose", to: "sub" },
            { from: "sub", to: "END" },
          ],
        },
      } as never);
      const reply: ScriptedReply = ({ answer }) =>
        answer === undefined
          ? new AIMessage("Said.")
          : new AIMessage({
              content: "",
              tool_calls: [{ id: "r", name: answer.name, args: { choice: "go", reason: "r" } }],
            });
      const runtime = await runtimeWith([reply, reply, reply, reply, reply]);
      await executeAgent(outer, { message: "Go." }, { runtime, threadId: thread() });
      expect(await purposes()).toEqual(["outer node 0", "outer routing 1", "inner reasoning 0"]);
      expect(
        await rows(
          "select t.turn_number, count(*)::integer as calls from $s.llm_call c join $s.turn t on t.id = c.turn_id group by 1",
        ),
      ).toEqual([{ turn_number: 1, calls: 3 }]);
    });

    test("have those of planners and their workers", async () => {
      const worker = defineAgent({ name: "adder", description: "Adds.", tools: ["double"] });
      const planner = definePlanner({ workers: [worker], execution_config: { max_attempts: 1 } });
      const plan = {
        subtasks: [{ id: "a", description: "Add it.", worker: "adder", dependencies: [] }],
        success_criteria: "",
      };
      const runtime = await runtimeWith(
        plannerReplies({
          Divide: asPlan(plan),
          Plan: asPlan(plan),
          Add: [callsDouble(4), "8"],
          "": asPlan(plan),
        }),
      );
      await executeAgent(planner, { message: "Do it." }, { runtime, threadId: thread() });
      expect((await purposes()).map((one) => one.replace(/ \d+$/, ""))).toEqual([
        "planner planning",
        "adder reasoning",
        "adder reasoning",
        "planner synthesis",
        "planner judging",
      ]);
      expect(await rows("select agent, tool_name from $s.tool_call")).toEqual([
        { agent: "adder", tool_name: "double" },
      ]);
      expect(await rows("select from $s.turn")).toHaveLength(1);
    });

    test("withhold what the judge of a rail reads and says", async () => {
      const agent = defineAgent({
        name: "one",
        guardrail_config: { input_rails: [{ type: "custom", name: "hides" }] },
      });
      const runtime = await runtimeWith(["fine", "Hello."], {
        rails: [hides("input", "test:judge")],
      });
      await executeAgent(agent, { message: "It is hunter2." }, { runtime, threadId: thread() });
      expect(await purposes()).toEqual(["one rail", "one reasoning 0"]);
      const [call] = await rows(
        "select purpose, messages, response from $s.llm_call where purpose = 'rail'",
      );
      expect(call).toMatchObject({
        messages: [{ role: "system" }, { role: "human", withheld: true }],
        response: { content: null, withheld: true },
      });
      expect(JSON.stringify(call)).not.toContain("hunter2");
    });

    test("have retries and fallbacks with the number of the request", async () => {
      const down = fakeModel().alwaysThrow(Object.assign(new Error("Down"), { status: 503 }));
      const runtime = await runtimeWith(null, {
        modelOptions: {
          instances: { "fake:a": down, "fake:b": fakeModel().respond(new AIMessage("b")) },
          maxRetries: 1,
          retryBackoffMs: 0,
          prices: { "fake:a": { input: 1, output: 1 }, "fake:b": { input: 1, output: 1 } },
        },
      });
      const agent = defineAgent({
        name: "one",
        llm_config: { default_model: "fake:a", fallback_model: "fake:b" },
      });
      await executeAgent(agent, { message: "Hi." }, { runtime, threadId: thread() });
      const found = await rows(
        "select model, attempt, finish_reason, response is null as empty, cost_usd > 0 as paid from $s.llm_call order by attempt",
      );
      expect(found).toEqual([
        { model: "fake:a", attempt: 1, finish_reason: "outage", empty: true, paid: false },
        { model: "fake:a", attempt: 2, finish_reason: "outage", empty: true, paid: false },
        { model: "fake:b", attempt: 3, finish_reason: "stop", empty: false, paid: true },
      ]);
    });

    test("have failed and cancelled requests, and the turns that end so", async () => {
      const stop = new AbortController();
      const waits: ScriptedReply = (_request, { signal }) => {
        stop.abort();
        return new Promise((_resolve, reject) => reject(signal?.reason as Error));
      };
      const fails = fakeModel().alwaysThrow(Object.assign(new Error("No"), { status: 401 }));
      const agent = defineAgent({ name: "one", llm_config: { default_model: "fake:a" } });
      const failing = await runtimeWith(null, { modelOptions: { instances: { "fake:a": fails } } });
      await executeAgent(agent, { message: "Hi." }, { runtime: failing, threadId: thread() });
      expect(await rows("select finish_reason from $s.llm_call")).toEqual([
        { finish_reason: "auth" },
      ]);
      expect(await rows("select status, cause->>'cause' as cause from $s.turn")).toEqual([
        { status: "FAILED", cause: expect.stringContaining("model") },
      ]);
      const runtime = await runtimeWith([waits]);
      await executeAgent(
        agent,
        { message: "Hi." },
        { runtime, threadId: thread(), signal: stop.signal },
      );
      expect(await rows("select finish_reason from $s.llm_call")).toEqual([
        { finish_reason: "cancelled" },
      ]);
      expect(
        await rows(
          "select t.status, i.status as now from $s.turn t join $s.agent_instance i on i.id = t.instance_id",
        ),
      ).toEqual([{ status: "CANCELLED", now: "CANCELLED" }]);
    });

    test("number the turns of a thread, also those that wait and are resumed", async () => {
      const runtime = await runtimeWith(["One.", "Asks", "Two."]);
      const agent = defineAgent({ name: "one" });
      const asks = defineAgent({
        name: "one",
        workflow_graph: {
          entry_point: "ask",
          nodes: [
            { name: "ask", type: "human", config: { kind: "input", prompt: "What?" } },
            { name: "say", type: "llm", config: { prompt: "Say" } },
          ],
          edges: [
            { from: "ask", to: "say" },
            { from: "say", to: "END" },
          ],
        },
      } as never);
      const threadId = thread();
      await executeAgent(agent, { message: "Hi." }, { runtime, threadId });
      const of = { runtime, threadId };
      await executeAgent(asks, { message: "Hi again." }, of);
      const turns =
        "select turn_number, status, ended_at is not null as ended from $s.turn order by turn_number";
      expect((await rows(turns)).at(-1)).toEqual({
        turn_number: 2,
        status: "AWAITING_HUMAN",
        ended: true,
      });
      await executeAgent(asks, null, { ...of, answer: "This" });
      expect(await rows(turns)).toEqual([
        { turn_number: 1, status: "COMPLETED", ended: true },
        { turn_number: 2, status: "COMPLETED", ended: true },
      ]);
      expect(await rows("select turns from $s.usage_day")).toEqual([{ turns: "2" }]);
    });

    test("hold no value that a rail redacted", async () => {
      const runtime = await runtimeWith(["Your password is <PASSWORD_1>, hunter2 indeed."], {
        rails: [hides("input")],
      });
      const agent = defineAgent({
        name: "one",
        guardrail_config: { input_rails: [{ type: "custom", name: "hides" }] },
      });
      await executeAgent(agent, { message: "It is hunter2." }, { runtime, threadId: thread() });
      const all = JSON.stringify([
        await rows("select * from $s.llm_call"),
        await rows("select * from $s.turn"),
      ]);
      expect(all).toContain("PASSWORD");
      expect(all).not.toContain("hunter2");
    });

    test("withhold replies that output rails check later", async () => {
      const runtime = await runtimeWith(["It is hunter2."], { rails: [hides("output")] });
      const agent = defineAgent({
        name: "one",
        guardrail_config: { output_rails: [{ type: "custom", name: "hides" }] },
      });
      await executeAgent(agent, { message: "What is it?" }, { runtime, threadId: thread() });
      expect(await rows("select response from $s.llm_call")).toEqual([
        { response: { content: null, withheld: true } },
      ]);
    });

    test("bound what a long request holds", async () => {
      const runtime = await runtimeWith(["Read."]);
      const agent = defineAgent({ name: "one" });
      await executeAgent(
        agent,
        { message: "long ".repeat(70_000) },
        { runtime, threadId: thread() },
      );
      const [call] = await rows<{ bytes: number; messages: object[] }>(
        "select octet_length(messages::text) as bytes, messages from $s.llm_call",
      );
      expect(call?.bytes).toBeLessThan(262_144);
      expect(call?.messages.at(-1)).toMatchObject({ role: "human", truncated: true });
      expect(await rows("select input->>'truncated' as cut from $s.turn")).toEqual([
        { cut: "true" },
      ]);
    });

    test("are of one tenant alone", async () => {
      const runtime = await runtimeWith(["One."]);
      await executeAgent(
        defineAgent({ name: "one" }),
        { message: "Hi." },
        { runtime, threadId: thread() },
      );
      const other = systemIds();
      for (const table of ["llm_call", "turn", "agent_instance", "usage_day"]) {
        expect(await rows(`select from $s.${table}`)).toHaveLength(1);
        expect(await rows(`select from $s.${table}`, other)).toEqual([]);
      }
    });

    test("are removed with their thread, apart from sums", async () => {
      const runtime = await runtimeWith([callsDouble(1), "One.", "Two."]);
      const agent = defineAgent({ name: "one", tools: ["double"] });
      const [gone, kept] = [thread(), thread()];
      await executeAgent(agent, { message: "Hi." }, { runtime, threadId: gone });
      await executeAgent(agent, { message: "Hi." }, { runtime, threadId: kept });
      await runtime.threads.delete(gone);
      for (const table of ["llm_call", "turn", "agent_instance"]) {
        expect(await rows(`select from $s.${table}`)).toHaveLength(1);
      }
      expect(await rows("select from $s.tool_call")).toEqual([]);
      expect(await rows("select llm_calls from $s.usage_day")).toEqual([{ llm_calls: "3" }]);
    });

    test("are read in pages", async () => {
      const runtime = await runtimeWith([callsDouble(1), "One.", "Two."]);
      const agent = defineAgent({ name: "one", tools: ["double"] });
      const threadId = thread();
      for (const message of ["Hi.", "Again."])
        await executeAgent(agent, { message }, { runtime, threadId });
      const first = await runtime.threads.calls({ threadId, limit: 2 });
      expect(first.items.map(({ turn, step }) => [turn, step])).toEqual([
        [0, 0],
        [0, 1],
      ]);
      const second = await runtime.threads.calls({ threadId, cursor: first.next as string });
      expect(second).toMatchObject({
        items: [{ turn: 1, step: 0, purpose: "reasoning", tokens_in: 10 }],
        next: null,
      });
      expect(second.items[0]).not.toHaveProperty("messages");
      const { items } = await runtime.threads.calls({ threadId, turn: 1, whole: true });
      expect(items).toMatchObject([{ response: { content: "Two." } }]);
      expect((await runtime.threads.calls({ threadId, limit: 3 })).next).toBeNull();
      const [time, id] = first.next!.split("_");
      for (const cursor of [
        "x",
        `${first.next!}0`,
        `0${first.next!}`,
        `2026-13-01T00:00:00.000Z_${id}`,
        `2026-02-30T00:00:00.000Z_${id}`,
        `0000-01-01T00:00:00.000Z_${id}`,
        `${time}_${"-".repeat(36)}`,
      ])
        await expect(runtime.threads.calls({ threadId, cursor })).rejects.toMatchObject({
          code: "invalid_cursor",
        });
    });

    test("are not written where they are turned off", async () => {
      const runtime = await runtimeWith(["One."], { recordCalls: false });
      const threadId = thread();
      await executeAgent(defineAgent({ name: "one" }), { message: "Hi." }, { runtime, threadId });
      expect(await rows("select from $s.agent_instance")).toEqual([]);
      expect(await runtime.threads.calls({ threadId })).toEqual({ items: [], next: null });
    });

    describe("a log", () => {
      const call = (threadId: string) => ({
        threadId,
        turnId: "turn-1",
        agent: "a\0",
        purpose: "node" as const,
        step: null,
        model: "m:x",
        attempt: 1,
        outcome: "stop" as const,
        latency_ms: 1,
        first_token_ms: null,
        messages: [{ content: "\0\uD800" }],
        response: null,
        usage: noUsage,
      });
      const turn = (threadId: string, of: Partial<LoggedTurn> = {}): LoggedTurn => ({
        threadId,
        turnId: `turn-${(made += 1)}`,
        agent: "a",
        status: "COMPLETED",
        startedAt: "2031-05-06T07:08:09.000Z",
        isOver: true,
        input: null,
        output: null,
        failure: null,
        usage: noUsage,
        latencyMs: 1,
        checkpointId: null,
        ...of,
      });
      const warnings = () => vi.spyOn(process, "emitWarning").mockImplementation(() => {});
      afterEach(() => void vi.restoreAllMocks());
      const logWith = (options: Partial<ConstructorParameters<typeof DatabaseCallLog>[0]> = {}) => {
        tenantId = systemIds();
        const clock = new ManualClock("2031-05-06T07:08:09.000Z");
        return new DatabaseCallLog({
          open: async () => platform,
          tenantId,
          clock,
          ids: () => `id-${(made += 1)}`,
          ...options,
        });
      };

      test("creates the partition of a day that has none, and stores any text", async () => {
        const warn = warnings();
        const log = logWith();
        log.modelCall(call("t"));
        await log.flush();
        expect(warn).not.toHaveBeenCalled();
        expect(await rows("select at, messages::text from $s.llm_call")).toEqual([
          {
            at: new Date("2031-05-06T07:08:09.000Z"),
            messages: String.raw`[{"content":"\u0000\ud800"}]`,
          },
        ]);
      });

      test("loses no other row with one that the database refuses", async () => {
        const warn = warnings();
        const log = logWith();
        log.modelCall(call("t"));
        log.modelCall({ ...call("t"), attempt: 2 ** 40 });
        log.modelCall({ ...call("t"), usage: { ...noUsage, tokens_in: 7 } });
        log.turn(turn("t"));
        await log.flush();
        expect(await rows("select from $s.llm_call")).toHaveLength(2);
        expect(await rows("select from $s.turn")).toHaveLength(1);
        expect(await rows("select turns, llm_calls, tokens_in from $s.usage_day")).toEqual([
          { turns: "1", llm_calls: "2", tokens_in: "7" },
        ]);
        expect(warn).toHaveBeenCalledExactlyOnceWith(
          expect.stringContaining("1 rows of calls could not be written"),
          expect.anything(),
        );
      });

      test("does not take a day from the id or the times of a turn that was imported", async () => {
        const warn = warnings();
        const log = logWith();
        log.turn(turn("a", { turnId: "ffffffff-ffff-7000-8000-000000000001" }));
        log.turn(turn("b", { turnId: "00000000-0001-7000-8000-000000000002" }));
        log.turn(turn("c", { startedAt: "1500-01-01T00:00:00.000Z" }));
        log.turn(turn("d", { startedAt: "no time" }));
        await log.flush();
        expect(warn).not.toHaveBeenCalled();
        expect(await rows("select distinct at from $s.turn")).toEqual([
          { at: new Date("2031-05-06T07:08:09.000Z") },
        ]);
        expect(await rows("select from $s.turn")).toHaveLength(4);
      });

      test("keeps the turns of two tenants that have one id apart", async () => {
        const warn = warnings();
        const turnId = systemIds();
        for (const threadId of ["one", "two"]) {
          const log = logWith({ clock: systemClock });
          log.turn(turn(threadId, { turnId }));
          log.modelCall({ ...call(threadId), turnId });
          await log.flush();
          expect(await rows("select from $s.turn")).toHaveLength(1);
          expect(await rows("select from $s.llm_call")).toHaveLength(1);
        }
        expect(warn).not.toHaveBeenCalled();
      });

      test("stores messages that are nested deeply", async () => {
        const warn = warnings();
        const log = logWith();
        const args = JSON.parse(`${"[".repeat(5_000)}${"]".repeat(5_000)}`) as unknown;
        log.modelCall({ ...call("t"), messages: [{ role: "ai", tool_calls: [{ args }] }] });
        await log.flush();
        expect(warn).not.toHaveBeenCalled();
        expect(await rows("select from $s.llm_call")).toHaveLength(1);
      });

      test("writes what was collected during a write in one further transaction", async () => {
        let transactions = 0;
        const { tenants } = platform.tables;
        const pool = {
          ...tenants.pool,
          query: tenants.pool.query.bind(tenants.pool),
          connect: () => {
            transactions += 1;
            return tenants.pool.connect();
          },
        };
        const log = logWith({
          open: async () => ({
            ...platform,
            tables: { ...platform.tables, tenants: { ...tenants, pool } },
          }),
          clock: systemClock,
        });
        log.modelCall(call("t"));
        const first = log.flush();
        for (let i = 0; i < 20; i += 1) log.modelCall(call("t"));
        await Promise.all([first, log.flush(), log.flush()]);
        expect(await rows("select from $s.llm_call")).toHaveLength(21);
        expect(transactions).toBe(2);
      });

      test("drops rows beyond its limits, and warns with their number", async () => {
        const warn = warnings();
        const log = logWith({ mostRows: 2 });
        for (let i = 0; i < 5; i += 1) log.modelCall(call("t"));
        await log.flush();
        expect(await rows("select from $s.llm_call")).toHaveLength(2);
        expect(warn).toHaveBeenCalledExactlyOnceWith(
          expect.stringContaining("3 rows"),
          expect.anything(),
        );
      });

      test("tries a failed write once more, then gives it up with a warning", async () => {
        const warn = warnings();
        let failures = 1;
        let opened = 0;
        const open = async () => {
          opened += 1;
          if (failures-- > 0) throw new Error("no connection");
          return platform;
        };
        const log = logWith({ open });
        log.modelCall(call("t"));
        await log.flush();
        expect(await rows("select from $s.llm_call")).toHaveLength(1);
        expect(warn).not.toHaveBeenCalled();
        failures = Infinity;
        opened = 0;
        const broken = logWith({ open });
        broken.modelCall(call("t"));
        await broken.flush();
        expect(warn).toHaveBeenCalledExactlyOnceWith(
          expect.stringContaining("no connection"),
          expect.anything(),
        );
      });
    });

    test("that cannot be written fail no run", async () => {
      const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
      const runtime = await runtimeWith(["One."]);
      const { calls } = runtime;
      const broken = {
        ...runtime,
        calls: new DatabaseCallLog({
          open: () => Promise.reject(new Error("gone")),
          tenantId,
          clock: runtime.clock,
          ids: runtime.ids,
        }),
      };
      expect(calls).toBeDefined();
      const { status } = await executeAgent(
        defineAgent({ name: "one" }),
        { message: "Hi." },
        { runtime: broken, threadId: thread() },
      );
      expect(status).toBe("COMPLETED");
      expect(warn).toHaveBeenCalledExactlyOnceWith(
        expect.stringContaining("gone"),
        expect.anything(),
      );
      warn.mockRestore();
    });
  });
}
