import { randomUUID } from "node:crypto";
import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  END,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
  type BaseCheckpointSaver,
} from "@langchain/langgraph";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { describe, expect, test } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { collect } from "../helpers/collect.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { stockSaver } from "../helpers/stock-saver.ts";
import { loopGraph, stateWhere } from "./time-travel-graph.ts";

/** What every checkpointer of ours does on every database, beyond LangGraph's validation suite. */
export function checkpointerContract(database: TestDatabase): void {
  const newThread = () => ({ configurable: { thread_id: randomUUID() } });
  const checkpointer = () => new PostgresCheckpointer(database.shared.pool);

  describe.skipIf(!database.available)(`PostgresCheckpointer on ${database.kind}`, () => {
    test("gives back what was put", async () => {
      const thread = newThread();
      const saver = checkpointer();
      const checkpoint = {
        ...emptyCheckpoint(),
        channel_values: { text: "a" },
        channel_versions: { text: 1 },
      };
      const config = { configurable: { ...thread.configurable, checkpoint_ns: "" } };

      const stored = await saver.put(
        config,
        checkpoint,
        { source: "loop", step: 0, parents: {} },
        { text: 1 },
      );
      await saver.putWrites(stored, [["text", "b"]], "task");

      expect(await saver.getTuple(stored)).toMatchObject({
        checkpoint,
        metadata: { source: "loop", step: 0 },
        pendingWrites: [["task", "text", "b"]],
      });
      expect((await collect(saver.list(thread))).map((tuple) => tuple.checkpoint.id)).toEqual([
        checkpoint.id,
      ]);
      await saver.deleteThread(thread.configurable.thread_id);
      expect(await saver.getTuple(stored)).toBeUndefined();
    });

    test("stores the state that each fork of a checkpoint returns, and leaves the first branch as it was", async () => {
      const thread = newThread();
      const graph = loopGraph(checkpointer());
      const branches = [
        {
          returned: await graph.invoke({ topic: "cats", left: 3 }, thread),
          end: await graph.getState(thread),
        },
      ];
      const middle = await stateWhere(graph, thread, (values) => values.left === 2);

      for (const topic of ["dogs", "owls"]) {
        const fork = await graph.updateState(middle.config, { topic });
        branches.push({
          returned: await graph.invoke(null, fork),
          end: await graph.getState(thread),
        });
      }

      expect(branches[2]!.returned).toEqual({
        topic: "owls",
        left: 0,
        lines: ["cats 3", "owls 2", "owls 1"],
        last: "owls 1",
      });
      for (const { returned, end } of branches)
        expect((await graph.getState(end.config)).values).toEqual(returned);
    });

    test("gives two forks of a checkpoint no version in common beside those they began with", async () => {
      const thread = newThread();
      const saver = checkpointer();
      const graph = loopGraph(saver);
      await graph.invoke({ topic: "cats", left: 2 }, thread);
      const middle = await stateWhere(graph, thread, (values) => values.left === 1);
      const versions = async () =>
        Object.entries((await saver.getTuple(thread))!.checkpoint.channel_versions).map(String);

      await graph.invoke(null, await graph.updateState(middle.config, { topic: "dogs" }));
      const dogs = await versions();
      await graph.invoke(null, await graph.updateState(middle.config, { topic: "owls" }));
      const owls = await versions();

      const begin = Object.entries(
        (await saver.getTuple(middle.config))!.checkpoint.channel_versions,
      ).map(String);
      expect(dogs.filter((version) => owls.includes(version) && !begin.includes(version))).toEqual(
        [],
      );
    });

    test("continues a thread that the stock saver wrote, past the tenth step, and forks it", async () => {
      const thread = newThread();
      const stock = loopGraph(stockSaver(database.shared.pool));

      const expected = async (saver: BaseCheckpointSaver) => {
        const graph = loopGraph(saver);
        if (saver instanceof MemorySaver) await graph.invoke({ topic: "cats", left: 12 }, thread);
        const going = await graph.invoke({ topic: "dogs", left: 12 }, thread);
        const old = await stateWhere(
          graph,
          thread,
          (values) => values.topic === "cats" && values.left === 2,
        );
        await graph.invoke(null, await graph.updateState(old.config, { topic: "apes" }));
        const forked = await graph.invoke(
          null,
          await graph.updateState(old.config, { topic: "owls" }),
        );
        const { length: steps } = await collect(graph.getStateHistory(thread));
        return { going, forked, stored: (await graph.getState(thread)).values, steps };
      };

      await stock.invoke({ topic: "cats", left: 12 }, thread);
      const ours = await expected(checkpointer());

      expect(ours).toEqual(await expected(new MemorySaver()));
      expect(ours.stored).toEqual(ours.forked);
    });

    test("keeps two threads apart that run at the same time", async () => {
      const graph = loopGraph(checkpointer());
      const threads = ["cats", "dogs"].map((topic) => ({ topic, thread: newThread() }));

      await Promise.all(
        threads.map(({ topic, thread }) => graph.invoke({ topic, left: 5 }, thread)),
      );

      const stored = await Promise.all(threads.map(({ thread }) => graph.getState(thread)));
      expect(stored.map((state) => state.values.lines)).toEqual(
        ["cats", "dogs"].map((topic) => [5, 4, 3, 2, 1].map((left) => `${topic} ${left}`)),
      );
    });

    test.each(["no NUL\0 in it", "no half \uD800", "no more than 850 bytes".repeat(40)])(
      "refuses the thread id %j",
      async (thread_id) => {
        const graph = loopGraph(checkpointer());
        const thread = { configurable: { thread_id } };

        await expect(graph.invoke({ topic: "cats", left: 1 }, thread)).rejects.toMatchObject({
          code: "checkpoint_config",
        });
      },
    );

    test("keeps all that a run holds when its thread is deleted meanwhile", async () => {
      const { thread_id } = newThread().configurable;
      const saver = checkpointer();
      const config = { configurable: { thread_id, checkpoint_ns: "" } };
      const put = async (at: RunnableConfig, values: Record<string, string>, changed: string) => {
        const channel_versions = { kept: 1, last: values["last"]!.length };
        const checkpoint = {
          ...emptyCheckpoint(),
          id: uuid6(0),
          channel_values: values,
          channel_versions,
        };
        const versions = changed === "all" ? channel_versions : { last: channel_versions.last };
        return saver.put(at, checkpoint, { source: "loop", step: 0, parents: {} }, versions);
      };
      const first = await put(config, { kept: "here", last: "a" }, "all");
      await saver.deleteThread(thread_id);

      await put(first, { kept: "here", last: "ab" }, "last");

      const stored = await checkpointer().getTuple(config);
      expect(stored?.checkpoint.channel_values).toEqual({ kept: "here", last: "ab" });
    });

    test("goes on after a query that failed", async () => {
      const thread = newThread();
      const graph = loopGraph(checkpointer());
      await expect(database.shared.pool.query("select 1 / 0")).rejects.toMatchObject({
        code: "22012",
      });

      expect(await graph.invoke({ topic: "cats", left: 1 }, thread)).toMatchObject({
        last: "cats 1",
      });
    });

    test("keeps NUL characters and halves of surrogate pairs in state", async () => {
      const thread = newThread();
      const text = "NUL \0, escaped \\u0000, half \uD800, whole \u{1F600}";
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("echo", ({ messages }) => ({ messages: [new HumanMessage(messages[0]!.text)] }))
        .addEdge(START, "echo")
        .addEdge("echo", END)
        .compile({ checkpointer: checkpointer() });

      await graph.invoke({ messages: [new HumanMessage(text)] }, thread);

      const { messages } = (await graph.getState(thread)).values as { messages: BaseMessage[] };
      expect(messages.map((message) => message.text)).toEqual([text, text]);
    });

    test("leaves characters that jsonb refuses out of metadata", async () => {
      const config = { configurable: { thread_id: randomUUID(), checkpoint_ns: "" } };
      const saver = checkpointer();
      const metadata = {
        source: "loop" as const,
        step: 0,
        parents: {},
        "na\0me": ["NUL \0", "half \uD800"],
      };

      const stored = await saver.put(config, emptyCheckpoint(), metadata, {});

      expect((await saver.getTuple(stored))?.metadata).toMatchObject({
        name: ["NUL ", "half \uFFFD"],
      });
    });

    test("keeps checkpoints when the database is closed and opened again", async () => {
      const thread = newThread();
      const before = await database.open();
      await loopGraph(new PostgresCheckpointer(before.pool)).invoke(
        { topic: "cats", left: 2 },
        thread,
      );
      await before.close();

      const after = await database.open();
      const { values } = await loopGraph(new PostgresCheckpointer(after.pool)).getState(thread);

      expect(values).toEqual({
        topic: "cats",
        left: 0,
        lines: ["cats 2", "cats 1"],
        last: "cats 1",
      });
    });

    test("keeps the parent of a checkpoint that is put again on top of itself", async () => {
      const { thread_id } = newThread().configurable;
      const saver = checkpointer();
      const at = (checkpoint_id?: string) => ({
        configurable: { thread_id, checkpoint_ns: "", ...(checkpoint_id && { checkpoint_id }) },
      });
      const put = async (config: RunnableConfig, id: string, text: string) => {
        const checkpoint = {
          ...emptyCheckpoint(),
          id,
          channel_values: { text },
          channel_versions: { text: saver.getNextVersion(undefined) },
        };
        const versions = checkpoint.channel_versions;
        return saver.put(config, checkpoint, { source: "loop", step: 0, parents: {} }, versions);
      };
      const [first, second] = [uuid6(0), uuid6(1)];

      await put(at(), first, "first");
      await put(at(first), second, "second");
      await put(at(second), second, "again");

      const stored = await checkpointer().getTuple(at());
      expect(stored?.checkpoint.channel_values).toEqual({ text: "again" });
      expect(stored?.parentConfig).toEqual(at(first));
      expect(await checkpointer().verifyThread(thread_id)).toEqual({ checked: 2, damaged: [] });
    });

    test("sets up its tables when several do so at once, in a schema of any name", async () => {
      const schema = `a "quoted"; drop -- ${randomUUID()}`;
      const savers = [1, 2, 3, 4].map(
        () => new PostgresCheckpointer(database.shared.pool, { schema }),
      );

      await Promise.all(savers.map((saver) => saver.setup()));
      const thread = newThread();
      await loopGraph(savers[0]!).invoke({ topic: "cats", left: 1 }, thread);

      expect((await loopGraph(savers[3]!).getState(thread)).values).toMatchObject({
        last: "cats 1",
      });
      expect(await savers[0]!.setup()).toBeUndefined();
    });
  });
}
