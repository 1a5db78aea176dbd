import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it, vi } from "vitest";
import { ChangeSubscription } from "../../src/server/runs/change-feeds.ts";
import { readRunChanges } from "../../src/storage/platform/runs/run-versions.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { calculates, gate, useRunServers } from "../helpers/run-server.ts";

describe.each(drawDatabases(import.meta.url))("on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  describe.skipIf(!database.available)("the changes of a tenant", () => {
    it("name runs that are queued, wait, go on and end, and none of other tenants", async () => {
      const server = await start([calculates, "It is 42.", "Hidden."]);
      const other = await server.join();
      const changes = await server.stream("/v1/changes");
      const others = await server.stream("/v1/changes", { key: other.key });
      expect(await changes.next()).toMatchObject({ event: "ready", data: {} });
      expect(await others.next()).toMatchObject({ event: "ready" });
      const runs = await server.agent();
      const { json } = await server.post(runs, { input: { message: "6 * 7?" } });
      const [run_id, thread_id] = [String(json["run_id"]), String(json["thread_id"])];
      const until = async (status: string) => {
        for (;;) {
          const change = await changes.next();
          expect(change).toMatchObject({
            event: "change",
            data: { run_id, thread_id, agent_id: runs.split("/")[3] },
          });
          if (change?.data["status"] === status) return change.data;
        }
      };
      const waiting = await until("awaiting_human");
      const listed = await server.send("GET", "/v1/requests");
      const [request] = listed.json["requests"] as { id: string }[];
      const answers = { [String(request?.id)]: { decision: "approve" } };
      await server.post(`${runs}/${run_id}/resume`, { answers });
      const ended = await until("complete");
      expect(Number(ended["last_event"])).toBeGreaterThan(Number(waiting["last_event"]));
      const plain = { name: "plain" };
      const made = await server.send("POST", "/v1/agents", { body: plain, key: other.key });
      const path = `/v1/agents/${String(made.json["id"])}/runs`;
      const hidden = await server.post(path, { input: { message: "Hi" } }, { key: other.key });
      const first = await others.next();
      expect(first?.data["run_id"]).toBe(hidden.json["run_id"]);
      changes.close();
      others.close();
    });

    it("are left out while nothing is new, and found without notices", async () => {
      const busy = gate();
      const waits = async () => {
        await busy.wait();
        return new AIMessage("Late.");
      };
      const server = await start([waits, "Second."]);
      const runs = await server.agent({ name: "plain" });
      const { json } = await server.post(runs, { input: { message: "Hi" } });
      await busy.arrived;
      const { signals, platform } = server.base;
      const run = String(json["run_id"]);
      const lastEvent = async () => {
        const of = { ids: [run], withOpen: false };
        const [found] = await readRunChanges(platform.tables, server.tenantId, of);
        return found?.lastEvent;
      };
      // The start of the step is stored after its model is called: a change that the stream must not see.
      await expect.poll(lastEvent).toBe(4);
      const changes = await server.stream("/v1/changes");
      await changes.next();
      for (let count = 0; count < 1_000; count += 1) signals.receive(run);
      // The read that finds another run has the first one among those to read.
      const second = await server.post(runs, { input: { message: "Hi" } });
      expect((await changes.next())?.data["run_id"]).toBe(second.json["run_id"]);
      // What another process writes, without a notice.
      signals.receive = () => {};
      busy.open();
      // The end of the step may be read before the end of the run.
      const statuses: unknown[] = [];
      while (statuses.at(-1) !== "complete") {
        const change = await changes.next();
        expect(change?.event).toBe("change");
        if (change?.data["run_id"] !== run) continue;
        expect(change.data["last_event"]).toBeGreaterThan(4);
        statuses.push(change.data["status"]);
      }
      changes.close();
    });

    it("are read once for all streams of a tenant, while there are any", async () => {
      const server = await start(["Hello."]);
      const listen = vi.spyOn(server.base.signals, "listen");
      const streams = [await server.stream("/v1/changes"), await server.stream("/v1/changes")];
      for (const stream of streams) expect(await stream.next()).toMatchObject({ event: "ready" });
      expect(listen).toHaveBeenCalledTimes(1);
      const runs = await server.agent({ name: "plain" });
      const { json } = await server.post(runs, { input: { message: "Hi" } });
      for (const stream of streams)
        expect(await stream.next()).toMatchObject({ data: { run_id: json["run_id"] } });
      for (const stream of streams) stream.close();
      // The last one to go ends the feed: the next begins another.
      const isAnother = async () => {
        const stream = await server.stream("/v1/changes");
        await stream.next();
        stream.close();
        return listen.mock.calls.length > 1;
      };
      await expect.poll(isAnother).toBe(true);
    });

    it("of a stream that takes none are bounded, and a reset stands for them", () => {
      const changes = new ChangeSubscription(Promise.resolve(), () => {});
      const run = (id: number) => {
        const state = "queued" as const;
        return { id: String(id), threadId: "t", agentId: null, state, lastEvent: id };
      };
      const runs = Array.from({ length: 5_000 }, (_, id) => run(id));
      changes.add({ runs, isCut: false });
      changes.add({ runs: [run(0)], isCut: false });
      expect(changes.take()).toEqual({ runs, isCut: false });
      changes.add({ runs: [...runs, run(5_000)], isCut: false });
      changes.add({ runs: [run(1)], isCut: false });
      expect(changes.take()).toEqual({ runs: [run(1)], isCut: true });
    });

    it("end with the server, and need the scope of runs", async () => {
      const server = await start([]);
      const { key } = await server.join(["agents:read"]);
      expect((await server.send("GET", "/v1/changes", { key })).status).toBe(403);
      const changes = await server.stream("/v1/changes");
      await changes.next();
      await server.server.close(0);
      expect(await changes.next()).toBeNull();
    });
  });
});
