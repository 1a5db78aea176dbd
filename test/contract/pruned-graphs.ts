import { randomUUID } from "node:crypto";
import {
  Command,
  DeltaValue,
  END,
  START,
  StateGraph,
  StateSchema,
  type BaseCheckpointSaver,
} from "@langchain/langgraph";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { defineAgent, executeAgent } from "../../src/index.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import { threadTuples } from "../helpers/thread-tuples.ts";
import { loopGraph, stateWhere } from "./time-travel-graph.ts";
import { askingGraph } from "./transfer-contract.ts";

const threadOf = (threadId: string) => ({ configurable: { thread_id: threadId } });

/** Adds a line a step, until there are seven, to a channel that is stored whole every fourth time. */
function deltaGraph(checkpointer: BaseCheckpointSaver) {
  const lines = new DeltaValue(z.array(z.string()), {
    reducer: (old, writes) => [...old, ...writes.flat()],
    snapshotFrequency: 4,
  });
  return new StateGraph(new StateSchema({ lines }))
    .addNode("say", (state) => ({ lines: [`line ${state.lines.length}`] }))
    .addEdge(START, "say")
    .addConditionalEdges("say", (state) => (state.lines.length < 7 ? "say" : END))
    .compile({ checkpointer });
}

/** What graphs do on threads that were pruned. */
export function prunedGraphs(database: TestDatabase): void {
  describe.skipIf(!database.available)(`pruned threads on ${database.kind}`, () => {
    let saver: PostgresCheckpointer;
    beforeAll(() => {
      saver = new PostgresCheckpointer(database.shared.pool);
    });
    /** Knows nothing of what was before. */
    const another = () => new PostgresCheckpointer(database.shared.pool);

    it("go on, and have interrupts in subgraphs answered", async () => {
      const id = randomUUID();
      await askingGraph(saver).invoke({}, threadOf(id));
      const before = (await threadTuples(another(), id)).length;
      const pruned = await saver.prune({ threadId: id, keep: "latest" });
      const left = await threadTuples(another(), id);
      expect(left.map(({ namespace }) => namespace.replace(/:.*/, ""))).toEqual(["sub", ""]);
      expect(pruned.checkpoints).toBe(before - 2);
      for (const by of [another(), saver]) {
        const copy = randomUUID();
        await saver.forkThread({ threadId: id, checkpointId: left[1]!.id, newThreadId: copy });
        const answer = new Command({ resume: "this one" }) as never;
        expect(await askingGraph(by).invoke(answer, threadOf(copy))).toMatchObject({
          heard: "this one",
        });
      }
    });

    it("keep a run whole that goes on from a checkpoint which is removed under it", async () => {
      const id = randomUUID();
      const topic = "cats ".repeat(60);
      await loopGraph(saver).invoke({ topic, left: 6 }, threadOf(id));
      const old = await stateWhere(loopGraph(saver), threadOf(id), ({ left }) => left === 3);
      const removing = new PostgresCheckpointer(database.shared.pool);
      const put = removing.put.bind(removing);
      let removed = 0;
      // Before its first step is stored, the checkpoint that the run began at goes, by another process.
      removing.put = async (...args) => {
        const pruned = await another().prune({ threadId: id, keep: "latest" });
        removed += pruned.elements;
        return put(...args);
      };

      await loopGraph(removing).invoke(null, old.config);

      expect(removed).toBeGreaterThan(0);
      const { values } = await loopGraph(another()).getState(threadOf(id));
      expect(values).toMatchObject({
        left: 0,
        lines: [6, 5, 4, 3, 2, 1].map((left) => `${topic} ${left}`),
      });
      expect((await another().verifyThread(id)).damaged).toEqual([]);
    });

    it("have delta channels as they were", async () => {
      const id = randomUUID();
      await deltaGraph(saver).invoke({ lines: ["begin"] }, threadOf(id));
      const lines = async () =>
        ((await deltaGraph(another()).getState(threadOf(id))).values as { lines: string[] }).lines;
      const before = await lines();
      expect(before).toHaveLength(7);
      const all = await threadTuples(another(), id);

      const pruned = await saver.prune({ threadId: id, keep: "latest" });

      expect(await lines()).toEqual(before);
      const left = all.length - pruned.checkpoints;
      expect(left).toBeGreaterThan(1);
      expect(left).toBeLessThan(all.length);
      await deltaGraph(saver).invoke({ lines: ["more"] }, threadOf(id));
      expect(await lines()).toEqual([...before, "more", "line 8"]);
    });

    it("keep the ends of an agent's turns", async () => {
      const id = randomUUID();
      const agent = defineAgent({
        name: "keeper",
        execution_config: { execution_scope: "thread" },
      });
      const { runtime } = await testRuntime(["one", "two", "three"], { checkpointer: saver });
      for (const message of ["1", "2", "3"])
        await executeAgent(agent, { message }, { runtime, threadId: id });
      await saver.prune({ threadId: id, keep: "turn_ends" });
      const left = await threadTuples(another(), id);
      expect(
        left.map(({ checkpoint }) => {
          const { status, output } = checkpoint.channel_values as {
            status: string;
            output: object;
          };
          return [status, output];
        }),
      ).toEqual(["three", "two", "one"].map((message) => ["COMPLETED", { message }]));
    });
  });
}
