import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import type { DevServer } from "../helpers/dev-server.ts";
import { readLogLines } from "../helpers/experiment-run.ts";

/** What the experiment of a dev server shows and does; its logs go to a folder. */
export function servesExperiments(server: () => DevServer, logFolder: string): void {
  describe("the experiment", () => {
    const client = () => new Client({ apiUrl: server().url, apiKey: null });

    it("shows the config that it takes, its state and its cycle", async () => {
      const schemas = await client().assistants.getSchemas("experiment");
      expect(schemas.input_schema?.properties).toMatchObject({
        config: { properties: { run_id: { type: "string" }, cycle_count: { type: "integer" } } },
      });
      expect(Object.keys(schemas.state_schema?.properties ?? {})).toEqual(
        expect.arrayContaining([
          "run_id",
          "cycle_number",
          "model_name",
          "message_history",
          "reflection_history",
        ]),
      );
      const graph = await client().assistants.getGraph("experiment");
      expect(graph.nodes.map((node) => String(node.id))).toEqual([
        "__start__",
        "begin",
        "start_cycle",
        "think",
        "act",
        "reflect",
        "end_cycle",
        "__end__",
      ]);
    });

    it("runs all cycles of a config, and logs them", async () => {
      const thread = await client().threads.create();
      const config = {
        run_id: "studio",
        model_name: "offline:rules",
        cycle_count: 2,
        cycle_prompt: 'Write "calm" to memory under the key day-${cycle_number}.',
      };
      const values = await client().runs.wait(thread.thread_id, "experiment", {
        input: { config },
      });
      expect(values).toMatchObject({
        run_id: "studio",
        model_name: "offline:rules",
        cycle_number: 2,
        status: "COMPLETED",
        reflection_history: [expect.any(String), expect.any(String)],
      });
      const types = readLogLines(logFolder, "studio").map(({ event_type: type }) => type);
      expect(types.filter((type) => type === "CYCLE_END")).toHaveLength(2);
      const history = await client().threads.getHistory(thread.thread_id);
      expect(history.length).toBeGreaterThan(6);
    });

    it("says what is wrong with a config, and does not write over another run's log", async () => {
      const run = async (config: object) => {
        const thread = await client().threads.create();
        return client().runs.wait(thread.thread_id, "experiment", { input: { config } });
      };
      const config = { run_id: "studio", model_name: "offline:rules", cycle_count: 1 };
      await expect(run(config)).rejects.toThrow("LogExistsError");
      await expect(run({ ...config, cycle_cuont: 2 })).rejects.toThrow("cycle_cuont");
    });
  });
}
