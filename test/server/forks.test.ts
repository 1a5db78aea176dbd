import { describe, expect, it } from "vitest";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { useRunServers } from "../helpers/run-server.ts";

describe.each(drawDatabases(import.meta.url))("on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  it.skipIf(!database.available)(
    "a fork before a turn takes another message, and edited state, and runs nothing itself",
    async () => {
      const server = await start(["One.", "Two.", "Other."]);
      const runs = await server.agent({ name: "plain" });
      const ended = async (body: object) => {
        const { json } = await server.post(runs, body);
        return server.until(`${runs}/${String(json["run_id"])}`, "complete");
      };
      const first = await ended({ input: { message: "First." } });
      const thread_id = String(first["thread_id"]);
      const result = first["result"] as { checkpoint_id: string };
      await ended({ thread_id, input: { message: "Second." } });
      const path = `/v1/threads/${thread_id}/fork`;
      const modified_state = { execution: { note: "edited" } };
      const checkpoint_id = result.checkpoint_id;
      const made = await server.post(path, { checkpoint_id, modified_state });
      expect([made.status, made.text]).toEqual([201, expect.any(String)]);
      const forked = String(made.json["thread_id"]);
      expect(made.headers.get("location")).toBe(`/v1/threads/${forked}`);
      expect(server.model.requests).toHaveLength(2);
      const { json: thread } = await server.send("GET", `/v1/threads/${forked}`);
      const origin = { thread_id, checkpoint_id };
      expect(thread).toMatchObject({ metadata: { forked_from: origin } });
      const state = await server.send("GET", `/threads/${forked}/state`);
      expect(state.json["values"]).toMatchObject({ execution: { note: "edited" } });
      const run = await ended({ thread_id: forked, input: { message: "Edited." } });
      expect(run["result"]).toMatchObject({ output: { message: "Other." } });
      expect(server.model.read(2)).toEqual(
        expect.arrayContaining(["human: First.", "ai: One.", "human: Edited."]),
      );
      expect(server.model.read(2)).not.toContain("human: Second.");
      const { json: old } = await server.send("GET", `/v1/threads/${thread_id}`);
      expect(old["turns"]).toBe(2);
      const { key } = await server.join();
      expect((await server.post(path, {}, { key })).status).toBe(404);
      const unknown = { checkpoint_id: "00000000-0000-6000-8000-000000000000" };
      expect((await server.post(path, unknown)).status).toBe(404);
      const bad = await server.post(path, { modified_state: { output: { sum: 1 }, execution: 5 } });
      expect(bad.json).toMatchObject({ status: 422, code: "invalid_state_update" });
    },
  );
});
