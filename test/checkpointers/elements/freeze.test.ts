import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { freezeElement, isDeeplyFrozen } from "../../../checkpointers/elements/freeze.ts";
import { anyStorable } from "../../helpers/arbitrary-storable.ts";

/** All objects that a value leads to by its own properties, itself included. */
function objectsOf(value: unknown, found = new Set<object>()): Set<object> {
  if (typeof value !== "object" || value === null || found.has(value)) return found;
  found.add(value);
  for (const key of Reflect.ownKeys(value))
    objectsOf(Object.getOwnPropertyDescriptor(value, key)?.value, found);
  return found;
}

function frozenIn(value: unknown): number {
  return [...objectsOf(value)].filter((object) => Object.isFrozen(object)).length;
}

describe("freezeElement", () => {
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["text", "a"],
    ["a big integer", 1n],
    ["plain data", { list: [1, { deep: [] }], none: null }],
    ["an object without a prototype", Object.assign(Object.create(null), { a: [1] })],
    ["a list with holes and names", Object.assign(Array(3), { 1: {}, name: ["x"] })],
    ["a key that is a symbol", { [Symbol("a")]: {} }],
    ["a key that is not enumerable", Object.defineProperty({}, "a", { value: {} })],
    ["a question", new HumanMessage({ id: "1", content: [{ type: "text", text: "?" }] })],
    [
      "an answer",
      new AIMessage({ id: "1", content: "", tool_calls: [{ name: "a", args: { b: [] } }] }),
    ],
    ["a piece of an answer", new AIMessageChunk({ id: "1", content: "a" })],
    [
      "a result",
      new ToolMessage({ id: "1", content: "", tool_call_id: "a", artifact: { rows: [[1]] } }),
    ],
    ["a message of another role", new ChatMessage({ id: "1", content: "", role: "critic" })],
    ["a removal", new RemoveMessage({ id: "1" })],
    ["messages in data", { past: [new SystemMessage({ id: "1", content: "" })] }],
  ])("freezes %s, with all it leads to", (_name, value) => {
    expect(freezeElement(value)).toBe(true);
    expect(frozenIn(value)).toBe(objectsOf(value).size);
    expect(isDeeplyFrozen(value)).toBe(true);
    expect(freezeElement(value)).toBe(true);
  });

  it("freezes what several ways lead to, without walking each of them", () => {
    let value: unknown = { end: true };
    for (let level = 0; level < 60; level += 1) value = [value, value];
    expect(freezeElement(value)).toBe(true);
    expect(frozenIn(value)).toBe(61);
  });

  it.each<[string, unknown]>([
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["a set", new Set()],
    ["an expression", /a/],
    ["an error", new Error("a")],
    ["bytes", new Uint8Array(1)],
    ["a buffer", new ArrayBuffer(1)],
    ["a function", () => 1],
    ["an instance of a class", new URLSearchParams()],
    ["a list of a class", new (class Numbers extends Array<number> {})()],
    ["data that inherits", Object.create({ a: 1 })],
    [
      "a message of another class",
      new (class Note extends HumanMessage {})({ id: "1", content: "" }),
    ],
    ["an accessor", Object.defineProperty({}, "a", { get: () => Math.random(), enumerable: true })],
    ["a proxy", new Proxy({}, {})],
    ["a promise", Promise.resolve()],
    ["a message without an id", new HumanMessage("?")],
    ["an answer whose copies append to its content", new AIMessage({ id: "1", contentBlocks: [] })],
    [
      "a message as a plain record",
      { lc: 1, type: "constructor", id: ["HumanMessage"], kwargs: {} },
    ],
  ])("leaves %s as it is, and what is around it", (_name, value) => {
    const around = { before: { a: [1] }, list: [value], after: { b: {} } };
    expect(freezeElement(value)).toBe(false);
    expect(freezeElement(around)).toBe(false);
    const open = [value, around, around.before, around.before.a, around.list, around.after.b];
    expect(open.some((object) => Object.isFrozen(object))).toBe(false);
  });

  it("leaves a circle as it is, so that LangGraph's serializer can cut it", async () => {
    const circle: Record<string, unknown> = { name: "a" };
    circle["inner"] = { list: [circle] };
    expect(freezeElement(circle)).toBe(false);
    expect(frozenIn(circle)).toBe(0);
    const { serde } = new MemorySaver();
    const [type, bytes] = await serde.dumpsTyped(circle);
    expect(await serde.loadsTyped(type, bytes)).toEqual({
      name: "a",
      inner: { list: ["[Circular]"] },
    });
    Object.freeze(circle["inner"]);
    Object.freeze((circle["inner"] as { list: unknown[] }).list);
    await expect(serde.dumpsTyped(circle)).rejects.toThrow(TypeError);
  });

  it("freezes the rest of what its owner froze in part", () => {
    const value = Object.freeze({ a: { b: [] } });
    expect(freezeElement(value)).toBe(true);
    expect(Object.isFrozen(value.a.b)).toBe(true);
  });

  it("changes nothing about how a value is stored, and freezes all of it or nothing", async () => {
    const { serde } = new MemorySaver();
    // LangChain's advice on tool calls in the additional arguments.
    vi.spyOn(console, "warn").mockReturnValue(undefined);
    await fc.assert(
      fc.asyncProperty(anyStorable, async (value) => {
        const before = await serde.dumpsTyped(value);
        const frozen = frozenIn(value);
        const all = freezeElement(value);
        expect(frozenIn(value)).toBe(all ? objectsOf(value).size : frozen);
        expect(await serde.dumpsTyped(value)).toEqual(before);
      }),
      { numRuns: 200 },
    );
  });
});

describe("isDeeplyFrozen", () => {
  it("freezes nothing", () => {
    const value = { a: [1] };
    expect(isDeeplyFrozen(value)).toBe(false);
    expect(frozenIn(value)).toBe(0);
  });

  it("sees what is frozen only outside", () => {
    expect(isDeeplyFrozen(Object.freeze({ a: [1] }))).toBe(false);
    expect(isDeeplyFrozen(Object.freeze([new Date(0)]))).toBe(false);
    expect(isDeeplyFrozen(Object.freeze({ a: Object.freeze([1]) }))).toBe(true);
  });

  it("takes a frozen circle for what it is", () => {
    const circle: unknown[] = [];
    circle.push({ circle });
    for (const object of objectsOf(circle)) Object.freeze(object);
    expect(isDeeplyFrozen(circle)).toBe(true);
    expect(freezeElement(circle)).toBe(true);
  });

  it("takes a message that its owner froze without an id", () => {
    const message: BaseMessage = new HumanMessage("?");
    for (const object of objectsOf(message)) Object.freeze(object);
    expect(isDeeplyFrozen(message)).toBe(true);
  });
});
