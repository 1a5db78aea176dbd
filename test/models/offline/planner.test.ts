import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answerInstructions } from "../../../src/context/prompts.ts";
import { stepMessages } from "../../../src/context/step-messages.ts";
import type { StructuredAnswer } from "../../../src/models/agent-model.ts";
import { createModels } from "../../../src/models/create-models.ts";
import { readConversation } from "../../../src/models/offline/conversation.ts";
import { decide } from "../../../src/models/offline/decide.ts";
import { readStructured } from "../../../src/models/replies/json-answer.ts";
import type { WorkerProfile } from "../../../src/planning/match-worker.ts";
import {
  gapAnswer,
  gapRequest,
  gapRetry,
  planAnswer,
  planRequest,
  planRetry,
  synthesisRequest,
  type PlanRequest,
} from "../../../src/planning/prompts.ts";
import type { TaskPlan } from "../../../src/state/plan.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { stepRecord, toolResult } from "../../helpers/step-record.ts";

const workers: readonly WorkerProfile[] = [
  {
    name: "reader",
    description: "Reads: files, and counts",
    tools: [{ name: "read_file", description: "Reads a file" }],
  },
  { name: "writer", description: "Writes", tools: [] },
];

const nothing: PlanRequest = { workers, most: 8, criteria: "", gaps: [], done: [], taken: [] };

/** What is done of earlier plans. */
const doneOf = (...ids: readonly string[]) => ids.map((id) => ({ id, description: `Do: ${id}` }));

type Results = readonly (readonly [string, unknown])[];

/** Results of subtasks as a planner tells them. */
function report(...results: Results): readonly BaseMessage[] {
  const tool_results = results.map(([task, result], i) =>
    toolResult({ id: `c${i}`, name: "worker", args: { id: `c${i}`, task }, result }),
  );
  const tool_predictions = tool_results.map((one) => ({ ...one, reason: "" }));
  return stepMessages(stepRecord({ thought: "", tool_predictions, tool_results }), "report");
}

/** What is given for a schema, by calling its function; in text the same has to come. */
function structured(messages: readonly BaseMessage[], answer: StructuredAnswer): unknown {
  const { name, description, schema: parameters } = answer;
  const { text, calls } = decide(messages, [], { name, description, parameters });
  const message = new AIMessage({ content: text, tool_calls: [...calls] });
  const read = readStructured(message, answer);
  expect(read).toMatchObject({ ok: true });
  expect(JSON.parse(decide(messages, []).text)).toEqual(read.value);
  return read.value;
}

function planOf(task: string, request: Partial<PlanRequest> = {}): TaskPlan {
  const asked = planRequest({ ...nothing, ...request });
  const messages = [
    new SystemMessage("You plan."),
    new HumanMessage(task),
    new HumanMessage(asked),
  ];
  return structured(messages, planAnswer(request.workers ?? workers)) as TaskPlan;
}

/** Ids with what they depend on. */
function links(task: string, request?: Partial<PlanRequest>) {
  const { subtasks } = planOf(task, request);
  return Object.fromEntries(subtasks.map(({ id, dependencies }) => [id, dependencies]));
}

