import { AIMessage, HumanMessage, RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import { messagesStateReducer, REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  append,
  mergeByKey,
  reduceMessages,
  UnknownMessageError,
} from "../../src/state/reducers.ts";

describe("append", () => {
  it("keeps the identity of old elements and does not touch the old list", () => {
    const first = { n: 1 };
    const list = [first];
    const next = append(list, [{ n: 2 }]);
    expect(next).toEqual([{ n: 1 }, { n: 2 }]);
    expect(next[0]).toBe(first);
    expect(list).toEqual([{ n: 1 }]);
  });

  it("gives the same list when there is nothing to add", () => {
    const list = [1];
    expect(append(list, [])).toBe(list);
  });
});

describe("mergeByKey", () => {
  it("replaces keys of the update and keeps the others", () => {
    const kept = { deep: true };
    const merged = mergeByKey({ a: 1, kept }, { a: 2 });
    expect(merged).toEqual({ a: 2, kept });
    expect(merged["kept"]).toBe(kept);
  });
});

describe("reduceMessages", () => {
  it("gives messages without an id one, once", () => {
    const [message] = reduceMessages([], new HumanMessage("hi"));
    expect(message?.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(reduceMessages([message!], [])[0]).toBe(message);
  });

  it("reads a role and a text as one message", () => {
    expect(reduceMessages([], ["human", "hi"]).map((m) => m.text)).toEqual(["hi"]);
  });

  it("replaces by id in place", () => {
    const before = [
      new HumanMessage({ id: "a", content: "1" }),
      new AIMessage({ id: "b", content: "2" }),
    ];
    const after = reduceMessages(before, [new HumanMessage({ id: "a", content: "new" })]);
    expect(after.map((m) => m.text)).toEqual(["new", "2"]);
    expect(after[1]).toBe(before[1]);
  });

  it("keeps a message in its place that one update removes and adds again", () => {
    const before = [
      new HumanMessage({ id: "a", content: "1" }),
      new AIMessage({ id: "b", content: "2" }),
    ];
    const again = new HumanMessage({ id: "a", content: "new" });
    const after = reduceMessages(before, [new RemoveMessage({ id: "a" }), again]);
    expect(after).toEqual([again, before[1]]);
  });

  it("refuses to remove what is not there", () => {
    expect(() => reduceMessages([], [new RemoveMessage({ id: "x" })])).toThrow(UnknownMessageError);
  });

  it("stays right when one list is extended twice", () => {
    const base = reduceMessages([], [new HumanMessage({ id: "a", content: "a" })]);
    const left = reduceMessages(base, [new HumanMessage({ id: "l", content: "l" })]);
    const right = reduceMessages(base, [new HumanMessage({ id: "l", content: "r" })]);
    expect(left.map((m) => m.text)).toEqual(["a", "l"]);
    expect(right.map((m) => m.text)).toEqual(["a", "r"]);
    expect(
      reduceMessages(left, [new HumanMessage({ id: "l", content: "L" })]).map((m) => m.text),
    ).toEqual(["a", "L"]);
  });

  it("keeps one message for each id after everything was removed", () => {
    const clear = new RemoveMessage({ id: REMOVE_ALL_MESSAGES });
    const twice = ["1", "2"].map((content) => new HumanMessage({ id: "a", content }));
    expect(reduceMessages([], [clear, ...twice]).map((m) => m.text)).toEqual(["2"]);
  });

  it("does what LangGraph's own reducer does, for any sequence of puts and removals", () => {
    const id = fc.constantFrom("a", "b", "c", "d");
    const change = fc.oneof(
      { weight: 3, arbitrary: fc.record({ put: id, text: fc.string() }) },
      { weight: 1, arbitrary: fc.record({ remove: id }) },
      { weight: 1, arbitrary: fc.record({ remove: fc.constant(REMOVE_ALL_MESSAGES) }) },
    );
    const toMessage = (one: { put?: string; remove?: string; text?: string }) =>
      one.put === undefined
        ? new RemoveMessage({ id: one.remove ?? "" })
        : new HumanMessage({ id: one.put, content: one.text ?? "" });
    const apply = (reduce: () => readonly BaseMessage[]) => {
      try {
        return reduce();
      } catch {
        return null;
      }
    };
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        let ours: readonly BaseMessage[] = [];
        let theirs: BaseMessage[] = [];
        for (const one of changes) {
          const a = apply(() => reduceMessages(ours, [toMessage(one)]));
          const b = apply(() => messagesStateReducer(theirs, [toMessage(one)]));
          expect(a?.map((m) => [m.id, m.text])).toEqual(b?.map((m) => [m.id, m.text]));
          ours = a ?? ours;
          theirs = (b as BaseMessage[] | null) ?? theirs;
        }
      }),
    );
  });
});
