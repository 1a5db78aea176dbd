import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages";
import { PromptTemplate } from "@langchain/core/prompts";
import {
  DeltaSnapshot,
  MemorySaver,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { Send } from "@langchain/langgraph";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { keepData } from "../../../checkpointers/elements/revive.ts";
import { messageClasses } from "../../../checkpointers/elements/escape.ts";
import {
  anyMessage,
  anyPlainMessage,
  anyRecordLike,
  anyStorable,
} from "../../helpers/arbitrary-storable.ts";
import { contentDifference } from "../../helpers/same-value.ts";
import { firstDifference } from "../../helpers/first-difference.ts";

const { serde: stock } = new MemorySaver();
const { revive, ...ours } = keepData(stock);
/** LangGraph's own reading, between escapes. */
const theirs = keepData({
  dumpsTyped: (value) => stock.dumpsTyped(value),
  loadsTyped: (type, bytes) => stock.loadsTyped(type, bytes),
});
const encoder = new TextEncoder();

/** What differs between our reading and the stock one, errors included; null where nothing does. */
async function differenceReading(type: string, bytes: Uint8Array): Promise<string | null> {
  const [expected, actual] = await Promise.allSettled([
    theirs.loadsTyped(type, bytes),
    ours.loadsTyped(type, bytes),
  ]);
  if (expected.status === "fulfilled" && actual.status === "fulfilled")
    return firstDifference(actual.value, expected.value);
  const outcomes = [actual, expected].map((outcome) =>
    outcome.status === "rejected" ? String(outcome.reason) : outcome.status,
  );
  return outcomes[0] === outcomes[1] ? null : outcomes.join(", expected ");
}

async function differenceStored(value: unknown): Promise<string | null> {
  return differenceReading(...(await ours.dumpsTyped(value)));
}

const differenceOf = (text: string) => differenceReading("json", encoder.encode(text));

beforeEach(() => {
  // LangChain's advice on tool calls in the additional arguments.
  vi.spyOn(console, "warn").mockReturnValue(undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("keepData on LangGraph's serializer", () => {
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

  it("reads any JSON as it is", async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), async (text) => {
        const read: unknown = revive("json", encoder.encode(text));
        expect(contentDifference(read, JSON.parse(text))).toBeNull();
      }),
      { numRuns: 300 },
    );
  });

  it("reads JSON that looks like records, and makes nothing of it but messages and LangGraph's own objects", async () => {
    await fc.assert(
      fc.asyncProperty(anyRecordLike, async (value) => {
        const read = revive("json", JSON.stringify(value));
        expect([...classesIn(read)].filter((of) => !allowedClasses.has(of))).toEqual([]);
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
    ["spaces between", `[ { "lc" : 2 , "type" : "undefined" } ]`],
    ["minus zero and infinity", `[-0, 1e999, -1e999]`],
    [
      "a message with too many fields",
      `{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":""},"name":"x"}`,
    ],
    ["nesting as deep as is allowed", messageText(`{"content":"","artifact":${nested(48)}}`)],
    ["a byte order mark", `\uFEFF{"a":1}`],
    ["half of a pair", String.raw`["\ud83d"]`],
    ["no JSON", `{"lc":`],
    ["nothing", ``],
  ])("reads %s as it does", async (_name, text) => {
    expect(await differenceOf(text)).toBeNull();
  });

  it.each([
    ["a class it does not know", messageText(`{"content":""}`, "NoMessage")],
    ["a function beside the messages", messageText(`{"content":""}`, "filterMessages")],
    ["arguments that are no object", messageText(`[1]`)],
    [
      "arguments of which no message can be made",
      messageText(`{"content":"","tool_calls":[],"content_blocks":[null]}`, "AIMessage"),
    ],
    [
      "a class of Python's",
      `{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"","type":"ai"}}`,
    ],
    ["a secret", `[{"lc":1,"type":"secret","id":["PATH"]}]`],
    [
      "what is not implemented",
      `{"lc":1,"type":"not_implemented","id":["x"],"a":{"lc":2,"type":"undefined"}}`,
    ],
    ["a prototype whose key is escaped", String.raw`{"\u005f_proto__":{"a":1}}`],
  ])("reads %s as data", async (_name, text) => {
    expect(contentDifference(revive("json", text), JSON.parse(text))).toBeNull();
  });

  it("reads a secret in the content of a message that was stored without escapes as data", () => {
    const secret = { lc: 1, type: "secret", id: ["PATH"] };
    const read = revive("json", messageText(JSON.stringify({ content: secret }), "HumanMessage"));
    expect(read).toEqual(new HumanMessage({ content: secret as never }));
  });

  it("reads messages that LangChain stored in Python's modules", () => {
    const text = messageText(`{"content":"."}`).replace('"messages"', '"messages","tool"');
    expect(revive("json", text)).toEqual(expect.any(ToolMessage));
  });

  it("takes no field of a message from a prototype that its record names", () => {
    const kwargs = '{"content":"?","__proto__":{"name":"planted","id":"planted"}}';
    const read = revive("json", messageText(kwargs, "HumanMessage"));
    expect(read).toBeInstanceOf(HumanMessage);
    expect(read).toMatchObject({ content: "?", name: undefined, id: undefined });
  });

  it("reads data in messages however deep it is", async () => {
    const artifact = JSON.parse(nested(500)) as unknown;
    const message = new ToolMessage({ content: "", tool_call_id: "c", artifact });
    expect(revive(...(await ours.dumpsTyped(message)))).toMatchObject({ artifact });
  });

  it("asks LangChain's loader for its other objects, where they were put", async () => {
    const prompt = PromptTemplate.fromTemplate("{x}");
    const [type, bytes] = await ours.dumpsTyped([prompt, { lc: 2, type: "undefined" }]);
    expect(await revive(type, bytes)).toEqual([prompt, { lc: 2, type: "undefined" }]);
    expect(revive("json", bytes)).toMatchObject([{ lc: 1, type: "constructor" }, {}]);
  });

  it("takes what the value is at the time of the call", async () => {
    const value = { lc: 1, of: [1] };
    const dumped = ours.dumpsTyped(value);
    value.of.push(2);
    expect(revive(...(await dumped))).toEqual({ lc: 1, of: [1] });
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

describe("keepData on another serializer", () => {
  it("asks it about everything", async () => {
    const loadsTyped = vi.fn<SerializerProtocol["loadsTyped"]>(async () => "read");
    const dumpsTyped = async (): Promise<[string, Uint8Array]> => ["json", encoder.encode("1")];
    const serde = keepData({ loadsTyped, dumpsTyped });
    expect(await serde.loadsTyped("json", encoder.encode("1"))).toBe("read");
    expect(loadsTyped).toHaveBeenCalledWith("json", encoder.encode("1"));
  });

  it("asks a subclass of LangGraph's", async () => {
    class Loud extends (stock.constructor as new () => typeof stock) {
      override async loadsTyped(type: string, data: Uint8Array | string) {
        return [await super.loadsTyped(type, data)] as unknown;
      }
    }
    expect(await keepData(new Loud()).loadsTyped("json", encoder.encode("1"))).toEqual([1]);
  });

  it("asks one of LangGraph's that was changed", async () => {
    const changed = Object.assign(new MemorySaver().serde, { loadsTyped: async () => "changed" });
    expect(await keepData(changed).loadsTyped("json", encoder.encode("1"))).toBe("changed");
  });
});

function messageText(kwargs: string, name = "ToolMessage"): string {
  return `{"lc":1,"type":"constructor","id":["langchain_core","messages","${name}"],"kwargs":${kwargs}}`;
}

function nested(depth: number): string {
  return "[".repeat(depth) + "1" + "]".repeat(depth);
}

const allowedClasses = new Set<unknown>([
  ...Object.values(messageClasses),
  Object,
  Array,
  Set,
  Map,
  Error,
  RegExp,
  Uint8Array,
  DeltaSnapshot,
]);

/** The classes of a value and of all that it leads to. */
function classesIn(value: unknown, found = new Set<unknown>()): Set<unknown> {
  if (typeof value !== "object" || value === null) return found;
  found.add((Object.getPrototypeOf(value) as object).constructor);
  const contents = value instanceof Map || value instanceof Set ? [...value] : Object.values(value);
  for (const inner of contents) classesIn(inner, found);
  return found;
}
