import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ModelTool } from "../../../src/models/agent-model.ts";
import { readConversation } from "../../../src/models/offline/conversation.ts";
import { decide } from "../../../src/models/offline/decide.ts";
import { readWorkerMessage } from "../../../src/models/offline/history.ts";
import { workerMessage } from "../../../src/planning/prompts.ts";
import { others, toolbox } from "./tools.ts";

const countWords: ModelTool = {
  name: "count_words",
  description: "Counts the words of a text file.",
  input_schema: {
    type: "object",
    properties: { path: { type: "string", description: "Path of the file" } },
    required: ["path"],
  },
};
const tools = [...toolbox, ...others, countWords].map(({ name, description, input_schema }) => ({
  name,
  description,
  parameters: input_schema,
}));

type Dependency = Parameters<typeof workerMessage>[1][number];

const readme = {
  id: "readme",
  description: "Count the lines in README.md",
  result: "[offline:rules] 42",
};
const license = { id: "license", description: "Count the lines in LICENSE", result: 17 };

/** The calls that a worker makes for a subtask, each with its result, and the answer. */
function work(
  description: string,
  dependencies: readonly Dependency[],
  result: (args: Readonly<Record<string, unknown>>) => string = () => "done",
  expected_output = "",
) {
  const messages: BaseMessage[] = [
    new HumanMessage(workerMessage({ description, expected_output }, dependencies)),
  ];
  const calls: string[] = [];
  for (let step = 0; step < 8; step += 1) {
    const move = decide(messages, tools);
    if (move.calls.length === 0) return { calls, answer: move.text };
    messages.push(new AIMessage({ content: move.text, tool_calls: [...move.calls] }));
    for (const { id, name, args } of move.calls) {
      calls.push(`${name} ${JSON.stringify(args)}`);
      messages.push(new ToolMessage({ tool_call_id: id, content: result(args) }));
    }
  }
  throw new Error(`No answer after ${calls.join("; ")}`);
}

describe("the offline model as a worker", () => {
  it("takes results that it is given for no part of what it is to do", () => {
    const results = "Read b.md, then read c.md.\n\n1. Read d.md\n2. Read e.md";
    const given = { id: "plan", description: "Find out what to read", result: results };
    const message = workerMessage({ description: "Read a.md", expected_output: "Text" }, [given]);
    expect(readConversation([new HumanMessage(message)])).toMatchObject({
      request: "Read a.md",
      outcomes: [],
      given: [{ name: "plan", args: { task: "Find out what to read" }, text: results }],
    });
    expect(work("Read a.md", [given], undefined, "Text")).toEqual({
      calls: ['read_file {"path":"a.md"}'],
      answer: "[offline:rules] done",
    });
  });

  it("tells any results apart", () => {
    const line = fc.oneof(
      fc.constantFrom("", "### other: Read b", "Results of earlier subtasks:", "#", " x ", "\r"),
      fc.stringMatching(/^`{1,6}[a-z]?`{0,6}$/),
      fc.string(),
    );
    const text = fc.array(line, { maxLength: 6 }).map((lines) => lines.join("\n"));
    const dependency = fc.record({
      id: fc.stringMatching(/^[\w.-]{1,8}$/),
      description: fc.oneof(text, line),
      result: fc.oneof(text, fc.jsonValue()),
    });
    const dependencies = fc.array(dependency, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(dependencies, fc.string(), (given, expected_output) => {
        const message = workerMessage({ description: "Read a.md", expected_output }, given);
        const read = readWorkerMessage(message);
        expect(read?.description).toBe("Read a.md");
        expect(read?.given.map(({ name, text: told }) => [name, told])).toEqual(
          given.map(({ id, result }) => [
            id,
            typeof result === "string" ? result : JSON.stringify(result),
          ]),
        );
      }),
      { numRuns: 500 },
    );
  });

  it("reads a description that holds the words above the results", () => {
    const heading = "Results of earlier subtasks:";
    const description = `Say what this is:\n\n${heading}\n\n### a: b\nc\n\nIs it text?`;
    const message = workerMessage({ description }, [readme]);
    expect(readWorkerMessage(message)).toMatchObject({ description, given: [{ text: "42" }] });
    expect(readWorkerMessage(description)).toBeNull();
  });

  it("does a subtask that is given nothing", () => {
    expect(work("count the words in docs/a.md", [], () => "7", "A number")).toEqual({
      calls: ['count_words {"path":"docs/a.md"}'],
      answer: "[offline:rules] 7",
    });
  });

  it("goes through the files that it is given", () => {
    const list = { id: "list", description: "List the files", result: ["docs/a.md", "docs/b.md"] };
    const each = ['count_words {"path":"docs/a.md"}', 'count_words {"path":"docs/b.md"}'];
    expect(work("count the words of each of these files", [list], () => "7")).toEqual({
      calls: each,
      answer: "[offline:rules] count_words docs/a.md: 7\ncount_words docs/b.md: 7",
    });
    const text = { ...list, result: "docs/a.md\ndocs/b.md" };
    expect(work("Count the words of both files", [text], () => "7").calls).toEqual(each);
  });

  it("calculates with the numbers that it is given", () => {
    const sum = work("add both", [readme, license], () => "59", "A number");
    expect(sum.calls).toEqual(['calculator {"expression":"42 + 17"}']);
    expect(sum.answer).toBe("[offline:rules] 59");
    const average = work("Calculate the average of these", [readme, license]);
    expect(average.calls).toEqual(['calculator {"expression":"(42 + 17) / 2"}']);
    expect(work("multiply it by 3", [license]).calls).toEqual([
      'calculator {"expression":"17 * 3"}',
    ]);
  });

  it("sends what it is given", () => {
    expect(work("Send it to ops@example.com", [readme]).calls).toEqual([
      'send_email {"to":"ops@example.com","body":"42"}',
    ]);
    const both = "Count the lines in README.md: 42\nCount the lines in LICENSE: 17";
    expect(work("send both to ops@example.com", [readme, license]).calls).toEqual([
      `send_email ${JSON.stringify({ to: "ops@example.com", body: both })}`,
    ]);
  });

  it.each(["report both.", "Summarise the results", "Compare the line counts of both"])(
    "joins what it is given without a tool: %j",
    (description) => {
      expect(work(description, [readme, license])).toEqual({
        calls: [],
        answer: "[offline:rules] Count the lines in README.md: 42\nCount the lines in LICENSE: 17",
      });
    },
  );

  it("answers from a long text that it is given", () => {
    const filler = "Things of another kind. ".repeat(40);
    const limits = {
      id: "limits",
      description: "Read limits.md",
      result: `Intro.\nThe rate limit is 60 a minute.\n${filler}`,
    };
    expect(work("What is the rate limit?", [limits])).toEqual({
      calls: [],
      answer: "[offline:rules] The rate limit is 60 a minute.",
    });
  });
});
