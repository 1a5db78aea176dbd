import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import {
  type Reading,
  readWritten,
  writtenArguments,
} from "../../../bench/helpers/written-arguments.ts";
import { readReply, type ReadReplyOptions } from "../../../src/compile/loop/read-reply.ts";
import { noteTool } from "../../../src/context/step-note.ts";
import { defineTool } from "../../../src/definition/tool/define-tool.ts";

const string = { type: "string" };
const tools = new Map(
  [
    { name: "search", properties: { query: string, n: { type: "integer" } }, required: ["query"] },
    { name: "write", properties: { path: string, text: string }, required: ["path", "text"] },
    { name: "list", properties: { folder: string, deep: { type: "boolean" } }, required: [] },
    { name: "status", properties: {}, required: [] },
  ].map(({ name, properties, required }) => {
    const input_schema = { type: "object", properties, required };
    return [name, defineTool({ name, description: name, input_schema, handler: () => null })];
  }),
);

function read(message: AIMessage, over: Partial<ReadReplyOptions> = {}) {
  let ids = 0;
  return readReply({
    message,
    form: "native",
    tools,
    ids: () => `new-${(ids += 1)}`,
    isUsed: () => false,
    noteForm: null,
    behind: [],
    ...over,
  });
}

/** A reply with calls whose arguments LangChain could not parse. */
function invalid(...calls: readonly (readonly [name: string, args: string])[]): AIMessage {
  return new AIMessage({
    content: "",
    invalid_tool_calls: calls.map(([name, args], at) => ({ id: `${at}`, name, args })),
  });
}

/** A streamed reply: each call in pieces. */
function streamed(
  ...calls: readonly (readonly [name: string, ...pieces: string[]])[]
): AIMessageChunk {
  const parts = calls.flatMap(([name, ...pieces], index) =>
    pieces.map((args, at) => ({
      type: "tool_call_chunk" as const,
      index,
      args,
      ...(at === 0 && { id: `${index}`, name }),
    })),
  );
  return parts
    .map((part) => new AIMessageChunk({ content: "", tool_call_chunks: [part] }))
    .reduce((whole, part) => whole.concat(part));
}

const inText = (name: string, input: string) =>
  new AIMessage(`Thought: t\nAction: ${name}\nAction Input: ${input}`);

describe("native calls", () => {
  it("run with mended arguments, and keep the original text", () => {
    const text = "{query: 'x', n: 2,}";
    expect(read(invalid(["search", text])).predictions).toEqual([
      { id: "0", name: "search", args: { query: "x", n: 2 }, mended_from: text, reason: "" },
    ]);
  });

  it("keep 2,000 characters of the original text", () => {
    const [call] = read(invalid(["search", `{query: '${"x".repeat(5000)}'}`])).predictions;
    expect(call?.args["query"]).toHaveLength(5000);
    expect(call?.mended_from).toHaveLength(2000);
  });

  it("have a problem where their arguments have no single meaning", () => {
    const text = '{"query": "x"}{"query": "y"}';
    expect(read(invalid(["search", text])).predictions).toEqual([
      {
        id: "0",
        name: "search",
        args: {},
        problem: `The arguments were not valid JSON: ${text}`,
        reason: "",
      },
    ]);
  });

  it("need no arguments where the tool requires none", () => {
    const { predictions } = read(invalid(["status", ""], ["list", " "], ["write", ""]));
    expect(
      predictions.map(({ args, problem, mended_from: from }) => [args, problem, from]),
    ).toEqual([
      [{}, undefined, undefined],
      [{}, undefined, undefined],
      [{}, 'The arguments were empty; write requires "path", "text".', undefined],
    ]);
  });

  it("are mended where the arguments are parsed but no object", () => {
    const message = new AIMessage({
      content: "",
      tool_calls: [
        { id: "a", name: "search", args: '{"query": "x"}' as never },
        { id: "b", name: "search", args: { input: '{"query": "y"}' } },
        { id: "c", name: "list", args: null as never },
        { id: "d", name: "write", args: ["a"] as never },
      ],
    });
    expect(read(message).predictions).toEqual([
      {
        id: "a",
        name: "search",
        args: { query: "x" },
        mended_from: JSON.stringify('{"query": "x"}'),
        reason: "",
      },
      {
        id: "b",
        name: "search",
        args: { query: "y" },
        mended_from: '{"input":"{\\"query\\": \\"y\\"}"}',
        reason: "",
      },
      { id: "c", name: "list", args: {}, mended_from: "null", reason: "" },
      {
        id: "d",
        name: "write",
        args: {},
        problem: 'The arguments were not valid JSON: ["a"]',
        reason: "",
      },
    ]);
  });

  it("keep the model's order", () => {
    const raw = (id: string) => ({
      id,
      type: "function" as const,
      function: { name: "search", arguments: "" },
    });
    const message = new AIMessage({
      content: "",
      tool_calls: [{ id: "b", name: "search", args: { query: "2" } }],
      invalid_tool_calls: [
        { id: "a", name: "search", args: "{query: '1'}" },
        { id: "c", name: "search", args: "{query: '3'}" },
      ],
      additional_kwargs: { tool_calls: ["a", "b", "c"].map(raw) },
    });
    const whole = read(message).predictions.map(({ args }) => args["query"]);
    expect(whole).toEqual(["1", "2", "3"]);
    const parts = read(
      streamed(["search", "[}"], ["search", '{"query"', ': "2"}'], ["search", "{query: '3'}"]),
    ).predictions.map(({ args, problem }) => problem ?? args["query"]);
    expect(parts).toEqual(["The arguments were not valid JSON: [}", "2", "3"]);
  });

  it("have a problem where a stream was cut and LangChain completed the arguments", () => {
    const message = streamed(
      ["list", '{"deep"', ": true}"],
      ["write", '{"path": "/tmp/a", "te', 'xt": "half of th'],
    );
    expect(message.tool_calls?.[1]?.args).toEqual({ path: "/tmp/a", text: "half of th" });
    expect(read(message).predictions).toEqual([
      { id: "0", name: "list", args: { deep: true }, reason: "" },
      {
        id: "1",
        name: "write",
        args: {},
        problem: 'The arguments were not valid JSON: {"path": "/tmp/a", "text": "half of th',
        reason: "",
      },
    ]);
  });

  it("have a problem where nothing but the name of a call was streamed", () => {
    const [write, status] = read(streamed(["write", ""], ["status", ""])).predictions;
    expect(write?.problem).toContain("empty");
    expect(status).toEqual({ id: "1", name: "status", args: {}, reason: "" });
  });

  it("run where a stream gave them no id", () => {
    const chunk = {
      type: "tool_call_chunk" as const,
      index: 0,
      name: "list",
      args: '{"deep":true}',
    };
    const message = new AIMessageChunk({ content: "", tool_call_chunks: [chunk] });
    expect(message.invalid_tool_calls).toHaveLength(1);
    expect(read(message).predictions).toEqual([
      { id: "new-1", name: "list", args: { deep: true }, reason: "" },
    ]);
  });

  it("are not mended at the output limit", () => {
    const problem =
      "The arguments were cut off at the output limit. Make the call again, with shorter arguments.";
    const isCut = { isCut: true };
    const cut = { args: {}, problem };
    expect(read(invalid(["list", ""], ["list", "{deep: true}"]), isCut).predictions).toMatchObject([
      cut,
      cut,
    ]);
    const stream = streamed(["list", '{"deep": true}'], ["list", '{"deep": tr']);
    expect(read(stream, isCut).predictions).toMatchObject([{ args: { deep: true } }, cut]);
    expect(read(streamed(["status", ""]), isCut).predictions).toMatchObject([cut]);
  });

  it("note with mended arguments, or not at all", () => {
    const over = { noteForm: "call" as const };
    const mended = read(invalid([noteTool.name, "{synthesis: 'so',}"]), over);
    expect(mended).toMatchObject({ predictions: [], note: { synthesis: "so" } });
    const broken = read(invalid([noteTool.name, "{synthesis: 'so"]), over);
    expect(broken).toMatchObject({ predictions: [], note: { synthesis: "" } });
  });
});