describe("the offline model as a planner", () => {
  it("makes a subtask of each part, says what it is, and what its result is judged by", () => {
    const task =
      "1. Count the lines in README.md 2. Count the lines in LICENSE 3. Report both. The report must name LICENSE.";
    expect(planOf(task)).toEqual({
      subtasks: [
        { id: "count-lines-readme", description: "Count the lines in README.md", dependencies: [] },
        { id: "count-lines-license", description: "Count the lines in LICENSE", dependencies: [] },
        {
          id: "report-both",
          description: "Report both.",
          dependencies: ["count-lines-readme", "count-lines-license"],
        },
      ],
      success_criteria: "The report must name LICENSE.",
    });
  });

  it.each<[string, Record<string, readonly string[]>]>([
    [
      "Count the lines in README.md, count the lines in LICENSE, then add both and report the result",
      {
        "count-lines-readme": [],
        "count-lines-license": [],
        "add-both": ["count-lines-readme", "count-lines-license"],
        report: ["add-both"],
      },
    ],
    ["list the files in docs, then read docs/intro.md", { "list-files": [], "read-intro": [] }],
    ["Find the config file, then read it", { "find-config": [], read: ["find-config"] }],
    [
      "Parse the logs in logs/2024, then count the errors and then summarise the results",
      { "parse-logs": [], "count-errors": ["parse-logs"], summarise: ["count-errors"] },
    ],
    [
      "Parse the logs in logs/2024, then tell the time in Tokyo",
      { "parse-logs": [], "time-tokyo": [] },
    ],
    ["What is 12 * 7", { "number-12-7": [] }],
    [
      "What is 12 * 7? What is 3 * 4? Add both results.",
      { "number-12-7": [], "number-3-4": [], "add-both": ["number-12-7", "number-3-4"] },
    ],
    [
      "What is the weather in Paris? What is the weather in Rome? Compare them.",
      {
        "weather-paris": [],
        "weather-rome": [],
        compare: ["weather-paris", "weather-rome"],
      },
    ],
    [
      "1. Count the words in a.md\n2. Count the words in b.md\n3. Count the words in c.md\n" +
        "4. Add the numbers from 1 and 3\n5. Multiply the result of step 4 by 2",
      {
        "count-words-a": [],
        "count-words-b": [],
        "count-words-c": [],
        "add-numbers": ["count-words-a", "count-words-c"],
        multiply: ["add-numbers"],
      },
    ],
    [
      "- Research eel passes\n- Research mills\n- Write a report about both",
      {
        "research-eel": [],
        "research-mills": [],
        "write-report": ["research-eel", "research-mills"],
      },
    ],
    [
      "List the files in docs, then count the words of each of these files, and finally write a summary to out.md",
      { "list-files": [], "count-words": ["list-files"], "write-summary": ["count-words"] },
    ],
    [
      "Summarise docs/a.md, summarise docs/b.md, and combine the summaries",
      {
        "summarise-a": [],
        "summarise-b": [],
        "combine-summaries": ["summarise-a", "summarise-b"],
      },
    ],
    [
      "What time is it in Tokyo? What time is it in Oslo? Tell me which one is later",
      { "time-tokyo": [], "time-oslo": [], "one-later": ["time-tokyo", "time-oslo"] },
    ],
    ["猫を数える", { "step-1": [] }],
    ["1. A 2. A 3. A", { "step-1": [], "step-2": [], "step-3": [] }],
  ])("links the parts of %j by what they refer to", (task, expected) => {
    expect(links(task)).toEqual(expected);
  });

  it("takes the line before a list, the orders after it, and paragraphs along", () => {
    const list = "Count the lines of each of these files:\n- a.md\n- b.md\nThen compare both.";
    expect(planOf(list).subtasks.map(({ description }) => description)).toEqual([
      "Count the lines of a.md",
      "Count the lines of b.md",
      "compare both.",
    ]);
    const material = "Write about eels.\n\nEels climb at night.\n\nThen send it to ops@example.com";
    expect(planOf(material).subtasks).toEqual([
      {
        id: "write-eels",
        description: "Write about eels\n\nEels climb at night",
        dependencies: [],
      },
      {
        id: "send-ops",
        description: "send it to ops@example.com",
        dependencies: ["write-eels"],
      },
    ]);
  });

  it("names a worker that the request names, and leaves the others to be matched", () => {
    const task = "Let reader read notes.txt and let the writer write a letter. Then read b.txt";
    expect(planOf(task).subtasks.map(({ worker }) => worker)).toEqual([
      "reader",
      "writer",
      undefined,
    ]);
  });

  it("leaves what does not fit into the limit to the last subtask", () => {
    const task = "1. Read a.txt 2. Count the lines of b.txt 3. Add both. 4. Report the result";
    expect(planOf(task, { most: 2 }).subtasks).toEqual([
      { id: "read-a", description: "Read a.txt", dependencies: [] },
      {
        id: "count-lines",
        description: "Count the lines of b.txt; Add both; Report the result",
        dependencies: ["read-a"],
      },
    ]);
  });

  it("keeps criteria that it is given", () => {
    const task = "Read a.txt. The report must be short.";
    expect(planOf(task, { criteria: "It is\nfunny." }).success_criteria).toBe("It is\nfunny.");
    expect(planOf(task).success_criteria).toBe("The report must be short.");
    expect(planOf("The report must be short.").success_criteria).toBe("");
  });

  it("plans for gaps alone, on what is done and named in them", () => {
    const gaps = [
      "The result does not name\nthe lines of LICENSE.",
      "Nothing came of: Count the lines in README.md",
    ];
    const done = doneOf("count-lines-readme", "count-lines-license");
    expect(planOf("Count the lines in README.md", { gaps, done }).subtasks).toEqual([
      {
        id: "name-lines",
        description: "The result does not name\nthe lines of LICENSE.",
        dependencies: ["count-lines-license"],
      },
      {
        id: "count-lines",
        description: "Nothing came of: Count the lines in README.md",
        dependencies: ["count-lines-readme"],
      },
    ]);
    const again = { gaps: ["Count the lines of README.md"], done: doneOf("count-lines") };
    expect(links("x", again)).toEqual({ "count-lines-readme": ["count-lines"] });
    expect(links("x", { gaps: ["Count lines"], taken: ["count-lines"] })).toEqual({
      "count-lines-2": [],
    });
  });

  it("gives the same plan after one that was refused", () => {
    const asked = [
      new HumanMessage("Read a.txt, read b.txt"),
      new HumanMessage(planRequest(nothing)),
    ];
    const again = [...asked, new AIMessage("{}"), new HumanMessage(planRetry([{ message: "no" }]))];
    const answer = planAnswer(workers);
    expect(structured(again, answer)).toEqual(structured(asked, answer));
  });

  it.each([
    planRequest(nothing),
    planRequest({ ...nothing, gaps: ["x"], done: doneOf("a") }),
    planRequest({ ...nothing, gaps: ["x"], taken: ["a"] }),
    synthesisRequest({ criteria: "Good.", before: ["b"], failed: ["a"], form: "" }),
    gapRequest({ criteria: "Good.", before: ["a"] }),
  ])("keeps the task for the request before %j", (asked) => {
    const apart = readConversation([new HumanMessage("Read a.txt"), new HumanMessage(asked)]);
    const together = readConversation([new HumanMessage(`Read a.txt\n\n${asked}`)]);
    expect(apart).toMatchObject({ request: "Read a.txt", instruction: asked });
    expect(apart.planner).not.toBeNull();
    expect(together).toEqual(apart);
  });

  it("reads all that a request says", () => {
    const read = (text: string) => readConversation([new HumanMessage(text)]).planner;
    const full = {
      workers,
      most: 1200,
      criteria: "Short.\nGood.",
      gaps: ["x", "y\nz"],
      done: [...doneOf("a"), { id: "b", description: "Read\n- c: d" }],
      taken: ["c", "d"],
    };
    const names = ["reader", "writer"];
    expect(read(planRequest(full))).toEqual({
      ...full,
      kind: "plan",
      workers: names,
      done: ["a", "b"],
    });
    for (const part of [{ gaps: ["x"] }, { taken: ["c"] }, { done: full.done }]) {
      const ids = part.done === undefined ? [] : ["a", "b"];
      const expected = { ...nothing, ...part, done: ids, kind: "plan", workers: names };
      expect(read(planRequest({ ...nothing, ...part }))).toEqual(expected);
    }
    expect(read(planRequest(nothing))).toEqual({ ...nothing, kind: "plan", workers: names });
    const joining = { criteria: "Good.", before: ["c"], failed: ["a", "b"], form: "As text." };
    expect(read(synthesisRequest(joining))).toEqual({ kind: "synthesise", missing: ["a", "b"] });
    const criteria = "Short.\nGood.";
    for (const judging of [
      { criteria, before: ["x", "y\nz"] },
      { criteria, before: [] },
      { criteria: "", before: ["x"] },
      { criteria: "", before: [] },
    ]) {
      expect(read(gapRequest(judging))).toEqual({ kind: "judge", ...judging });
    }
    expect(read("Break it down")).toBeNull();
  });

  it("plans through a model that takes tools", async () => {
    const model = await createModels({ env: {}, clock: new ManualClock() }).resolve({});
    const answer = planAnswer(workers);
    const messages = [new HumanMessage("Read a.txt"), new HumanMessage(planRequest(nothing))];
    const { message } = await model.call({ messages, answer }, {});
    expect(readStructured(message, answer)).toEqual({
      ok: true,
      value: {
        subtasks: [{ id: "read-a", description: "Read a.txt", dependencies: [] }],
        success_criteria: "",
      },
    });
  });

  it("makes a plan without a fault of any task", () => {
    const words = fc.constantFrom(
      ..."Read a.md|count both|them|step 1|from 1 and 2|then|and|report it|. |, |;".split("|"),
      ..."\n|\n\n|1. |2. |\n- |\n- b|constructor|ü|reader|42|The report must be short.".split("|"),
    );
    const task = fc
      .array(fc.oneof({ weight: 5, arbitrary: words }, fc.string()), {
        minLength: 1,
        maxLength: 25,
      })
      .map((all) => `Do ${all.join(" ")}`);
    const ids = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,5}(-[a-z]{1,5})?$/), { maxLength: 4 });
    const gaps = fc.array(fc.stringMatching(/^\w[\w ,.]{0,40}\w$/), { maxLength: 4 });
    fc.assert(
      fc.property(task, fc.integer({ min: 1, max: 9 }), gaps, ids, (text, most, missing, done) => {
        const { subtasks } = planOf(text, {
          most,
          gaps: missing,
          done: doneOf(...done),
          taken: ["x", "y"],
        });
        expect(subtasks.length).toBeGreaterThan(0);
        expect(subtasks.length).toBeLessThanOrEqual(most);
        const known = new Set(done);
        for (const { id } of subtasks) expect(["x", "y"]).not.toContain(id);
        for (const { id, description, dependencies } of subtasks) {
          expect(id).toMatch(/^[a-z][a-z0-9-]{0,23}$/);
          expect(description.trim()).not.toBe("");
          for (const dependency of dependencies) expect(known).toContain(dependency);
          expect(new Set(dependencies).size).toBe(dependencies.length);
          expect(known).not.toContain(id);
          known.add(id);
        }
      }),
    );
  });
});

