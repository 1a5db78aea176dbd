import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages";
import {
  DeltaSnapshot,
  MemorySaver,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { Send } from "@langchain/langgraph";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createReviver } from "../../../checkpointers/elements/revive.ts";
import {
  anyMessage,
  anyPlainMessage,
  anyRecordLike,
  anyStorable,
} from "../../helpers/arbitrary-storable.ts";
import { firstDifference } from "../../helpers/first-difference.ts";

const { serde: stock } = new MemorySaver();
const revive = createReviver(stock);
const encoder = new TextEncoder();

/** What differs between our reading and the stock one, errors included; null where nothing does. */
async function differenceReading(type: string, bytes: Uint8Array): Promise<string | null> {
  const [expected, actual] = await Promise.allSettled([
    stock.loadsTyped(type, bytes),
    (async () => revive(type, bytes))(),
  ]);
  if (expected.status === "fulfilled" && actual.status === "fulfilled")
    return firstDifference(actual.value, expected.value);
  const outcomes = [actual, expected].map((outcome) =>
    outcome.status === "rejected" ? String(outcome.reason) : outcome.status,
  );
  return outcomes[0] === outcomes[1] ? null : outcomes.join(", expected ");
}

async function differenceStored(value: unknown): Promise<string | null> {
  return differenceReading(...(await stock.dumpsTyped(value)));
}

const differenceOf = (text: string) => differenceReading("json", encoder.encode(text));

