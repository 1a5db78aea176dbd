import { describe, expect, it } from "vitest";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { calculates, useRunServers } from "../helpers/run-server.ts";

describe.each(drawDatabases(import.meta.url))("on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  it.skipIf(!database.available)(
    "the list of threads has sums of turns, and pages by the last activity",
    async () => {
      const server = await start([calculates, "42.", "Hello.", "Again."]);
      const runs = await server.agent();
      const first = await server.post(runs, { input: { message: "6 * 7?" } });
      const run = `${runs}/${String(first.json["run_id"])}`;
      await server.until(run, "awaiting_human");
      const listed = await server.send("GET", "/v1/requests");
      const [request] = listed.json["requests"] as { id: string }[];
      const answers = { [String(request?.id)]: { decision: "approve" } };
      await server.post(`${run}/resume`, { answers });
      await server.until(run, "complete");
      const second = await server.post(runs, { input: { message: "Hi" } });
      await server.until(`${runs}/${String(second.json["run_id"])}`, "complete");
      const ids = [first, second].map(({ json }) => String(json["thread_id"]));
      const threadsOf = async (query: string) => {
        const { status, json } = await server.send("GET", `/v1/threads${query}`);
        expect([query, status]).toEqual([query, 200]);
        return json as { threads: { thread_id: string }[]; next_cursor: string | null };
      };
      const order = async (query: string) =>
        (await threadsOf(query)).threads.map(({ thread_id }) => thread_id);
      expect(await order("?order=activity")).toEqual(ids.toReversed());
      const again = { thread_id: ids[0], input: { message: "Sure?" } };
      const third = await server.post(runs, again);
      await server.until(`${runs}/${String(third.json["run_id"])}`, "complete");
      expect(await order("?order=activity")).toEqual(ids);
      expect(await order("")).toEqual(ids.toReversed());
      const page = await threadsOf("?order=activity&limit=1");
      expect(page.threads).toMatchObject([
        { thread_id: ids[0], turns: 2, tokens_in: 30, tokens_out: 15, title: "6 * 7?" },
      ]);
      const rest = await threadsOf(`?order=activity&limit=1&cursor=${String(page.next_cursor)}`);
      expect(rest.threads).toMatchObject([
        { thread_id: ids[1], tokens_in: 10, turns: 1, cost_usd: 0.001 },
      ]);
      expect(rest.next_cursor).toBeNull();
      expect(await order("?order=activity&status=FAILED")).toEqual([]);
      expect(await order("?q=6%20*&order=activity")).toEqual([ids[0]]);
      expect(await order(`?q=${ids[1]!.slice(0, 30)}`)).toEqual([ids[1]]);
      expect(await order("?q=hI&status=COMPLETED")).toEqual([ids[1]]);
      expect(await order("?q=hI&status=FAILED")).toEqual([]);
      expect(await order("?q=%25")).toEqual([]);
      expect(await threadsOf("?q=h")).toMatchObject({ is_cut: false, next_cursor: null });
      for (const wrong of ["", "%00", "x".repeat(201)]) {
        const refused = await server.send("GET", `/v1/threads?q=${wrong}`);
        expect(refused.json).toMatchObject({ type: "/problems/invalid_request" });
      }
      await server.base.platform.instances.mergeMetadata(server.tenantId, ids[1]!, {
        title: "Greeting",
      });
      expect(await order("?q=hi")).toEqual([]);
      expect(await order("?q=greet")).toEqual([ids[1]]);
      const one = await server.send("GET", `/v1/threads/${ids[1]}`);
      expect(one.json["title"]).toBe("Greeting");
      const bad = await server.send("GET", "/v1/threads?order=activity&cursor=x");
      expect(bad.json["type"]).toBe("/problems/invalid_cursor");
      const agent = runs.split("/")[3];
      const all = await server.send("GET", `/v1/runs?agent_id=${agent}`);
      expect(all.json["runs"]).toHaveLength(3);
      const { key } = await server.join();
      const none = await server.send("GET", "/v1/threads?order=activity&q=6", { key });
      expect(none.json["threads"]).toEqual([]);
    },
  );
});
