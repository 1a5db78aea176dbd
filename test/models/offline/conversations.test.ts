import {
  AIMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { decide } from "../../../src/models/offline/decide.ts";
import { others, toolbox } from "./tools.ts";

type Results = Readonly<Record<string, string | ((args: Record<string, unknown>) => string)>>;

const tools = [...toolbox, ...others].map(({ name, description, input_schema }) => ({
  name,
  description,
  parameters: input_schema,
}));

/** Plays a conversation to its end: the calls in order, and the answer. */
function play(messages: BaseMessage[], results: Results) {
  const calls: string[] = [];
  for (let step = 0; step < 12; step += 1) {
    const move = decide(messages, tools);
    if (move.calls.length === 0) return { calls, answer: move.text, messages };
    messages.push(new AIMessage({ content: move.text, tool_calls: [...move.calls] }));
    for (const call of move.calls) {
      calls.push(`${call.name} ${JSON.stringify(call.args)}`);
      const result = results[call.name] ?? "error: no such thing";
      const content = typeof result === "string" ? result : result(call.args);
      const status = content.startsWith("error:") ? "error" : "success";
      messages.push(new ToolMessage({ tool_call_id: call.id, content, status }));
    }
  }
  throw new Error(`No answer after ${calls.join("; ")}`);
}

function ask(request: string, results: Results, system?: string) {
  const opening = system === undefined ? [] : [new SystemMessage(system)];
  return play([...opening, new HumanMessage(request)], results);
}

const sums = new Map([
  ["17.5 / 100 * 2340 + 12", "421.5"],
  ["6 * 7", "42"],
  ["20 + 22", "42"],
  ["42 * 3", "126"],
  ["126 - 26", "100"],
]);
const arithmetic: Results = {
  calculator: ({ expression }) => sums.get(String(expression)) ?? "error: unexpected",
};

describe("the offline model in a conversation", () => {
  it("answers with a tool's result and says what it is", () => {
    expect(ask("What is 17.5% of 2340 plus 12?", arithmetic)).toMatchObject({
      answer: "[offline:rules] 421.5",
    });
  });

  it("does chained parts one step each, in order", () => {
    const results = { list_files: "docs/intro.md\ndocs/setup.md", read_file: "# Intro\nWelcome." };
    expect(ask("list the files in docs, then read docs/intro.md", results)).toMatchObject({
      calls: ['list_files {"path":"docs"}', 'read_file {"path":"docs/intro.md"}'],
      answer:
        "[offline:rules] list_files: docs/intro.md\ndocs/setup.md\nread_file: # Intro\nWelcome.",
    });
  });

  it("does numbered parts one step each, in order", () => {
    const request =
      "Please do this: 1. Calculate 6 * 7 2. Tell me the time in Tokyo 3. Read notes.txt";
    const results = { ...arithmetic, current_time: "09:00", read_file: "Buy milk." };
    expect(ask(request, results)).toMatchObject({
      calls: [
        'calculator {"expression":"6 * 7"}',
        'current_time {"timezone":"Asia/Tokyo"}',
        'read_file {"path":"notes.txt"}',
      ],
      answer: "[offline:rules] calculator: 42\ncurrent_time: 09:00\nread_file: Buy milk.",
    });
  });

  it("uses the result before where the text says it", () => {
    const request =
      "Calculate 20 + 22, then multiply it by 3, and then subtract 26 from the result";
    expect(ask(request, arithmetic)).toMatchObject({
      calls: [
        'calculator {"expression":"20 + 22"}',
        'calculator {"expression":"42 * 3"}',
        'calculator {"expression":"126 - 26"}',
      ],
    });
  });

  it("reads the file that a result names", () => {
    const results = {
      search_text: "docs/limits.md:3: the rate limit is 60",
      read_file: "All limits.",
    };
    expect(ask('Search for "rate limit" in docs and then read the file', results)).toMatchObject({
      calls: [
        'search_text {"query":"rate limit","path":"docs"}',
        'read_file {"path":"docs/limits.md"}',
      ],
    });
  });

  it("sends what was found", () => {
    const results = { read_file: "All green.", send_email: '{"sent":true}' };
    expect(ask("Read status.txt; email it to ops@example.com", results)).toMatchObject({
      calls: [
        'read_file {"path":"status.txt"}',
        'send_email {"to":"ops@example.com","body":"All green."}',
      ],
    });
  });

  it("fills an argument from an earlier result's value of that name", () => {
    const results = {
      search_text: '{"order_id":"ORD-5","line":"payment failed"}',
      get_order: '{"order_id":"ORD-5","status":"paid"}',
    };
    expect(ask('Search for "payment failed", then look up the order', results)).toMatchObject({
      calls: ['search_text {"query":"payment failed"}', 'get_order {"order_id":"ORD-5"}'],
    });
  });

  it("counts matching lines", () => {
    const log = "INFO up\nERROR no card\nERROR timeout\nINFO down";
    const messages = [
      new HumanMessage("How many ERROR lines are there in payments.log?"),
      new AIMessage({ content: "", tool_calls: [{ id: "1", name: "read_file", args: {} }] }),
      new ToolMessage({ tool_call_id: "1", content: log }),
    ];
    expect(decide(messages, []).text).toBe("[offline:rules] 2");
  });

  it("takes the lines of a long text that the request is about", () => {
    const filler = Array.from({ length: 60 }, (_, i) => `Chapter ${i} tells of other things.`);
    const text = [...filler, "Refunds are paid within 14 days.", ...filler].join("\n");
    expect(ask("Read policy.md and say when refunds are paid", { read_file: text })).toMatchObject({
      answer: "[offline:rules] Refunds are paid within 14 days.",
    });
  });

  it("renders structured results in one line, what was asked for first", () => {
    const results = { get_order: '{"id":"ORD-9","customer":"Ada","status":"shipped"}' };
    expect(ask("What is the status of order ORD-9?", results)).toMatchObject({
      answer: "[offline:rules] status: shipped, id: ORD-9, customer: Ada",
    });
  });

  it("tells a failure instead of calling the same again", () => {
    expect(ask("Read missing.txt", { read_file: "error: no such file" })).toMatchObject({
      calls: ['read_file {"path":"missing.txt"}'],
      answer: "[offline:rules] read_file did not succeed: error: no such file",
    });
  });

  it("calls again after its answer was not accepted", () => {
    const first = ask("What is 6 * 7?", arithmetic);
    const feedback = "That answer was not accepted:\n- message: has to name the unit\nMend these.";
    const again = [...first.messages, new AIMessage(first.answer), new HumanMessage(feedback)];
    expect(play(again, arithmetic)).toMatchObject({
      calls: ['calculator {"expression":"6 * 7"}'],
      answer: expect.stringContaining("42"),
    });
  });

  it("calls a tool that only the feedback asks for", () => {
    const first = ask("What is 6 * 7?", arithmetic);
    const feedback = "That answer was not accepted:\n- name the current time in Tokyo too";
    const again = [...first.messages, new AIMessage(first.answer), new HumanMessage(feedback)];
    const results = { ...arithmetic, current_time: "09:00" };
    expect(play(again, results).calls).toEqual([
      'calculator {"expression":"6 * 7"}',
      'current_time {"timezone":"Asia/Tokyo"}',
    ]);
  });

  it("does not call again because of notes", () => {
    const first = ask("What is 6 * 7?", arithmetic);
    const note = new HumanMessage("Reflection on the last step: calculator answered.");
    expect(play([...first.messages, note], arithmetic).calls).toEqual([]);
  });

  it("does not take an earlier turn's calls for this turn's", () => {
    const first = ask("What is 6 * 7?", arithmetic);
    const again = [
      ...first.messages,
      new AIMessage(first.answer),
      new HumanMessage("What is 6 * 7?"),
    ];
    expect(play(again, arithmetic).calls).toEqual(['calculator {"expression":"6 * 7"}']);
  });

  it("answers from what was said before", () => {
    const messages = [
      new HumanMessage("My dog is called Rex."),
      new AIMessage("Noted."),
      new HumanMessage("What is my dog called?"),
    ];
    expect(decide(messages, tools).text).toBe("[offline:rules] My dog is called Rex.");
  });

  it("answers a request from results that nothing was said on yet", () => {
    const messages = [
      new HumanMessage("What is 6 * 7?"),
      new AIMessage({ content: "", tool_calls: [{ id: "1", name: "calculator", args: {} }] }),
      new ToolMessage({ tool_call_id: "1", content: "42" }),
    ];
    const asked = new HumanMessage("Say what came out.");
    expect(decide([...messages, asked], []).text).toBe("[offline:rules] 42");
    const answered = [...messages, new AIMessage("It is 42."), asked];
    expect(decide(answered, []).text).not.toBe("[offline:rules] 42");
  });

  it("answers from what the request brings along", () => {
    const request = "Write about eels.\n\nEels climb at night.\nThe mill is dry.";
    expect(decide([new HumanMessage(request)], []).text).toBe(
      "[offline:rules] Eels climb at night.",
    );
  });

  it("says so when nothing fits", () => {
    expect(decide([new HumanMessage("Write me a poem")], tools)).toEqual({
      text:
        '[offline:rules] I am a set of rules, not a language model, and no tool here fits "Write me a poem". ' +
        "Name a model in llm_config.default_model for a real answer.",
      calls: [],
    });
  });

  it("plans without calling", () => {
    const messages = [
      new HumanMessage("Read a.txt, then read b.txt"),
      new HumanMessage("State in a few sentences the approach. Do not call a tool yet."),
    ];
    expect(decide(messages, tools)).toEqual({
      text: "[offline:rules] 1. Read a.txt\n2. read b.txt",
      calls: [],
    });
  });

  it("gives the object that an instruction describes", () => {
    const { messages } = ask("What is 6 * 7?", arithmetic);
    const instruction =
      'Look back. Reply with one JSON object: {"reflection": string, "synthesis": string (how), ' +
      '"progress": "advancing" | "stuck", "hypothesis": {"belief": string, "test": string} | null, ' +
      '"approach": string (only when it should change)}';
    expect(JSON.parse(decide([...messages, new HumanMessage(instruction)], tools).text)).toEqual({
      reflection: "calculator answered.",
      synthesis: "calculator answered.",
      progress: "advancing",
      hypothesis: null,
    });
    const judge =
      'Judge it. Reply with one JSON object: {"accepted": boolean, "reasons": [string]}';
    expect(JSON.parse(decide([...messages, new HumanMessage(judge)], tools).text)).toEqual({
      accepted: true,
      reasons: [],
    });
  });
});

describe("what the offline model says of structured results", () => {
  const answerTo = (request: string, name: string, result: object) =>
    ask(request, { [name]: JSON.stringify(result) }).answer.replace("[offline:rules] ", "");

  it("counts by a listing's own figure, or by what the request narrows it to", () => {
    const entries = [{ path: "a.ts" }, { path: "b.md" }, { path: "c.ts" }];
    const listing = { entries, total: 900, truncated: true };
    expect(answerTo("How many files are in src/?", "list_files", listing)).toBe("900");
    expect(answerTo("How many TypeScript files are in src/?", "list_files", listing)).toBe("2");
  });

  it("counts lines in the content of a file", () => {
    const file = { path: "a.log", content: "ERROR a\nINFO b\nERROR c", total_lines: 3 };
    expect(answerTo("Read a.log and say how many ERROR lines it has", "read_file", file)).toBe("2");
  });

  it("shows places with their lines", () => {
    const found = { matches: [{ file: "a.ts", line: 3, text: "  // TODO x" }], total: 1 };
    expect(answerTo("Find where TODO appears in src/", "search_text", found)).toBe(
      "a.ts:3: // TODO x",
    );
  });

  it("says that a list is empty", () => {
    const found = { matches: [], total: 0 };
    expect(answerTo("Find where TODO appears in src/", "search_text", found)).toBe("nothing");
  });
});
