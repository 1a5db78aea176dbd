import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  parseTextForm,
  renderTextFormInstructions,
  toToolInput,
  type TextFormTurn,
} from "../../../src/models/text-form/text-form.ts";

const search = (input: unknown) => [{ name: "search", input }];

function turn(over: Partial<TextFormTurn>): TextFormTurn {
  return { thought: "", actions: [], finalAnswer: null, problems: [], ...over };
}

describe("parseTextForm", () => {
  it("reads a thought and an action", () => {
    expect(
      parseTextForm('Thought: look it up\nAction: search\nAction Input: {"q": "python"}'),
    ).toEqual(turn({ thought: "look it up", actions: search({ q: "python" }) }));
  });

  it("reads a thought and a final answer of several lines", () => {
    expect(parseTextForm("Thought: done\nFinal Answer: one\n\ntwo")).toEqual(
      turn({ thought: "done", finalAnswer: "one\n\ntwo" }),
    );
  });

  it.each<[string, string]>([
    ["numbered", "Thought 1: t\nAction 1: search\nAction Input 1: x"],
    ["bold", "**Thought:** t\n**Action:** search\n**Action Input:** x"],
    ["bold before the colon", "**Thought**: t\n**Action**: search\n**Action Input**: x"],
    ["bold as a whole", "**Thought: t**\n**Action: search**\n**Action Input: x**"],
    ["headings", "### Thought: t\n### Action: search\n### Action Input: x"],
    ["lists", "1. Thought: t\n2. Action: search\n3. Action Input: x"],
    ["lower-case", "thought: t\naction: search\naction input: x"],
    ["upper-case", "THOUGHT: t\nACTION: search\nACTION INPUT: x"],
    ["joined", "Thought: t\nAction: search\nAction_Input: x"],
    ["without colons", "Thought t\nAction search\nAction Input x"],
    ["on lines of their own", "Thought:\nt\n\nAction:\nsearch\n\nAction Input:\nx\n"],
    ["in one line", "Thought: t Action: search Action Input: x"],
    ["with Windows line ends", "Thought: t\r\nAction: search\r\nAction Input: x\r\n"],
    ["in a code fence", "```\nThought: t\nAction: search\nAction Input: x\n```"],
    ["in a fence after prose", "t\n```text\nAction: search\nAction Input: x\n```\nThat is all."],
    ["with the name quoted", 'Thought: t\nAction: "search"\nAction Input: x'],
    ["with the name as code", "Thought: t\nAction: `search`.\nAction Input: x"],
    ["with a short label for the input", "Thought: t\nAction: search\nInput: x"],
    ["as a call in brackets", "Thought: t\nAction: search[x]"],
    ["as a call in parentheses", "Thought: t\nAction: search('x')"],
    ["with the thought unlabelled", "t\nAction: search\nAction Input: x"],
  ])("reads labels %s", (_style, text) => {
    expect(parseTextForm(text)).toEqual(turn({ thought: "t", actions: search("x") }));
  });

  it.each<[string, unknown]>([
    ['{"q": "x", "n": 2}', { q: "x", n: 2 }],
    ['{"q": "x", // why\n "n": 2,\n}', { q: "x", n: 2 }],
    ["{'q': 'x', 'n': 2}", { q: "x", n: 2 }],
    ["{q: 'x', ok: True}", { q: "x", ok: true }],
    ["{'q': 'x', // why\n 'n': [2,],}", { q: "x", n: [2] }],
    ['```json\n{\n  "q": "x"\n}\n```', { q: "x" }],
    ['`{"q": "x"}`', { q: "x" }],
    ['{"q": "x"} is what I need', { q: "x" }],
    ['["a", "b"]', ["a", "b"]],
    ["[1] of the list", "[1] of the list"],
    ['"Wallace and Gromit"', '"Wallace and Gromit"'],
    ["Ski Patrol (1940 film)", "Ski Patrol (1940 film)"],
    ["42", "42"],
    ["line one\nline two", "line one\nline two"],
    ["```\nAction: not one\n```", "Action: not one"],
    [
      '{"text": "a\\nObservation: b", "more": {\n"x": "Final Answer: c"}}',
      { text: "a\nObservation: b", more: { x: "Final Answer: c" } },
    ],
  ])("reads the input %j", (input, expected) => {
    expect(parseTextForm(`Action: search\nAction Input: ${input}`).actions).toEqual(
      search(expected),
    );
    expect(
      parseTextForm(`Action: search\nAction Input:\n${input}\nObservation: z`).actions,
    ).toEqual(search(expected));
  });

  it.each<[string, unknown]>([
    ["search[Ripon College]", "Ripon College"],
    ["Search[The Dark Tower (2017 film)]", "The Dark Tower (2017 film)"],
    ["search[list[int]]", "list[int]"],
    ["search()", {}],
    ["search", {}],
    ['search({"q": "x"})', { q: "x" }],
    [
      'search(q="a, \\"b\\"", n=5, deep=True, at={"x": [1, 2]}, how=fast)',
      { q: 'a, "b"', n: 5, deep: true, at: { x: [1, 2] }, how: "fast" },
    ],
    ["search(http://x.org/a=b)", "http://x.org/a=b"],
    ['search\n{"q": "x"}', { q: "x" }],
    ['{"name": "search", "arguments": {"q": "x"}}', { q: "x" }],
    ['```json\n{"action": "search", "action_input": "x"}\n```', "x"],
  ])("reads the action %j", (action, input) => {
    const [read] = parseTextForm(`Thought: t\nAction: ${action}`).actions;
    expect(read?.name.toLowerCase()).toBe("search");
    expect(read?.input).toEqual(input);
  });

  it("reads several actions in order", () => {
    const text =
      'Action: a\nAction Input: {"n": 1}\nThought: and\nAction: b\nAction Input: x\nAction: c[y]';
    expect(parseTextForm(text)).toEqual(
      turn({
        thought: "and",
        actions: [
          { name: "a", input: { n: 1 } },
          { name: "b", input: "x" },
          { name: "c", input: "y" },
        ],
      }),
    );
  });

  it("leaves out an invented observation and all that comes after it", () => {
    const more =
      "Observation: made up\nThought: so\nAction: other\nAction Input: y\nFinal Answer: z";
    for (const label of ["", "**"]) {
      expect(parseTextForm(`Thought: t\nAction: search\nAction Input: x\n${label}${more}`)).toEqual(
        turn({ thought: "t", actions: search("x") }),
      );
    }
    expect(parseTextForm(`Final Answer: 42\n${more}`)).toEqual(turn({ finalAnswer: "42" }));
  });

  it("ignores an observation that is told again before the first action", () => {
    expect(
      parseTextForm("Observation: old news\nThought: t\nAction: search\nAction Input: x"),
    ).toEqual(turn({ thought: "t", actions: search("x") }));
  });

  it.each([
    ["Final Answer: 42", "42"],
    ["final answer: 42", "42"],
    ["**Final Answer:** 42", "42"],
    ["Final Answer\n42", "42"],
    ["Action 3: Finish[42]", "42"],
    ["Action: finish(answer='42')", "42"],
    ["Action: Finish\nAction Input: 42", "42"],
    ["Action: None\nFinal Answer: 42", "42"],
    ["```\nFinal Answer: 42\n```", "42"],
    ["Final Answer: see\n```sh\nAction: run\n```", "see\n```sh\nAction: run\n```"],
    ["Final Answer: two things\nAction: refund the fare", "two things\nAction: refund the fare"],
  ])("reads the answer of %j", (text, answer) => {
    expect(parseTextForm(text)).toMatchObject({ actions: [], finalAnswer: answer, problems: [] });
  });

  it("lets an action stand against an answer that did not wait for it", () => {
    expect(parseTextForm("Action: search\nAction Input: x\nFinal Answer: 42")).toEqual(
      turn({
        actions: search("x"),
        problems: ["The final answer was ignored: it came before the results of the actions."],
      }),
    );
  });

  it("takes what a model thinks in tags for a thought", () => {
    expect(parseTextForm("<think>\nAction: no?\n</think>\nThought: t\nAction: search[x]")).toEqual(
      turn({ thought: "Action: no?\nt", actions: search("x") }),
    );
  });

  it.each([
    ["I would look it up.", "The reply had neither an action nor a final answer."],
    ["", "The reply had neither an action nor a final answer."],
    ["Thought: t\nAction:", 'An "Action:" line named no tool.'],
    ["Action Input: x", 'An "Action Input:" stood without an "Action:" before it.'],
    ["Action: search for python", '"search for python" is not the name of a tool.'],
    ["Action: {broken", "The action could not be read."],
    ["Final Answer:", 'The "Final Answer:" was empty.'],
  ])("tells what is wrong with %j", (text, problem) => {
    const read = parseTextForm(text);
    expect(read).toMatchObject({ actions: [], finalAnswer: null });
    expect(read.problems.join(" ")).toContain(problem);
  });

  it.each([
    ['{"q": "pyth', "it ends inside a string"],
    ['{"q": "x"', "it is cut off: not all of its brackets are closed"],
    ['{"q": ["x"}', 'expected "," or "]" at character 10, got "}"'],
    ["{q: x}", 'expected a value at character 4, got "x"'],
    ["```json", "it is cut off"],
  ])("keeps an action whose input %j it cannot read, and tells why", (input, why) => {
    expect(parseTextForm(`Action: search\nAction Input: ${input}`)).toEqual(
      turn({
        actions: [
          {
            name: "search",
            input,
            problem: `The input of search begins like JSON and could not be read: ${why}. Write it as one valid JSON object.`,
          },
        ],
      }),
    );
  });

  it("does not take the first of two objects for the input", () => {
    const [action] = parseTextForm('Action: search\nAction Input: {"q": "x"}\n{"q": "y"}').actions;
    expect(action?.input).toBe('{"q": "x"}\n{"q": "y"}');
  });

  it("tells what it ignored after a call", () => {
    expect(parseTextForm("Action: search[x] on another site")).toEqual(
      turn({
        actions: search("x"),
        problems: ['What followed search[…] on its line was ignored: "on another site".'],
      }),
    );
  });

  it("reads no more than 32 actions", () => {
    const read = parseTextForm("Action: search[x]\n".repeat(40));
    expect(read.actions).toHaveLength(32);
    expect(read.problems).toEqual(["Only the first 32 actions were read."]);
  });

  it("reads any turn in any mix of styles", () => {
    const words = fc.stringMatching(/^[a-z0-9"'(][a-z0-9 "'(),.&-]{0,30}[a-z0-9"').]$/);
    const style = fc.record({
      label: fc.constantFrom(
        (text: string) => `${text}:`,
        (text: string) => `**${text}:**`,
        (text: string) => `**${text}**:`,
        (text: string) => `${text.toLowerCase()}:`,
        (text: string) => `${text.toUpperCase()} :`,
        (text: string) => `${text} 2:`,
        (text: string) => `> *${text}*:`,
      ),
      gap: fc.constantFrom(" ", "\n", ""),
      end: fc.constantFrom("\n", "\r\n", "\n\n"),
      fence: fc.constantFrom("", "```", "```text", "~~~"),
      invented: fc.constantFrom("", "Observation: o\nThought: u\nAction: v\nAction Input: w"),
    });
    const hasAnswer = fc.boolean();
    fc.assert(
      fc.property(words, words, hasAnswer, style, (thought, said, isAnswer, s) => {
        const parts = isAnswer
          ? [
              ["Thought", thought],
              ["Final Answer", said],
            ]
          : [
              ["Thought", thought],
              ["Action", "search"],
              ["Action Input", said],
            ];
        const lines = parts.map(([label = "", text]) => s.label(label) + s.gap + text);
        if (s.invented !== "") lines.push(s.invented);
        if (s.fence !== "") lines.unshift(s.fence);
        if (s.fence !== "") lines.push(s.fence.slice(0, 3));
        expect(parseTextForm(lines.join(s.end))).toEqual(
          isAnswer
            ? turn({ thought, finalAnswer: said })
            : turn({ thought, actions: search(said) }),
        );
      }),
    );
  });

  it("reads back any JSON input, whatever its strings hold", () => {
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom("\nObservation: o", "Action: a", "```", "//"),
    );
    const args = fc.dictionary(text, fc.oneof(text, fc.jsonValue()));
    fc.assert(
      fc.property(args, fc.constantFrom(0, 2), (input, indent) => {
        const json = JSON.stringify(input, null, indent);
        const read = parseTextForm(`Action: search\nAction Input: ${json}\nObservation: made up`);
        expect(read.actions).toEqual(search(JSON.parse(json)));
      }),
    );
  });

  it("never throws, and always gives an action, an answer or a problem", () => {
    const piece = fc.constantFrom(
      ..."Thought:|Action:|Action Input:|Final Answer:|Observation:|\n|\n\n|```|```json|{|}|[|]|(|)|\"|'|,|//|**|search|Finish|=| |\\|<think>|</think>".split(
        "|",
      ),
    );
    const soup = fc.array(fc.oneof(piece, fc.string()), { maxLength: 30 });
    fc.assert(
      fc.property(soup, (pieces) => {
        const read = parseTextForm(pieces.join(""));
        const said =
          read.actions.length + read.problems.length + (read.finalAnswer === null ? 0 : 1);
        expect(said).toBeGreaterThan(0);
      }),
      { numRuns: 500 },
    );
  });
});

