import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { helper, useRunServers } from "../helpers/run-server.ts";

/** The scopes of the routes that read threads, and of those that clients follow and check with. */
const scopes = {
  "get /v1/threads": ["runs:read"],
  "get /v1/threads/{thread_id}": ["runs:read"],
  "delete /v1/threads/{thread_id}": ["runs:write"],
  "post /v1/threads/{thread_id}/fork": ["runs:write"],
  "get /v1/threads/{thread_id}/steps": ["checkpoints:read"],
  "get /v1/threads/{thread_id}/steps/{turn}/{step}": ["checkpoints:read"],
  "get /v1/threads/{thread_id}/path": ["checkpoints:read"],
  "get /v1/threads/{thread_id}/context": ["checkpoints:read"],
  "get /v1/threads/{thread_id}/plans": ["checkpoints:read"],
  "get /v1/threads/{thread_id}/turns": ["checkpoints:read"],
  "get /v1/threads/{thread_id}/checkpoints": ["checkpoints:read"],
  "get /v1/threads/{thread_id}/checkpoints/{checkpoint_id}": ["checkpoints:read"],
  "get /v1/threads/{thread_id}/checkpoints/{checkpoint_id}/diff": ["checkpoints:read"],
  "get /v1/changes": ["runs:read"],
  "get /v1/runs": ["runs:read"],
  "get /v1/requests": ["runs:read"],
  "get /v1/waits": ["runs:read"],
  "post /v1/agents/check": ["agents:read"],
  "get /v1/schemas/agent": [],
  "post /v1/schedules/check": ["runs:read"],
};

describe.each(drawDatabases(import.meta.url))("on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  describe.skipIf(!database.available)("what a key reads of a thread", () => {
    it("is what its scopes allow, of its own tenant, without what rails redacted", async () => {
      const repeats = new AIMessage({
        content: "This is ada@example.org.",
        tool_calls: [{ id: "c", name: "calculator", args: { expression: "ada@example.org" } }],
      });
      const server = await start([() => repeats]);
      const rails = { ...helper.guardrail_config, input_rails: [{ type: "pii" }] };
      const runs = await server.agent({ ...helper, guardrail_config: rails });
      const { json } = await server.post(runs, { input: { message: "I am ada@example.org." } });
      await server.until(`${runs}/${String(json["run_id"])}`, "awaiting_human");

      const known = Object.keys(scopes);
      const routes = server.server.routes.map(({ method, path, scopes: own }) => {
        return [`${method} ${path}`, own] as const;
      });
      const listed = routes.filter(
        ([name]) => name.includes(" /v1/threads") || known.includes(name),
      );
      expect(Object.fromEntries(listed)).toEqual(scopes);

      const thread = `/v1/threads/${String(json["thread_id"])}`;
      const { json: page } = await server.send("GET", `${thread}/checkpoints`);
      const ids = (page["checkpoints"] as { id: string }[]).map(({ id }) => id);
      const reads = [
        `${thread}/steps`,
        `${thread}/steps/0/0`,
        `${thread}/path`,
        `${thread}/context?turn=0&step=0`,
        `${thread}/plans`,
        `${thread}/turns`,
        `${thread}/checkpoints`,
        `${thread}/checkpoints/${ids[0]}`,
        `${thread}/checkpoints/${ids[0]}/diff?from=${ids.at(-1)}`,
      ];
      const stranger = await server.join();
      const weak = await server.join(["runs:read", "runs:write"], server.tenantId);
      const reader = await server.join(["checkpoints:read"], server.tenantId);
      for (const path of reads) {
        const answers = [stranger, weak, reader].map(({ key }) =>
          server.send("GET", path, { key }),
        );
        const [strange, refused, shown] = await Promise.all(answers);
        expect([path, strange?.status, refused?.status, shown?.status]).toEqual([
          path,
          404,
          403,
          200,
        ]);
        expect([path, shown?.text.includes("ada@")]).toEqual([path, false]);
      }
      const whole = await server.send("GET", `${thread}/checkpoints/${ids[0]}`);
      expect(JSON.stringify(whole.json["requests"])).toContain("ada@");
      for (const method of ["DELETE", "GET"] as const)
        expect((await server.send(method, thread, { key: stranger.key })).status).toBe(404);
      const forked = await server.post(`${thread}/fork`, {}, { key: stranger.key });
      expect(forked.status).toBe(404);
      expect((await server.post(`${thread}/fork`, {}, { key: reader.key })).status).toBe(403);
    });
  });
});
