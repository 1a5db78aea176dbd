import { beforeEach, describe, expect, it } from "vitest";
import type { AgentTool } from "../../src/definition/tool/tool.ts";
import { createInMemoryExperimentMemory } from "../../src/experiment/memory/in-memory.ts";
import type { RunMemory } from "../../src/experiment/memory/run-memory.ts";
import { experimentTools } from "../../src/experiment/tools.ts";
import { experimentToolNames, memoryToolNames } from "../../src/experiment/config/run-spec.ts";
import type { ToolResult } from "../../src/state/step-record.ts";
import { callStateless } from "../../src/tools/call.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

let memory: RunMemory;
let changes: number;
let messages: string[];
let tools: readonly AgentTool[];

beforeEach(() => {
  memory = createInMemoryExperimentMemory().of("run");
  changes = 0;
  messages = [];
  tools = experimentTools({
    memory,
    nextChange: () => (changes += 1),
    onMessage: (text) => void messages.push(text),
  });
});

async function call(name: string, args: object, among = tools): Promise<ToolResult> {
  const tool = among.find(({ definition }) => definition.name === name);
  if (tool?.kind !== "stateless") throw new TypeError(`No tool without state is called ${name}.`);
  const env = { signal: new AbortController().signal, clock: new ManualClock() };
  return (await callStateless(tool, { id: "call_1", name, args: { ...args } }, env)).result;
}

async function result(name: string, args: object): Promise<unknown> {
  const ended = await call(name, args);
  expect(ended).toMatchObject({ outcome: "success", error: null });
  return ended.result;
}

