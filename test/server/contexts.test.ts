import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { contextRoutes } from "../../src/server/checkpoints/context-routes.ts";
import type { ApiBase } from "../../src/server/ports.ts";
import { noUsage } from "../../src/state/usage.ts";
import { startApi } from "../helpers/api-server.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { calculates, useRunServers } from "../helpers/run-server.ts";
import { plannerReplies } from "../helpers/run-plan.ts";

it("results of subtasks are redacted, then cut to 2 KiB", async () => {
  const email = "ada@example.org";
  const done = (result: unknown) => ({
    status: "done",
    worker: "w",
    depth: 0,
    attempts: 1,
    started_at: null,
    ended_at: null,
    error: null,
    result,
    usage: noUsage,
  });
  const results = { a: `${"x".repeat(2_044)}${email}`, b: "x".repeat(2_046), c: `I am ${email}.` };
  const ids = Object.keys(results);
  const plan = {
    node: "",
    within: [],
    plan: {
      success_criteria: `Write to ${email}.`,
      subtasks: ids.map((id) => ({ id, description: email, dependencies: [] })),
    },
    criteria_met: null,
    gaps: [],
    depth: 0,
    criticalPath: { ids: ["a"], ms: 1 },
    levels: [ids],
    waiting: [],
    subtasks: Object.fromEntries(Object.entries(results).map(([id, one]) => [id, done(one)])),
  };
  const redactions = { "<EMAIL_1>": { label: "EMAIL", value: email } };
  const threads = { plans: async () => [plan], stateAt: async () => ({ values: { redactions } }) };
  const base = {
    platform: { instances: { onThread: async () => ({}) } },
    runtimes: { use: (_: string, read: (of: object) => unknown) => read({ runtime: { threads } }) },
  } as unknown as ApiBase;
  const { send } = await startApi({ routes: contextRoutes(base) });
  const shown = async (key: string) => {
    const { json } = await send("GET", "/v1/threads/t/plans", { key });
    const [first] = json["plans"] as { success_criteria: string; subtasks: object[] }[];
    return { ...first, redacted: json["redacted"] };
  };
  const hidden = await shown("sg_a_checkpoints:read");
  expect(JSON.stringify(hidden)).not.toContain("ada@");
  expect(hidden).toMatchObject({
    redacted: true,
    success_criteria: "Write to <EMAIL_1>.",
    subtasks: [
      { description: "<EMAIL_1>", result: `${"x".repeat(2_044)}<EMA`, result_bytes: 2_055 },
      { result: results.b, result_bytes: 2_048 },
      { result: "I am <EMAIL_1>.", result_bytes: 17 },
    ],
  });
  expect(await shown("sg_a_*")).toMatchObject({
    redacted: false,
    subtasks: [{ result: `${"x".repeat(2_044)}ada@` }, {}, { result: results.c }],
  });
});

