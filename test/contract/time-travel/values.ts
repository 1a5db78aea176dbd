import { AIMessage, HumanMessage, RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import {
  Annotation,
  END,
  messagesStateReducer,
  Overwrite,
  START,
  StateGraph,
  type BaseCheckpointSaver,
} from "@langchain/langgraph";
import { expect, test } from "vitest";
import type { Travel } from "./journey.ts";

const long = (text: string) => text.padEnd(300, ".");
const row = (id: number, text = "row") => ({ id, text: long(text), tags: [text, { deep: [id] }] });

const State = Annotation.Root({
  messages: Annotation<BaseMessage[]>({ reducer: messagesStateReducer, default: () => [] }),
  rows: Annotation<unknown[]>({ reducer: (all, added) => all.concat(added), default: () => [] }),
  shelf: Annotation<Record<string, unknown>>(),
  same: Annotation<unknown[]>(),
  any: Annotation<unknown>(),
});

/** `edit` does what it is told to the state; `close` adds a row. */
function editor(
  checkpointer: BaseCheckpointSaver,
  edit: (state: typeof State.State) => object = () => ({}),
) {
  return new StateGraph(State)
    .addNode("edit", edit)
    .addNode("close", ({ rows }) => ({ rows: [row(rows.length)] }))
    .addEdge(START, "edit")
    .addEdge("edit", "close")
    .addEdge("close", END)
    .compile({ checkpointer });
}

/** Values of every kind, changed in every way, on branches of one thread. */
export function values(travel: Travel): void {
  test("messages are replaced, removed and added in forks, each of which keeps its own", async () => {
    const journey = travel((checkpointer) => editor(checkpointer));
    const messages = Array.from({ length: 12 }, (_, index) =>
      index % 2 === 0
        ? new HumanMessage({ id: `m${index}`, content: long(`human ${index}`) })
        : new AIMessage({ id: `m${index}`, content: long(`ai ${index}`) }),
    );
    await journey.run({ messages });
    const start = await journey.before("close");

    const idsAfter = async (change: BaseMessage[]) => {
      const end = await journey.run(null, await journey.update({ messages: change }, start));
      return (end.values["messages"] as BaseMessage[]).map(({ id, text }) => [id, text.length]);
    };
    const ids = messages.map(({ id }) => [id, 300]);

    expect(await idsAfter([new AIMessage({ id: "m5", content: "short" })])).toEqual(
      ids.with(5, ["m5", 5]),
    );
    expect(await idsAfter([new RemoveMessage({ id: "m0" })])).toEqual(ids.slice(1));
    expect(await idsAfter([new RemoveMessage({ id: "m11" })])).toEqual(ids.slice(0, 11));
    expect(
      await idsAfter([new RemoveMessage({ id: "m4" }), new HumanMessage({ id: "n", content: "" })]),
    ).toEqual([...ids.toSpliced(4, 1), ["n", 0]]);
    expect(await idsAfter([new HumanMessage({ id: "n", content: "" })])).toEqual([
      ...ids,
      ["n", 0],
    ]);
  });

  const lists: [string, (rows: unknown[]) => unknown[]][] = [
    ["emptied", () => []],
    ["cut at its end", (rows) => rows.slice(0, 45)],
    ["cut at its start", (rows) => rows.slice(45)],
    ["changed in its middle", (rows) => rows.with(30, row(30, "changed"))],
    ["grown in its middle", (rows) => rows.toSpliced(30, 0, row(-1), row(-2))],
    ["turned round", (rows) => rows.toReversed()],
    ["doubled", (rows) => [...rows, ...rows]],
    ["copied element by element", (rows) => structuredClone(rows)],
    ["mixed with values of other types", () => [1, "two", null, true, [], {}, row(7)]],
  ];

  test.each(lists)(
    "a long list is %s by a fork, and by the nodes of a replay",
    async (_how, change) => {
      const rows = Array.from({ length: 60 }, (_, id) => row(id));
      let edits = false;
      const journey = travel((checkpointer) =>
        editor(checkpointer, (state) => (edits ? { rows: new Overwrite(change(state.rows)) } : {})),
      );
      const first = await journey.run({ rows });
      const start = await journey.before("close");
      const stored = (start.values as { rows: unknown[] }).rows;

      const fork = await journey.update({ rows: new Overwrite(change(stored)) }, start);
      const forked = await journey.run(null, fork);
      edits = true;
      const replayed = await journey.run(null, await journey.before("edit"));
      edits = false;
      const again = await journey.run({}, first);

      const changed = change(rows);
      expect(forked.values["rows"]).toEqual([...changed, row(changed.length)]);
      expect(replayed.values["rows"]).toEqual([...changed, row(changed.length)]);
      expect(again.values["rows"]).toEqual([...rows, row(60), row(61)]);
    },
  );

  test("keys of a large object are changed, removed and added in forks, each of which keeps its own", async () => {
    const journey = travel((checkpointer) => editor(checkpointer));
    const shelf = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`key ${index}`, row(index)]),
    );
    await journey.run({ shelf });
    const start = await journey.before("close");
    const { "key 3": _removed, ...without } = shelf;

    for (const changed of [
      { ...shelf, "key 3": row(3, "changed") },
      without,
      { ...shelf, "key 20": row(20) },
      { "key 20": row(20), ...shelf },
      { ...shelf, "key 3": { ...row(3), tags: [] } },
      { ...shelf, "__proto__ ": null, "": [], "0": 1 },
      {},
    ]) {
      const { values: read } = await journey.run(
        null,
        await journey.update({ shelf: changed }, start),
      );
      expect(read["shelf"]).toEqual(changed);
      expect(Object.keys(read["shelf"] as object)).toEqual(Object.keys(changed));
    }
  });

  test("a list in two channels is changed in one of them by a fork", async () => {
    const journey = travel((checkpointer) => editor(checkpointer));
    const rows = Array.from({ length: 20 }, (_, id) => row(id));
    await journey.run({ rows, same: rows });
    const start = await journey.before("close");
    const { same } = start.values as { same: unknown[] };

    const fork = await journey.update({ same: same.with(0, "changed") }, start);
    const { values: read } = await journey.run(null, fork);

    expect(read["same"]).toEqual(rows.with(0, "changed" as never));
    expect(read["rows"]).toEqual([...rows, row(20)]);
  });

  test("a channel takes values of one type after another, branch by branch", async () => {
    const journey = travel((checkpointer) => editor(checkpointer));
    await journey.run({ any: "text" });
    const start = await journey.before("close");

    for (const any of [
      null,
      0,
      -1.5,
      1e21,
      true,
      "",
      "NUL \0, half \uD800, whole \u{1F600}, null",
      [],
      {},
      [[], [[]]],
      { a: { b: [null, { c: "" }] } },
      Array.from({ length: 300 }, (_, index) => index),
      long("long"),
      new Map([["key", [1, { two: 2 }]]]),
      new Set(["a", "b"]),
    ]) {
      const fork = await journey.update({ any }, start);
      expect((await journey.run(null, fork)).values["any"]).toEqual(any);
    }
  });
}
