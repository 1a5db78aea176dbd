import { AIMessage, AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it, vi } from "vitest";
import { readReply } from "../../../src/compile/loop/read-reply.ts";
import { callFilter } from "../../../src/compile/loop/unshown-notes.ts";

type Part = { name?: string; args?: string; id?: string; index?: number };

const part = (chunk: Part, content: AIMessageChunk["content"] = "") =>
  new AIMessageChunk({ content, tool_call_chunks: [{ type: "tool_call_chunk", ...chunk }] });

function shown(...parts: readonly AIMessageChunk[]) {
  const filter = callFilter("note");
  return parts.map(filter) as AIMessageChunk[];
}

describe("callFilter", () => {
  it("gives a message without the calls as it is", () => {
    const messages = [
      new HumanMessage("note"),
      new AIMessage("note"),
      new AIMessage({ content: "", tool_calls: [{ id: "1", name: "look", args: {} }] }),
      part({ name: "look", args: "{}", index: 0 }),
    ];
    const filter = callFilter("note");
    for (const message of messages) expect(filter(message)).toBe(message);
  });

  it("leaves out all parts of a call, by the index of the first", () => {
    const given = [
      part({ name: "note", args: "", id: "1", index: 0 }),
      part({ args: '{"a"', index: 0 }),
      part({ name: "look", args: "", id: "2", index: 1 }),
      part({ name: "", args: ": 1}", index: 0 }),
      part({ name: "", args: "{}", index: 1 }),
    ];
    const args = shown(...given).map(({ tool_call_chunks: calls }) =>
      calls?.map((one) => one.args),
    );
    expect(args).toEqual([[], [], [""], [], ["{}"]]);
    expect(given[0]?.tool_call_chunks).toHaveLength(1);
  });

  it("goes by the names alone where calls come whole, whatever index they have", () => {
    const whole = [
      part({ name: "note", args: "{}" }),
      part({ args: "{}" }),
      part({ name: "note", args: "{}", index: 0 }),
      part({ name: "look", args: "{", index: 0 }),
      part({ args: "}", index: 0 }),
    ];
    expect(shown(...whole).map(({ tool_call_chunks: calls }) => calls?.length)).toEqual([
      0, 1, 0, 1, 1,
    ]);
  });

  it("leaves them out of content that tells of calls, and nothing else of it", () => {
    const text = { type: "text", text: "I look.", index: 1 };
    const [first, more] = shown(
      part({ name: "note", args: "", id: "1", index: 1 }, [
        { type: "tool_use", id: "1", name: "note", input: {}, index: 1 },
        text,
      ]),
      part({ args: "{", index: 1 }, [{ type: "input_json_delta", input: "{", index: 1 }]),
    );
    expect(first?.content).toEqual([text]);
    expect(more?.content).toEqual([]);
  });

  it("keeps the rest of a whole message", () => {
    const usage_metadata = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    const raw = (name: string) => ({
      id: name,
      type: "function" as const,
      function: { name, arguments: "{}" },
    });
    const message = callFilter("note")(
      new AIMessage({
        id: "m",
        content: [
          { type: "text", text: "I look." },
          { type: "functionCall", functionCall: { name: "note", args: {} } },
        ],
        tool_calls: [
          { id: "1", name: "note", args: {} },
          { id: "2", name: "look", args: {} },
        ],
        invalid_tool_calls: [{ id: "3", name: "note", args: "{" }],
        additional_kwargs: { tool_calls: [raw("note"), raw("look")], more: 1 },
        response_metadata: { model_name: "x" },
        usage_metadata,
      }),
    );
    expect(message).toMatchObject({
      id: "m",
      content: [{ type: "text", text: "I look." }],
      tool_calls: [{ id: "2", name: "look", args: {} }],
      invalid_tool_calls: [],
      additional_kwargs: { tool_calls: [raw("look")], more: 1 },
      response_metadata: { model_name: "x" },
      usage_metadata,
    });
  });

  it("prints nothing where only invalid calls are left", () => {
    using warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const raw = { id: "2", type: "function" as const, function: { name: "look", arguments: "{" } };
    const message = callFilter("note")(
      new AIMessage({
        content: "",
        tool_calls: [{ id: "1", name: "note", args: {} }],
        invalid_tool_calls: [{ id: "2", name: "look", args: "{" }],
        additional_kwargs: { tool_calls: [raw] },
      }),
    );
    expect(message).toMatchObject({ tool_calls: [], invalid_tool_calls: [{ name: "look" }] });
    expect(warn).not.toHaveBeenCalled();
  });
});

describe("readReply", () => {
  it.each(["native", "text"] as const)(
    "repeats little of a long %s text with each call",
    (form) => {
      const text = "t".repeat(1_000_000);
      const message =
        form === "native"
          ? new AIMessage({ content: text, tool_calls: [{ id: "1", name: "look", args: {} }] })
          : new AIMessage(`Thought: ${text}\nAction: look\nAction Input: {}`);
      const { predictions, thought } = readReply({
        message,
        form,
        tools: new Map(),
        ids: () => "new",
        isUsed: () => false,
        noteForm: null,
        behind: [],
      });
      expect(thought).toBe(text);
      const cut = `${"t".repeat(2000)}… [cut: 998,000 more characters]`;
      expect(predictions).toMatchObject([{ name: "look", reason: cut }]);
    },
  );
});
