import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { expect, test } from "vitest";
import { pinCheckpointer, pinStore } from "../../checkpointers/pin.ts";
import { loopGraph } from "../contract/time-travel-graph.ts";

const thread = { configurable: { thread_id: "thread" } };

test("keeps its checkpointer when a server assigns another", async () => {
  const [ours, theirs] = [new MemorySaver(), new MemorySaver()];
  const graph = pinCheckpointer(loopGraph(theirs), ours);

  graph.checkpointer = theirs;
  await graph.invoke({ topic: "cats", left: 1 }, thread);

  expect(graph.checkpointer).toBe(ours);
  expect(await ours.getTuple(thread)).toBeDefined();
  expect(await theirs.getTuple(thread)).toBeUndefined();
});

test("keeps it in graphs that withConfig derives", async () => {
  const [ours, theirs] = [new MemorySaver(), new MemorySaver()];
  const graph = pinCheckpointer(loopGraph(theirs), ours)
    .withConfig({ tags: ["once"] })
    .withConfig({ tags: ["twice"] });

  graph.checkpointer = theirs;
  await graph.invoke({ topic: "cats", left: 1 }, thread);

  expect(graph.config).toMatchObject({ tags: ["once", "twice"] });
  expect(await ours.getTuple(thread)).toBeDefined();
});

test("pins again with another saver", () => {
  const [first, second] = [new MemorySaver(), new MemorySaver()];
  expect(
    pinCheckpointer(pinCheckpointer(loopGraph(first), first), second).withConfig({}).checkpointer,
  ).toBe(second);
});

test("keeps a store, or none, with a checkpointer and in derived graphs", () => {
  const [saver, ours, theirs] = [new MemorySaver(), new InMemoryStore(), new InMemoryStore()];
  for (const store of [ours, undefined]) {
    const pinned = pinStore(pinCheckpointer(loopGraph(saver), saver), store);
    const derived = pinned.withConfig({ tags: ["once"] });
    for (const graph of [pinned, derived]) {
      graph.store = theirs;
      graph.checkpointer = new MemorySaver();
      expect(graph.store).toBe(store);
      expect(graph.checkpointer).toBe(saver);
    }
  }
});
