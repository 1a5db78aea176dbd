import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { calculates, gate, useRunServers } from "../helpers/run-server.ts";

interface Entry {
  readonly node: string;
  readonly [name: string]: unknown;
}

/** A workflow with two nodes side by side, then a nested agent. */
const fork = {
  name: "fork",
  workflow_graph: {
    entry_point: "begin",
    nodes: [
      { name: "begin", type: "llm", config: { prompt: "Begin" } },
      { name: "left", type: "llm", config: { prompt: "Left" } },
      { name: "right", type: "llm", config: { prompt: "Right" } },
      { name: "inner", type: "agent", config: { agent: "helper" } },
    ],
    edges: [
      { from: "begin", to: ["left", "right"] },
      { from: "left", to: "inner" },
      { from: "right", to: "inner" },
      { from: "inner", to: "END" },
    ],
  },
};

describe.each(drawDatabases(import.meta.url))("on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  const entriesOf = ({ json }: { readonly json: Record<string, unknown> }) =>
    json["path"] as readonly Entry[];

  describe.skipIf(!database.available)("the path of a thread", () => {
    it("has every node in order, with lanes, nested agents and what waits", async () => {
      const server = await start(["Begun.", "L.", "R.", calculates, "It is 42."]);
      await server.agent();
      const listed = await server.agent(fork);
      const { json } = await server.post(listed, { input: { message: "Go." } });
      const run = `${listed}/${String(json["run_id"])}`;
      const waiting = await server.until(run, "awaiting_human");
      const path = `/v1/threads/${String(json["thread_id"])}/path`;
      const before = entriesOf(await server.send("GET", path));
      const lanes = before.filter(({ node }) => node === "left" || node === "right");
      expect(lanes.map(({ lane }) => lane)).toEqual([0, 1]);
      expect(lanes[0]?.["superstep"]).toBe(lanes[1]?.["superstep"]);
      const open = before.filter(({ ended_at: end }) => end === null);
      expect(open.map(({ node, outcome, within }) => [node, outcome, within])).toEqual([
        ["inner", "interrupted", []],
        [expect.any(String), "interrupted", ["inner"]],
      ]);
      const requests = (waiting["result"] as { output: { requests: { id: string }[] } }).output;
      const answers = { [String(requests.requests[0]?.id)]: { decision: "approve" } };
      await server.post(`${run}/resume`, { answers });
      await server.until(run, "complete");
      const after = entriesOf(await server.send("GET", path));
      expect(after.every(({ outcome, turn }) => outcome === "success" && turn === 0)).toBe(true);
      expect(after.every((one) => one["is_current"])).toBe(true);
      expect(after.filter(({ namespace }) => namespace === "").map(({ node }) => node)).toEqual(
        expect.arrayContaining(["initialize", "begin", "left", "right", "inner", "finalize"]),
      );
      const nested = after.filter(({ within }) => String(within) === "inner");
      expect(nested.map(({ node }) => node)).toEqual(
        expect.arrayContaining(["initialize", "tools", "reflect", "finalize"]),
      );
      expect(after.find(({ node }) => node === "inner")).toMatchObject({ was_interrupted: true });
      for (const { started_at: from, ended_at: to } of after.slice(1))
        expect(String(from) <= String(to)).toBe(true);
      const pages: Entry[] = [];
      let cursor: string | null = "";
      while (cursor !== null) {
        const at: string = cursor === "" ? "" : `&cursor=${cursor}`;
        const page = await server.send("GET", `${path}?limit=3${at}`);
        pages.push(...entriesOf(page));
        cursor = page.json["next_cursor"] as string | null;
      }
      expect(pages).toEqual(after);
      // A page ends with a whole superstep: of the nodes side by side it has both.
      const left = after.findIndex(({ node }) => node === "left");
      for (const [limit, size] of [
        [left, left],
        [left + 1, left + 2],
        [left + 2, left + 2],
      ]) {
        const page = entriesOf(await server.send("GET", `${path}?limit=${limit}`));
        expect([limit, page.length]).toEqual([limit, size]);
      }
      expect((await server.send("GET", `${path}?limit=10000`)).status).toBe(200);
      expect((await server.send("GET", `${path}?limit=10001`)).status).toBe(400);
      const id = String(after[0]?.["checkpoint_id"]);
      for (const forged of ["x", id.slice(1), `${id}0`]) {
        const refused = await server.send("GET", `${path}?cursor=${forged}`);
        expect([forged, refused.json["type"]]).toEqual([forged, "/problems/invalid_cursor"]);
      }
      const { key } = await server.join();
      expect((await server.send("GET", path, { key })).status).toBe(404);
    });

    it("counts the end of a turn to the attempt that broke off", async () => {
      const busy = gate();
      const waits = async () => {
        await busy.wait();
        return new AIMessage("Late.");
      };
      const server = await start(["No.", waits]);
      const execution_config = { max_attempts: 3 };
      const output_schema = { type: "object", required: ["sum"] };
      const runs = await server.agent({ name: "strict", execution_config, output_schema });
      const { json } = await server.post(runs, { input: { message: "Sum?" } });
      const run = `${runs}/${String(json["run_id"])}`;
      await busy.arrived;
      await server.send("POST", `${run}/cancel`);
      await server.until(run, "cancelled");
      busy.open();
      const path = `/v1/threads/${String(json["thread_id"])}/path`;
      const attempts = entriesOf(await server.send("GET", path)).map(
        ({ node, attempt }) => `${node} ${String(attempt)}`,
      );
      expect(attempts.slice(-5)).toEqual([
        "reason 0",
        "reflect 0",
        "plan 1",
        "reason 1",
        "finalize 1",
      ]);
    });

    it("numbers turns and attempts, in forks too, and marks abandoned branches", async () => {
      const output_schema = {
        type: "object",
        properties: { sum: { type: "integer" } },
        required: ["sum"],
      };
      const good = `{"sum": 42}`;
      const server = await start([good, "No.", good, good]);
      const execution_config = { max_attempts: 2 };
      const runs = await server.agent({ name: "strict", execution_config, output_schema });
      const first = await server.post(runs, { input: { message: "Sum?" } });
      const thread_id = String(first.json["thread_id"]);
      await server.until(`${runs}/${String(first.json["run_id"])}`, "complete");
      const again = await server.post(runs, { thread_id, input: { message: "Sure?" } });
      const run = `${runs}/${String(again.json["run_id"])}`;
      await server.until(run, "complete");
      const numbered = (entries: readonly Entry[]) =>
        entries
          .filter(({ node }) => ["initialize", "reflect", "finalize"].includes(node))
          .map(({ node, turn, attempt }) => `${node} ${String(turn)}.${String(attempt)}`);
      const all = entriesOf(await server.send("GET", `/v1/threads/${thread_id}/path`));
      expect(numbered(all)).toEqual([
        "initialize 0.0",
        "reflect 0.0",
        "finalize 0.0",
        "initialize 1.0",
        "reflect 1.0",
        "reflect 1.1",
        "finalize 1.1",
      ]);
      const from = all.filter(({ node }) => node === "initialize")[1]?.["checkpoint_id"];
      const replay = await server.post(`${run}/replay`, { checkpoint_id: from });
      await server.until(`${runs}/${String(replay.json["new_run_id"])}`, "complete");
      const forked = `/v1/threads/${String(replay.json["thread_id"])}/path`;
      expect(numbered(entriesOf(await server.send("GET", forked))).slice(-2)).toEqual([
        "reflect 1.0",
        "finalize 1.0",
      ]);
      const body = { values: { execution: {} }, checkpoint_id: from };
      expect((await server.post(`/threads/${thread_id}/state`, body)).status).toBe(200);
      const branched = entriesOf(await server.send("GET", `/v1/threads/${thread_id}/path`));
      const end = branched.findIndex((one) => one["checkpoint_id"] === from);
      const ended = branched.filter(({ ended_at: at }) => at !== null);
      expect(ended.map((one) => one["is_current"])).toEqual(ended.map((_, at) => at <= end));
    });
  });
});