const task = "Count the lines in README.md and count the lines in LICENSE, and then report both.";
const counted = [
  ["Count the lines in README.md", "[offline:rules] 42"],
  ["count the lines in LICENSE", 17],
] as const;

describe("the offline model as a judge", () => {
  it.each<[string, string, readonly string[]]>([
    ["README.md has 42", "The report must name README.md.", []],
    ["42", "The report must name README.md.", ["The result does not name README.md."]],
    ["42", "", []],
    ["", "", ["There is no result."]],
    ["[offline:rules] ", "", ["There is no result."]],
    [
      "foo",
      'must mention "eel pass" and 42, and be at most 200 words',
      ["The result does not name eel pass.", "The result does not name 42."],
    ],
    ["In 2025", "must name 2025-09-12.", ["The result does not name 2025-09-12."]],
    ["Eel and 1042", "must contain eels and 1,042", []],
    [
      "foo",
      "It must name Ada Lovelace and eels.",
      ["The result does not name Ada Lovelace.", "The result does not name eels."],
    ],
    ["foo", "The report should name both files, give 3 sources and state the total.", []],
  ])("finds that %j lacks of %j: %j", (result, criteria, gaps) => {
    const messages = [
      new HumanMessage(task),
      ...report(...counted),
      new AIMessage(result),
      new HumanMessage(gapRequest({ criteria, before: [] })),
    ];
    expect(structured(messages, gapAnswer)).toEqual({ gaps });
  });

  it("finds what it had no tool for", () => {
    const poem = [new HumanMessage("Write a poem")];
    const answer = new AIMessage(decide(poem, []).text);
    const plain = { criteria: "", before: [] };
    const messages = [...poem, answer, new HumanMessage(gapRequest(plain))];
    expect(structured(messages, gapAnswer)).toEqual({ gaps: ["Nothing came of: Write a poem"] });
  });
});