describe("calls in the text form", () => {
  const args = (message: AIMessage, over: Partial<ReadReplyOptions> = {}) =>
    read(message, { form: "text", ...over }).predictions[0];

  it("have a problem where the input of a tool without properties cannot be read", () => {
    for (const input of ['{"a": 1', "{a: b}", "the server"]) {
      expect(args(inText("status", input))).toMatchObject({ args: {} });
      expect(args(inText("status", input))?.problem).toBeTypeOf("string");
    }
    expect(args(inText("status", "none"))?.problem).toBeUndefined();
  });

  it("do not take broken arguments for the text of the only property", () => {
    for (const input of [
      '{"query": "x',
      '{"query": "x"',
      '"{\\"query\\": \\"x',
      "```json",
      "{",
      '"',
    ]) {
      expect(args(inText("search", input))).toMatchObject({ args: {} });
      expect(args(inText("search", input))?.problem).toBeTypeOf("string");
    }
    const query = '{ user { id } } of "x"';
    expect(args(inText("search", query))).toMatchObject({ args: { query } });
  });

  it("mend what the native form mends", () => {
    expect(args(inText("search", '"{\\"query\\": \\"x\\"}"'))).toMatchObject({
      args: { query: "x" },
    });
    expect(args(inText("write", 'Sure: {"path": "a", "text": "b"}'))).toMatchObject({
      args: { path: "a", text: "b" },
    });
  });

  it("have a problem where a required input is missing", () => {
    expect(args(new AIMessage("Action: search"))?.problem).toBe(
      'The arguments were empty; search requires "query".',
    );
    expect(args(new AIMessage("Action: list"))).not.toHaveProperty("problem");
  });

  it("run at the output limit only with a whole object", () => {
    const over = { isCut: true };
    expect(args(inText("search", '{"query": "x"}'), over)?.problem).toBeUndefined();
    expect(args(inText("search", "python tu"), over)?.problem).toContain("output limit");
    expect(args(new AIMessage("Action: list"), over)?.problem).toContain("output limit");
  });
});

describe("slightly wrong arguments", () => {
  const written = writtenArguments(1000, 20);

  it.each(["native", "streamed", "text"] as const)(
    "%s, are mended or a problem, never wrong",
    (form) => {
      const counts: Record<Reading, number> = { right: 0, problem: 0, wrong: 0 };
      for (const one of written) counts[readWritten(one, form)] += 1;
      expect(counts.wrong).toBe(0);
      expect(counts.right).toBeGreaterThanOrEqual(650);
    },
  );
});
