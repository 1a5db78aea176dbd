import { describe, expect, it } from "vitest";
import { createServer } from "../../src/create-server.ts";
import { listenForTest, type SendOptions } from "../helpers/api-server.ts";
import { useDatabase } from "../helpers/databases.ts";
import { ScriptedModel } from "../helpers/scripted-model.ts";

const carefulAgent = {
  name: "careful",
  tools: ["calculator"],
  guardrail_config: { tool_rails: { require_approval: ["calculator"] } },
};
const guideAgent = {
  name: "guide",
  tools: [
    {
      name: "user_location",
      description: "Says in which city the user is.",
      input_schema: { type: "object", properties: {} },
      transport: { type: "client" },
    },
  ],
};

describe.each(["pglite", "postgres"] as const)("a tenant on %s", (kind) => {
  const database = useDatabase(kind);
  const call = (name: string, args: object) => ({ calls: [{ name, args }] });

  it.skipIf(!database.available)(
    "is created, works with keys of few rights, is billed, exported and deleted from every table",
    async () => {
      const model = new ScriptedModel([
        call("calculator", { expression: "6 * 7" }),
        "It is 42.",
        call("user_location", {}),
        "You are in Oslo.",
        "Hello, other.",
      ]);
      const server = await createServer({
        database: database.shared,
        runtime: { models: model, memoryEmbeddings: null },
      });
      const { send } = await listenForTest(server);
      const { tenants, apiKeys, tenantRows, audit } = server.platform;
      const { id: tenantId } = await tenants.create({ name: `acme ${kind}` });
      const { id: otherId } = await tenants.create({ name: `globex ${kind}` });
      const as = async (tenant: string, ...scopes: string[]) => {
        const { secret: key } = await apiKeys.create({ tenantId: tenant, name: "k", scopes });
        return async (method: string, path: string, body?: unknown, status = 200) => {
          const of: SendOptions = { key, ...(body !== undefined && { body }) };
          const answer = await send(method, path, of);
          expect([method, path, answer.status, answer.text]).toEqual([
            method,
            path,
            status,
            expect.any(String),
          ]);
          return answer.json;
        };
      };
      const author = await as(tenantId, "agents:read", "agents:write");
      const runner = await as(tenantId, "runs:read", "runs:write", "checkpoints:read");
      const clerk = await as(tenantId, "runs:read", "requests:answer");
      const owner = await as(tenantId, "*");
      const other = await as(otherId, "*");

      const make = async (caller: typeof author, definition: object) =>
        String((await caller("POST", "/v1/agents", definition, 201))["id"]);
      const careful = await make(author, carefulAgent);
      const guide = await make(author, guideAgent);
      const theirs = await make(other, { name: "plain" });

      // Runs to their next stop: the stream ends there.
      const begin = async (caller: typeof runner, agent: string, message: string) => {
        const path = `/v1/agents/${agent}/runs`;
        const { links } = await caller("POST", path, { input: { message } }, 202);
        const { self, events } = links as { self: string; events: string };
        await caller("GET", events);
        return self;
      };
      const asked = await begin(runner, careful, "What is 6 * 7, for ada?");
      await runner("POST", `${asked}/resume`, { answer: "approve" }, 403);
      const answer = { answer: "approve", config: { wait: true } };
      expect((await clerk("POST", `${asked}/resume`, answer))["output"]).toMatchObject({
        message: "It is 42.",
        status: "complete",
      });
      const located = await begin(runner, guide, "Where am I?");
      const waiting = (await runner("GET", located))["result"] as {
        output: { tool_calls: { call_id: string }[] };
      };
      const [pending] = waiting.output.tool_calls;
      const results = [{ call_id: pending?.call_id, output: { city: "Oslo" } }];
      const told = await runner("POST", `${located}/turns`, { input: { tool_results: results } });
      expect(told["output"]).toMatchObject({ message: "You are in Oslo.", status: "complete" });
      await owner("POST", `/v1/agents/${guide}/memory`, { content: "Ada lives in Oslo." }, 201);
      await begin(other, theirs, "Hello from globex.");
      await other("GET", asked, undefined, 404);

      expect((await owner("GET", "/v1/usage"))["totals"]).toMatchObject({
        turns: 2,
        llm_calls: 4,
        tool_calls: 2,
        cost_usd: 0.004,
      });
      const actions = (await audit.list(tenantId)).items.map(({ action }) => action);
      expect(actions).toEqual(expect.arrayContaining(["agent.create"]));

      const before = await tenantRows.count(otherId);
      const lines: string[] = [];
      const exported = await tenantRows.export(tenantId, async (line) => void lines.push(line));
      const all = lines.join("");
      for (const text of ["for ada", "It is 42.", "Oslo", "Ada lives in Oslo."])
        expect(all).toContain(text);
      expect(all).not.toMatch(/globex|Hello, other/);
      expect(exported).toEqual(await tenantRows.count(tenantId));
      const filled = Object.entries(exported).flatMap(([table, rows]) => (rows > 0 ? table : []));
      expect(filled).toEqual(
        expect.arrayContaining(["api_key", "checkpoints", "llm_call", "run", "run_event", "turn"]),
      );

      const deleted = await tenantRows.delete(tenantId);
      expect(deleted["tenant"]).toBe(1);
      const left = Object.entries(await tenantRows.count(tenantId)).filter(([, rows]) => rows > 0);
      expect(left).toEqual([]);
      await owner("GET", "/v1/agents", undefined, 401);
      expect(await tenantRows.count(otherId)).toMatchObject({
        run: before["run"],
        turn: before["turn"],
        checkpoints: before["checkpoints"],
      });
      expect((await other("GET", "/v1/threads"))["threads"]).toHaveLength(1);
    },
  );
});
