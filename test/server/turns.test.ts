import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/index.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { calculates, useRunServers } from "../helpers/run-server.ts";

interface Turn {
  readonly turn: number;
  readonly answer: string | null;
  readonly [name: string]: unknown;
}

describe.each(drawDatabases(import.meta.url))("on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  describe.skipIf(!database.available)("turns of a thread", () => {
    it("are listed newest first, with what was asked, the answers and the steps", async () => {
      const server = await start([calculates, "It is 42.", "Two.", "Three.", "Four."]);
      const runs = await server.agent({ name: "counting", tools: ["calculator"] });
      const file = { name: "a.txt", mime_type: "text/plain", data: btoa("a text") };
      const { json } = await server.post(runs, {
        input: { message: "What is 6 * 7?", attachments: [file] },
      });
      const run = `${runs}/${String(json["run_id"])}`;
      await server.until(run, "complete");
      for (const message of ["two", "three", "four"])
        await server.post(`${run}/turns`, { input: { message } });
      const path = `/v1/threads/${String(json["thread_id"])}/turns`;
      const { status, json: page, headers } = await server.send("GET", `${path}?limit=2`);
      expect(status).toBe(200);
      const { json: last } = await server.send("GET", run);
      expect(page).toMatchObject({
        turns: [
          {
            turn: 3,
            turn_id: last["turn_id"],
            asked: [{ text: "four", attachments: [] }],
            added: [],
            answer: "Four.",
          },
          {
            turn: 2,
            turn_id: null,
            asked: [{ text: "three" }],
            answer: "Three.",
            steps: [{ id: "2.0" }],
          },
        ],
        next_cursor: "2",
      });
      const next = /<([^>]+)>/.exec(headers.get("link") ?? "")?.[1] ?? "";
      const { json: rest } = await server.send("GET", next);
      const [second, first] = rest["turns"] as Turn[];
      expect(rest["next_cursor"]).toBeNull();
      expect(second).toMatchObject({ turn: 1, answer: "Two." });
      expect(first).toMatchObject({
        turn: 0,
        asked: [{ attachments: [{ name: "a.txt", mime_type: "text/plain", bytes: 6 }] }],
        answer: "It is 42.",
        steps: [
          {
            id: "0.0",
            calls: [{ tool: "calculator", outcome: "success" }],
            record: { tool_results: [{ args: { expression: "6 * 7" } }] },
          },
          { id: "0.1", calls: [] },
        ],
      });
      expect((await server.send("GET", `${path}?cursor=x`)).status).toBe(400);
    });

    it("come in pages that are bounded in bytes, as steps do, without records that are too large", async () => {
      const large = defineTool({
        name: "large",
        description: "Returns a large text.",
        input_schema: z.object({}),
        execution: { max_result_bytes: 2_000_000 },
        handler: () => "x".repeat(1_500_000),
      });
      const calls = { calls: [{ name: "large", args: {} }] };
      const server = await start([calls, "One.", calls, "Two.", calls, "Three.", calls, "Four."], {
        tools: [large],
      });
      const runs = await server.agent({ name: "large", tools: ["large"] });
      let thread_id: string | undefined;
      for (let turn = 0; turn < 4; turn += 1) {
        const { json } = await server.post(runs, { input: { message: "Go." }, thread_id });
        thread_id = String(json["thread_id"]);
        await server.until(`${runs}/${String(json["run_id"])}`, "complete");
      }
      const thread = `/v1/threads/${thread_id}`;
      const { json: steps, text } = await server.send("GET", `${thread}/steps`);
      expect(text.length).toBeLessThan(4_194_304);
      expect(steps["next_cursor"]).toBe("1.1");
      expect(
        (await server.send("GET", `${thread}/steps?brief=true`)).json["next_cursor"],
      ).toBeNull();
      const { json: page } = await server.send("GET", `${thread}/turns`);
      const turns = page["turns"] as { steps: { record?: object }[] }[];
      expect(turns.map((one) => one.steps.map(({ record }) => record !== undefined))).toEqual(
        Array.from({ length: 4 }, () => [false, true]),
      );
    });

    it("belong to the tenant, and are none before the first run", async () => {
      const server = await start([]);
      const other = await server.join(["*"]);
      const made = await server.post("/threads", {});
      const path = `/v1/threads/${String(made.json["thread_id"])}/turns`;
      expect((await server.send("GET", path)).json).toEqual({ turns: [], next_cursor: null });
      expect((await server.send("GET", path, { key: other.key })).status).toBe(404);
    });
  });
});