describe("the offline model judging what was missing before", () => {
  const gap = 'Read b.md (subtask "b" failed: it is gone)';
  const other = 'Read c.md (subtask "c" was not begun: it needs "b", which failed)';
  const judge = (results: Results, before: readonly string[]) => [
    new HumanMessage("Read a.md and b.md"),
    ...report(["Read a.md", "A"], ...results),
    new AIMessage("A"),
    new HumanMessage(gapRequest({ criteria: "", before })),
  ];

  it("lists what failed and no later subtask has done", () => {
    expect(structured(judge([], [gap, other]), gapAnswer)).toEqual({ gaps: [gap, other] });
    expect(structured(judge([[gap, "B"]], [gap, other]), gapAnswer)).toEqual({ gaps: [other] });
    expect(structured(judge([[`${gap}; ${other}`, "B"]], [gap, other]), gapAnswer)).toEqual({
      gaps: [],
    });
  });

  it("judges anew what was a gap of the result", () => {
    expect(structured(judge([], ["The result does not name B."]), gapAnswer)).toEqual({ gaps: [] });
  });

  it("gives the same verdict after one that was refused", () => {
    const again = [new AIMessage(""), new HumanMessage(gapRetry("no JSON"))];
    expect(structured([...judge([], [gap]), ...again], gapAnswer)).toEqual({ gaps: [gap] });
  });
});

