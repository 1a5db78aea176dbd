import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { calculates, gate, useRunServers } from "../helpers/run-server.ts";

interface Item {
  readonly id: string;
  readonly [name: string]: unknown;
}

describe.each(drawDatabases(import.meta.url))("on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);
  const calculator = { name: "counting", tools: ["calculator"] };

  describe.skipIf(!database.available)("steps of a thread", () => {
    it("are listed in pages, with usage, calls and whole records", async () => {
      const server = await start([calculates, "It is 42.", "Again 42."]);
      const runs = await server.agent(calculator);
      const { json: first } = await server.post(runs, { input: { message: "What is 6 * 7?" } });
      await server.until(`${runs}/${String(first["run_id"])}`, "complete");
      const thread_id = String(first["thread_id"]);
      const again = await server.post(runs, { thread_id, input: { message: "Sure?" } });
      await server.until(`${runs}/${String(again.json["run_id"])}`, "complete");
      const path = `/v1/threads/${thread_id}/steps`;
      const { status, json } = await server.send("GET", path);
      expect(status).toBe(200);
      const steps = json["steps"] as Item[];
      expect(steps.map(({ id }) => id)).toEqual(["0.0", "0.1", "1.0"]);
      expect(json["next_cursor"]).toBeNull();
      expect(steps[0]).toMatchObject({
        namespace: "",
        turn: 0,
        attempt: 0,
        step: 0,
        is_open: false,
        next_action: "use_tools",
        llm_calls: 1,
        calls: [{ tool: "calculator", outcome: "success", error: null, retries: 0 }],
        record: { tool_results: [{ args: { expression: "6 * 7" }, result: { result: 42 } }] },
      });
      const page = await server.send("GET", `${path}?limit=2&brief=true`);
      expect((page.json["steps"] as Item[]).map(({ id }) => id)).toEqual(["0.0", "0.1"]);
      expect(page.text).not.toContain("6 * 7");
      const { record: _whole, ...brief } = steps[0] as Item;
      expect((page.json["steps"] as Item[])[0]).toEqual(brief);
      const next = /<([^>]+)>/.exec(page.headers.get("link") ?? "")?.[1] ?? "";
      const rest = await server.send("GET", next);
      expect(rest.json).toMatchObject({ steps: [{ id: "1.0" }], next_cursor: null });
      const ofTurn = await server.send("GET", `${path}?turn=1&attempt=0`);
      expect((ofTurn.json["steps"] as Item[]).map(({ id }) => id)).toEqual(["1.0"]);
      const none = await server.send("GET", `${path}?attempt=1`);
      expect(none.json).toEqual({ steps: [], next_cursor: null });
      // The id of no step, and that of a step of another turn.
      for (const query of ["cursor=7.7", "turn=1&cursor=0.1"]) {
        const bad = await server.send("GET", `${path}?${query}`);
        expect([query, bad.json["type"]]).toEqual([query, "/problems/invalid_cursor"]);
      }
      expect((await server.send("GET", `${path}?limit=500`)).status).toBe(200);
      expect((await server.send("GET", `${path}?limit=501`)).status).toBe(400);
      const one = await server.send("GET", `${path}/0/0`);
      expect(one.json).toMatchObject({ ...steps[0], redacted: false });
      expect((await server.send("GET", `${path}/0/9`)).status).toBe(404);
    });

    it("include the steps of failed attempts, and those whose calls wait for people", async () => {
      const refused = { name: "strict", execution_config: { max_attempts: 2 } };
      const output_schema = {
        type: "object",
        properties: { sum: { type: "integer" } },
        required: ["sum"],
      };
      const server = await start(["No.", `{"sum": 42}`, calculates]);
      const strict = await server.agent({ ...refused, output_schema });
      const { json } = await server.post(strict, { input: { message: "Sum?" } });
      await server.until(`${strict}/${String(json["run_id"])}`, "complete");
      const listed = await server.send("GET", `/v1/threads/${String(json["thread_id"])}/steps`);
      const attempts = (listed.json["steps"] as Item[]).map(({ id, attempt }) => [id, attempt]);
      expect(attempts).toEqual([
        ["0.0", 0],
        ["0.1", 1],
      ]);
      const helping = await server.agent();
      const asked = await server.post(helping, { input: { message: "6 * 7?" } });
      await server.until(`${helping}/${String(asked.json["run_id"])}`, "awaiting_human");
      const open = await server.send("GET", `/v1/threads/${String(asked.json["thread_id"])}/steps`);
      expect(open.json["steps"]).toMatchObject([
        { id: "0.0", is_open: true, calls: [{ tool: "calculator", outcome: null }] },
      ]);
    });

    it("hide what rails redacted unless a scope allows it, also where texts are cut", async () => {
      const guardrail_config = { input_rails: [{ type: "pii" }] };
      const thought = `${"x".repeat(150)}ada@example.org says ada@example.org`;
      const says = () => new AIMessage({ content: thought, tool_calls: [] });
      const server = await start([says]);
      const runs = await server.agent({ name: "rails", guardrail_config });
      const { json } = await server.post(runs, { input: { message: "I am ada@example.org." } });
      await server.until(`${runs}/${String(json["run_id"])}`, "complete");
      const path = `/v1/threads/${String(json["thread_id"])}/steps`;
      const { key } = await server.join(["checkpoints:read"], server.tenantId);
      for (const at of [path, `${path}?brief=true`, `${path}/0/0`]) {
        const hidden = await server.send("GET", at, { key });
        expect([at, hidden.status]).toEqual([at, 200]);
        expect(hidden.text).not.toContain("ada@");
        const [step = hidden.json] = (hidden.json["steps"] ?? []) as Record<string, unknown>[];
        expect(step["thought"]).toBe(`${"x".repeat(150)}<EMAIL_1> `);
      }
      const open = await server.send("GET", path);
      expect(open.text).toContain("ada@");
    });

    it("are unknown to other tenants and keys, and empty before the first run", async () => {
      const busy = gate();
      const waits = async () => {
        await busy.wait();
        return new AIMessage("Late.");
      };
      const server = await start([waits]);
      const runs = await server.agent({ name: "plain" });
      const body = { input: { message: "Hi" }, config: { after_seconds: 3_600 } };
      const { json } = await server.post(runs, body);
      const path = `/v1/threads/${String(json["thread_id"])}/steps`;
      const own = await server.send("GET", path);
      expect([own.status, own.json]).toEqual([200, { steps: [], next_cursor: null }]);
      const { key } = await server.join();
      const { key: weak } = await server.join(["runs:read"], server.tenantId);
      for (const at of [path, `${path}/0/0`]) {
        expect((await server.send("GET", at, { key })).status).toBe(404);
        expect((await server.send("GET", at, { key: weak })).status).toBe(403);
      }
      expect((await server.send("GET", `${path}/0/0`)).status).toBe(404);
    });
  });
});