describe("toToolInput", () => {
  const schema = (properties: Record<string, unknown>, required: string[] = []) => ({
    type: "object",
    properties,
    required,
  });
  const text = { type: "string" };
  const one = schema({ query: text });

  it("leaves objects as they are", () => {
    const input = { other: 1 };
    expect(toToolInput(input, one)).toBe(input);
  });

  it("makes a text the only property, or the only required one", () => {
    expect(toToolInput("python", one)).toEqual({ query: "python" });
    expect(
      toToolInput("python", schema({ query: text, n: { type: "integer" } }, ["query"])),
    ).toEqual({
      query: "python",
    });
  });

  it("takes quotes off a text that is in them as a whole", () => {
    expect(toToolInput('"a \\"b\\""', one)).toEqual({ query: 'a "b"' });
    expect(toToolInput("'a'", one)).toEqual({ query: "a" });
    expect(toToolInput('"a" and "b"', one)).toEqual({ query: '"a" and "b"' });
  });

  it("reads JSON for a property that is no text", () => {
    expect(toToolInput("5", schema({ n: { type: "integer" } }))).toEqual({ n: 5 });
    expect(toToolInput("five", schema({ n: { type: "integer" } }))).toEqual({ n: "five" });
    expect(toToolInput(["a"], schema({ list: { type: "array" } }))).toEqual({ list: ["a"] });
  });

  it("takes named arguments apart where the schema knows the names", () => {
    const both = schema({ query: text, n: { type: "integer" } }, ["query"]);
    expect(toToolInput('query="a", n=5', both)).toEqual({ query: "a", n: 5 });
    expect(toToolInput("query: a\nn: 5", both)).toEqual({ query: "a", n: 5 });
    expect(toToolInput("x = 5", one)).toEqual({ query: "x = 5" });
  });

  it("gives a tool without properties nothing", () => {
    expect(toToolInput("none", schema({}))).toEqual({});
    expect(toToolInput("", {})).toEqual({});
  });

  it("gives back an input for a tool without properties", () => {
    expect(toToolInput('{"q": "pyth', schema({}))).toBe('{"q": "pyth');
    expect(toToolInput("python", schema({}))).toBe("python");
  });

  it("gives back what fits nothing", () => {
    expect(toToolInput("python", {})).toBe("python");
    expect(toToolInput("python", schema({ a: text, b: text }, ["a", "b"]))).toBe("python");
    expect(toToolInput("python", schema({ a: text, n: { type: "integer" } }, ["n"]))).toBe(
      "python",
    );
  });
});

describe("renderTextFormInstructions", () => {
  it("names the tools with their schemas, and the labels", () => {
    const text = renderTextFormInstructions([
      {
        name: "search",
        description: "Searches the web.",
        input_schema: { $schema: "draft", type: "object", properties: {} },
      },
      { name: "read", description: "Reads a file.", input_schema: {} },
    ]);
    expect(text).toContain(
      '- search: Searches the web.\n  input: {"type":"object","properties":{}}\n- read: Reads a file.',
    );
    expect(text).toContain("exactly one of: search, read");
    for (const label of ["Thought:", "Action:", "Action Input:", "Observation:", "Final Answer:"]) {
      expect(text).toContain(`\n${label} `);
    }
  });

  it("tells how to answer where there are no tools", () => {
    const text = renderTextFormInstructions([]);
    expect(text).toContain("Final Answer: ");
    expect(text).not.toContain("Action");
  });
});