describe("the tools of experiments", () => {
  it("are five, without state, four of them for memory", () => {
    expect(tools.map(({ definition }) => definition.name)).toEqual(experimentToolNames);
    expect(experimentToolNames).toEqual([...memoryToolNames, "message_operator"]);
    for (const { kind, definition } of tools) {
      expect(kind).toBe("stateless");
      expect(definition.execution.idempotent).toBe(memoryToolNames.includes(definition.name));
      expect(definition.requires_approval).toBe(false);
      expect(definition.permissions).toEqual([]);
    }
  });

  it("tell models what they take", () => {
    const told = tools.map(({ definition: { name, input_schema } }) => [name, input_schema]);
    const key = (description: string) => ({
      type: "string",
      minLength: 1,
      maxLength: 200,
      description,
    });
    const text = (description: string) => ({ type: "string", maxLength: 65_536, description });
    const alone = (description: string) => ({
      properties: { key: key(description) },
      required: ["key"],
    });
    expect(Object.fromEntries(told)).toMatchObject({
      memory_write: {
        properties: { key: key("Key to write under"), value: text("Value to write, a text") },
        required: ["key", "value"],
      },
      memory_read: alone("Key to read"),
      memory_list: { properties: {} },
      memory_delete: alone("Key to delete"),
      message_operator: {
        properties: { message: text("Text of the message") },
        required: ["message"],
      },
    });
  });

  it("write, read, list and delete", async () => {
    expect(await result("memory_list", {})).toEqual({ keys: [] });
    const written = { key: "weather", value: "rain" };
    expect(await result("memory_write", written)).toEqual({ key: "weather", replaced: false });
    expect(await result("memory_write", { key: "weather", value: "" })).toEqual({
      key: "weather",
      replaced: true,
    });
    expect(await result("memory_read", { key: "weather" })).toEqual({ key: "weather", value: "" });
    expect(await result("memory_list", {})).toEqual({ keys: ["weather"] });
    expect(await result("memory_delete", { key: "weather" })).toEqual({
      key: "weather",
      deleted: true,
    });
    expect(await result("memory_delete", { key: "weather" })).toEqual({
      key: "weather",
      deleted: false,
    });
    expect(await result("memory_read", { key: "weather" })).toEqual({
      key: "weather",
      value: null,
    });
  });

  it("number the changes, and nothing else", async () => {
    await result("memory_write", { key: "a", value: "one" });
    await result("memory_read", { key: "a" });
    await result("memory_list", {});
    await result("message_operator", { message: "hello" });
    await call("memory_write", { key: "", value: "one" });
    await call("memory_write", { key: "b" });
    await call("memory_delete", { key: "\0" });
    expect(changes).toBe(1);
    await result("memory_delete", { key: "a" });
    expect(changes).toBe(2);
    await memory.rewind(1);
    expect(await memory.read("a")).toBe("one");
  });

  it("list 500 keys, and say how many more there are", async () => {
    for (let n = 1; n <= 500; n += 1) await memory.write(`key ${1000 + n}`, "", n);
    const keys = Array.from({ length: 500 }, (_, i) => `key ${1001 + i}`);
    expect(await result("memory_list", {})).toEqual({ keys });
    await memory.write("key 2000", "", 501);
    await memory.write("a", "", 502);
    expect(await result("memory_list", {})).toEqual({
      keys: ["a", ...keys.slice(0, 499)],
      more: 2,
    });
  });

  it("give the largest texts whole, however much JSON they make", async () => {
    const value = "\u001f".repeat(65_536);
    const keys = Array.from({ length: 500 }, (_, i) => `${i}`.padEnd(200, "\u001f"));
    await result("memory_write", { key: keys[0], value });
    expect(await result("memory_read", { key: keys[0] })).toEqual({ key: keys[0], value });
    for (const key of keys.slice(1)) await result("memory_write", { key, value: "" });
    expect(await result("memory_list", {})).toEqual({ keys: keys.toSorted() });
  });

  it("send the operator messages", async () => {
    expect(await result("message_operator", { message: "The store is full." })).toEqual({
      delivered: true,
    });
    expect(messages).toEqual(["The store is full."]);
    const unheard = experimentTools({ memory, nextChange: () => 1 });
    expect(await call("message_operator", { message: "Hello?" }, unheard)).toMatchObject({
      outcome: "success",
      result: { delivered: true },
    });
  });

  it("do not say that a message was delivered which was not", async () => {
    const broken = experimentTools({
      memory,
      nextChange: () => 1,
      onMessage: () => {
        throw new Error("the screen is gone");
      },
    });
    expect(await call("message_operator", { message: "Hello?" }, broken)).toMatchObject({
      outcome: "error",
      error: "the screen is gone",
    });
  });

  const unkept =
    "holds a NUL character or half of a surrogate pair, which cannot be kept; leave it out";
  it.each([
    [
      "memory_write",
      { key: "", value: "x" },
      "key: Too small: expected string to have >=1 characters",
    ],
    [
      "memory_write",
      { key: "k".repeat(201), value: "x" },
      "key: Too big: expected string to have <=200 characters",
    ],
    [
      "memory_write",
      { key: "k", value: "x".repeat(65_537) },
      "value: Too big: expected string to have <=65536 characters",
    ],
    ["memory_write", { key: "k", value: "a\0b" }, `value: ${unkept}`],
    ["memory_write", { key: "\ud800", value: "x" }, `key: ${unkept}`],
    ["memory_write", { key: "k", value: "😀\udc00" }, `value: ${unkept}`],
    [
      "memory_write",
      { key: "k", value: 5 },
      "value: Invalid input: expected string, received number",
    ],
    ["memory_read", { key: "a\ud83d" }, `key: ${unkept}`],
    ["memory_read", {}, "key: Invalid input: expected string, received undefined"],
    ["memory_delete", { key: "\0" }, `key: ${unkept}`],
    ["memory_list", { prefix: "a" }, 'value: Unrecognized key: "prefix"'],
    ["message_operator", { message: "\0" }, `message: ${unkept}`],
    [
      "message_operator",
      { message: "x".repeat(65_537) },
      "message: Too big: expected string to have <=65536 characters",
    ],
  ])("refuse in words that a model can act on: %s %o", async (name, args, problem) => {
    const { outcome, error } = await call(name, args);
    expect(outcome).toBe("error");
    expect(error).toContain(`Bad arguments for tool "${name}": ${problem}`);
    expect([changes, messages, await memory.list()]).toEqual([0, [], []]);
  });

  it("take the largest keys and texts, and emoji", async () => {
    const written = { key: "😀".repeat(100), value: "é".repeat(65_536) };
    expect(await result("memory_write", written)).toEqual({ key: written.key, replaced: false });
    expect(await result("memory_read", { key: written.key })).toEqual(written);
  });
});