describe.each(drawDatabases(import.meta.url))("on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  describe.skipIf(!database.available)("the context of a thread", () => {
    it("has every message with the reason why it is there, and calls no model", async () => {
      const server = await start([calculates, "It is 42."]);
      const system_prompt = "You count.";
      const runs = await server.agent({ name: "counting", system_prompt, tools: ["calculator"] });
      const { json } = await server.post(runs, { input: { message: "What is 6 * 7?" } });
      await server.until(`${runs}/${String(json["run_id"])}`, "complete");
      const path = `/v1/threads/${String(json["thread_id"])}/context`;
      const past = await server.send("GET", `${path}?turn=0&step=1`);
      expect([past.status, past.json]).toEqual([200, expect.anything()]);
      expect(past.json).toMatchObject({ tense: "past", turn: 0, step: 1, redacted: false });
      const messages = past.json["messages"] as { role: string; section: string; step: unknown }[];
      expect(messages.map(({ role, section }) => `${role} ${section}`)).toEqual([
        "system system",
        "user conversation",
        "assistant steps",
        "tool steps",
      ]);
      expect(messages.at(-1)?.step).toEqual({ turn: 0, step: 0, fidelity: "whole" });
      const tokens = past.json["tokens"] as Record<string, number>;
      expect(tokens["total"]).toBeGreaterThan(tokens["system"] ?? 0);
      const next = await server.send("GET", `${path}?message=And%20then%3F`);
      expect(next.json).toMatchObject({ tense: "next", turn: 1, without_request: false });
      expect(next.text).toContain("And then?");
      expect(server.model.requests).toHaveLength(2);
      expect((await server.send("GET", `${path}?turn=7`)).status).toBe(404);
      expect((await server.send("GET", `${path}?turn=0&step=9`)).status).toBe(404);
      expect((await server.send("GET", `${path}?turn=0&message=x`)).status).toBe(400);
      const { key } = await server.join();
      expect((await server.send("GET", path, { key })).status).toBe(404);
    });

    it("hides what rails redacted unless a scope allows it", async () => {
      const server = await start(["Hello."]);
      const guardrail_config = { input_rails: [{ type: "pii" }] };
      const runs = await server.agent({ name: "rails", guardrail_config });
      const { json } = await server.post(runs, { input: { message: "I am ada@example.org." } });
      await server.until(`${runs}/${String(json["run_id"])}`, "complete");
      const { key } = await server.join(["checkpoints:read"], server.tenantId);
      const at = `/v1/threads/${String(json["thread_id"])}/context?turn=0`;
      const hidden = await server.send("GET", at, { key });
      expect([hidden.status, hidden.json["redacted"]]).toEqual([200, true]);
      expect(hidden.text).not.toContain("ada@");
    });

    it.each(["inner", "middle", "outer"])(
      "hides what a model of a nested agent repeats of what a rail of the %s one redacted",
      async (railed) => {
        const repeats = () =>
          new AIMessage({
            content: "This is ada@example.org.",
            tool_calls: [{ id: "c", name: "calculator", args: { expression: "6 * 7" } }],
          });
        const server = await start([repeats, "It is 42."]);
        const asks = (agent: string) => ({
          entry_point: "ask",
          nodes: [{ name: "ask", type: "agent", config: { agent } }],
          edges: [{ from: "ask", to: "END" }],
        });
        const rails = (name: string) => ({
          name,
          ...(name === railed && { guardrail_config: { input_rails: [{ type: "pii" }] } }),
        });
        await server.agent({ ...rails("inner"), tools: ["calculator"] });
        await server.agent({ ...rails("middle"), workflow_graph: asks("inner") });
        const runs = await server.agent({ ...rails("outer"), workflow_graph: asks("middle") });
        const { json } = await server.post(runs, { input: { message: "I am ada@example.org." } });
        await server.until(`${runs}/${String(json["run_id"])}`, "complete");
        const thread = `/v1/threads/${String(json["thread_id"])}`;
        const { json: ran } = await server.send("GET", `${thread}/path`);
        const entries = ran["path"] as readonly { namespace: string; within: string[] }[];
        const inner = entries.find(({ within }) => within.length === 2)?.namespace ?? "";
        const namespace = encodeURIComponent(inner);
        const { key } = await server.join(["checkpoints:read"], server.tenantId);
        for (const at of [
          `${thread}/context?turn=0&step=1&namespace=${namespace}`,
          `${thread}/steps?namespace=${namespace}`,
        ]) {
          const hidden = await server.send("GET", at, { key });
          expect([at, hidden.status]).toEqual([at, 200]);
          expect(hidden.text).toContain("This is <EMAIL_1>.");
          expect((await server.send("GET", at)).text).toContain("This is ada@example.org.");
        }
      },
    );
  });

  describe.skipIf(!database.available)("the plans of a thread", () => {
    it("have all subtasks, with times, levels and bounded results", async () => {
      const subtasks = Array.from({ length: 24 }, (_, at) => ({
        id: `s${at}`,
        description: `Work ${at}`,
        dependencies: at < 10 ? [] : [`s${at - 10}`],
        worker: "writer",
      }));
      const joined = plannerReplies({ "": "x".repeat(5_000) }, 500);
      const server = await start(joined);
      await server.agent({ name: "writer" });
      const config = { workers: ["writer"], plan: { subtasks }, max_subtasks: 24 };
      const nodes = [{ name: "team", type: "planner", config }];
      const edges = [{ from: "team", to: "END" }];
      const workflow_graph = { entry_point: "team", nodes, edges };
      const runs = await server.agent({ name: "plan", workflow_graph });
      const { json } = await server.post(runs, { input: { message: "Go." } });
      await server.until(`${runs}/${String(json["run_id"])}`, "complete");
      const answer = await server.send("GET", `/v1/threads/${String(json["thread_id"])}/plans`);
      const [plan] = answer.json["plans"] as { node: string; subtasks: object[] }[];
      expect(plan?.node).toBe("team");
      expect(plan?.subtasks).toHaveLength(24);
      expect(plan?.subtasks[23]).toMatchObject({ id: "s23", level: 2, status: "done" });
      expect(answer.text.length).toBeLessThan(100_000);
      expect(
        (await server.send("GET", `/v1/threads/${String(json["thread_id"])}/path`)).json,
      ).toMatchObject({ is_cut: false });
    });
  });
});