describe("the offline model joining results", () => {
  const joined = (results: Results, missing: readonly string[] = [], form = "") =>
    decide(
      [
        new HumanMessage(task),
        ...report(...results),
        new HumanMessage(
          synthesisRequest({ criteria: "Good.", before: [], failed: missing, form }),
        ),
      ],
      [],
    ).text;

  it("says each result with what it is of, and what there is none of", () => {
    expect(joined([...counted, ["Read notes.txt.", "Buy milk.\nBuy bread."]], ["Read b.txt"])).toBe(
      "[offline:rules] Count the lines in README.md: 42\n" +
        "count the lines in LICENSE: 17\n" +
        "Read notes.txt:\nBuy milk.\nBuy bread.\n" +
        "Missing: Read b.txt",
    );
  });

  it("begins with what the last subtask joined, and adds only what that does not say", () => {
    expect(joined([...counted, ["report both.", "[offline:rules] README 42, LICENSE 17"]])).toBe(
      "[offline:rules] README 42, LICENSE 17",
    );
    expect(joined([...counted, ["report both.", "README 42"]])).toBe(
      "[offline:rules] README 42\ncount the lines in LICENSE: 17",
    );
  });

  it("keeps to the order of the task, whichever subtask ended first", () => {
    const [readme, license] = counted;
    const both = ["report both.", "[offline:rules] README 42, LICENSE 17"] as const;
    expect(joined([both, license, readme])).toBe(joined([readme, license, both]));
    expect(joined([["Buy milk.", "ok"], license, readme])).toBe(
      "[offline:rules] Count the lines in README.md: 42\ncount the lines in LICENSE: 17\nBuy milk: ok",
    );
    const schema = {
      type: "object",
      properties: { results: { type: "array", items: { type: "string" } } },
      required: ["results"],
    };
    expect(JSON.parse(joined([license, readme], [], answerInstructions(schema)))).toEqual({
      results: ["42", "17"],
    });
  });

  it("fills a schema from the subtasks that speak of its properties", () => {
    const integer = { type: "integer" };
    const schema = {
      type: "object",
      properties: {
        readme_lines: integer,
        license_lines: integer,
        results: { type: "array", items: { type: "string" } },
        summary: { type: "string" },
      },
      required: ["readme_lines", "license_lines", "results", "summary"],
    };
    expect(JSON.parse(joined([...counted], [], answerInstructions(schema)))).toEqual({
      readme_lines: 42,
      license_lines: 17,
      results: ["42", "17"],
      summary: "Count the lines in README.md: 42\ncount the lines in LICENSE: 17",
    });
  });

  it("does not count lines of what subtasks gave", () => {
    expect(joined([["Count the lines in a.txt", "a.txt has\n7 lines"]])).toBe(
      "[offline:rules] Count the lines in a.txt:\na.txt has\n7 lines",
    );
  });
});