beforeEach(() => {
  // LangChain's advice on tool calls in the additional arguments.
  vi.spyOn(console, "warn").mockReturnValue(undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("createReviver on LangGraph's serializer", () => {
  it("reads messages as it does", async () => {
    await fc.assert(
      fc.asyncProperty(anyMessage, async (value) => {
        expect(await differenceStored(value)).toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  it("reads everything that can be stored as it does", async () => {
    await fc.assert(
      fc.asyncProperty(anyStorable, async (value) => {
        expect(await differenceStored(value)).toBeNull();
      }),
      { numRuns: 1000 },
    );
  });

  it("reads any JSON as it does", async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), async (value) => {
        expect(await differenceOf(value)).toBeNull();
      }),
      { numRuns: 300 },
    );
  });

  it("reads JSON that looks like its records as it does", async () => {
    await fc.assert(
      fc.asyncProperty(anyRecordLike, async (value) => {
        expect(await differenceOf(JSON.stringify(value))).toBeNull();
      }),
      { numRuns: 1500 },
    );
  });

  it("reads messages of all classes at once, without a promise", async () => {
    await fc.assert(
      fc.asyncProperty(anyPlainMessage, async (message) => {
        const read = revive(...(await stock.dumpsTyped({ channel: [message] })));
        expect(read).not.toBeInstanceOf(Promise);
      }),
    );
  });

  it.each([
    ["a question", new HumanMessage({ id: "1", content: "?", name: undefined })],
    [
      "an answer",
      new AIMessage({ content: [{ type: "text", text: "." }], usage_metadata: undefined }),
    ],
    [
      "a result",
      new ToolMessage({ content: "42", tool_call_id: "c", artifact: { rows: [1, undefined] } }),
    ],
    [
      "a piece of an answer",
      new AIMessageChunk({
        content: "",
        tool_call_chunks: [{ args: "{", index: 0, type: "tool_call_chunk" }],
      }),
    ],
    [
      "a piece of a result, whose call id LangChain loses",
      new ToolMessageChunk({ content: "4", tool_call_id: "c" }),
    ],
    ["content in blocks", new AIMessage({ contentBlocks: [{ type: "text", text: "." }] })],
    ["undefined", undefined],
    ["a map of sets", new Map([["a", new Set([1, new Map([[undefined, new Date(0).toJSON()]])])]])],
    ["a message in a set", new Set([new HumanMessage("?")])],
    ["an error and an expression", [new TypeError("no"), /a+/giu]],
    ["bytes inside", { bytes: new Uint8Array([0, 255]) }],
    ["a snapshot", new DeltaSnapshot([new HumanMessage("?"), undefined])],
    ["a send", new Send("node", { messages: [new HumanMessage("?")] })],
    [
      "a key that sets the prototype",
      JSON.parse(`{"a":{"__proto__":{"lc":2},"type":"undefined"}}`),
    ],
    [
      "data that looks like a record",
      { lc: 1, type: "constructor", id: ["langchain_core", "messages"], kwargs: {} },
    ],
    [
      "such data in a message",
      new ToolMessage({
        content: "",
        tool_call_id: "c",
        artifact: { lc: 1, type: "secret", id: ["KEY"] },
      }),
    ],
    [
      "a message in a message",
      new ToolMessage({ content: "", tool_call_id: "c", artifact: [new SystemMessage("s")] }),
    ],
    [
      "a map in a message",
      new ToolMessage({ content: "", tool_call_id: "c", artifact: { map: new Map([[1, 2]]) } }),
    ],
    ["text with escapes", [new HumanMessage("\u001b[1m \\u006cc"), "\u001b"]],
  ])("reads %s as it does", async (_name, value) => {
    expect(await differenceStored(value)).toBeNull();
  });

  it.each([
    ["a record whose keys are escaped", String.raw`{"\u006cc":2,"type":"undefined"}`],
    ["a prototype whose key is escaped", String.raw`{"\u005f_proto__":{"a":1}}`],
    ["spaces between", `[ { "lc" : 2 , "type" : "undefined" } ]`],
    ["minus zero and infinity", `[-0, 1e999, -1e999]`],
    [
      "minus zero and infinity in a message",
      messageText(`{"content":"","artifact":[-0,1e999,{"a":-0}]}`),
    ],
    ["a class it does not know", messageText(`{"content":""}`, "NoMessage")],
    ["arguments that are no object", messageText(`[1]`)],
    [
      "arguments named like methods of objects",
      messageText(`{"content":"","toString":1,"constructor":2}`),
    ],
    [
      "arguments in other cases",
      messageText(`{"content":"","Some Name":1,"some-name":2,"_x":3,"a__b":4,"a_1":5,"aB_c":6}`),
    ],
    [
      "a message made in Python",
      `{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"","type":"ai"}}`,
    ],
    [
      "a message with too many fields",
      `{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":""},"name":"x"}`,
    ],
    ["nesting as deep as is allowed", messageText(`{"content":"","artifact":${nested(48)}}`)],
    ["nesting one deeper", messageText(`{"content":"","artifact":${nested(49)}}`)],
    ["a byte order mark", `\uFEFF{"a":1}`],
    ["half of a pair", String.raw`["\ud83d"]`],
    ["no JSON", `{"lc":`],
    ["nothing", ``],
  ])("reads %s as it does", async (_name, text) => {
    expect(await differenceOf(text)).toBeNull();
  });

  it("hands out bytes themselves, and asks it about types it does not know", async () => {
    const bytes = new Uint8Array([1, 2]);
    expect(revive("bytes", bytes)).toBe(bytes);
    expect(await differenceReading("msgpack", bytes)).toBeNull();
  });

  it("reads text as it does", async () => {
    expect(revive("json", `{"a":[1]}`)).toStrictEqual(await stock.loadsTyped("json", `{"a":[1]}`));
    expect(await revive("bytes", "a")).toStrictEqual(await stock.loadsTyped("bytes", "a"));
  });
});

describe("createReviver on another serializer", () => {
  it("asks it about everything", async () => {
    const loadsTyped = vi.fn<SerializerProtocol["loadsTyped"]>(async () => "read");
    const dumpsTyped = async (): Promise<[string, Uint8Array]> => ["json", encoder.encode("1")];
    expect(await createReviver({ loadsTyped, dumpsTyped })("json", encoder.encode("1"))).toBe(
      "read",
    );
    expect(loadsTyped).toHaveBeenCalledWith("json", encoder.encode("1"));
  });

  it("asks a subclass of LangGraph's", async () => {
    class Loud extends (stock.constructor as new () => typeof stock) {
      override async loadsTyped(type: string, data: Uint8Array | string) {
        return [await super.loadsTyped(type, data)] as unknown;
      }
    }
    expect(await createReviver(new Loud())("json", encoder.encode("1"))).toEqual([1]);
  });

  it("asks one of LangGraph's that was changed", async () => {
    const changed = Object.assign(new MemorySaver().serde, { loadsTyped: async () => "changed" });
    expect(await createReviver(changed)("json", encoder.encode("1"))).toBe("changed");
  });
});

function messageText(kwargs: string, name = "ToolMessage"): string {
  return `{"lc":1,"type":"constructor","id":["langchain_core","messages","${name}"],"kwargs":${kwargs}}`;
}

function nested(depth: number): string {
  return "[".repeat(depth) + "1" + "]".repeat(depth);
}
