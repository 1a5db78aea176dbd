import { eld } from "eld/small";
import { describe, expect, it } from "vitest";
import { detectedLanguages } from "../../src/definition/check/rails.ts";
import { formatConfigSchema } from "../../src/definition/schema/guardrails.ts";
import { formatRail, FormatRailError } from "../../src/guardrails/format.ts";
import { passFinding, type RailContext } from "../../src/definition/rail.ts";
import { textsOf } from "../../src/guardrails/value-texts.ts";

const context = {} as RailContext;

function railOf(config: object) {
  return formatRail(formatConfigSchema.parse(config), { onError: "block" });
}
async function check(config: object, text: string) {
  return railOf(config).check(
    { on: "output", text, value: { message: text }, tool: null },
    context,
  );
}
async function reasons(config: object, text: string) {
  return (await check(config, text)).reasons;
}

describe("formatRail", () => {
  it("is a rail on answers", () => {
    const rail = railOf({});
    expect([rail.name, [...rail.on], rail.onError]).toEqual(["format", ["output"], "block"]);
  });

  it("passes what it has nothing to say about", async () => {
    expect(await check({ is: "json", max_length: 10 }, "{}")).toBe(passFinding);
  });

  it("tells all problems, and blocks or flags by the action", async () => {
    const config = { is: "json", max_length: 3, pattern: "^\\{" };
    const found = await check(config, "Hello");
    expect(found).toMatchObject({ verdict: "block", score: 1, spans: [] });
    expect(found.reasons).toHaveLength(3);
    expect((await check({ ...config, action: "flag" }, "Hello")).verdict).toBe("flag");
  });
});

describe("is: json", () => {
  it("takes any JSON", async () => {
    expect(await reasons({ is: "json" }, ' [1, "a", null]\n')).toEqual([]);
    expect(await reasons({ is: "json" }, "true")).toEqual([]);
  });

  it.each([
    ["", "The text is empty; write JSON."],
    ["```json\n{}\n```", "The JSON is in a code block; write the JSON alone, without the fences."],
    [
      'Here it is: {"a": 1}',
      "The text does not begin as JSON; write the JSON alone, without words around it.",
    ],
    ['{"a": 1,\n "b": x}', "The text is not valid JSON from line 2, column 7 on; mend it there."],
    ['{"a": [1, 2', "The text is not valid JSON from line 1, column 12 on; mend it there."],
  ])("says how to mend %j", async (text, reason) => {
    expect(await reasons({ is: "json" }, text)).toEqual([reason]);
  });
});

describe("schema", () => {
  const schema = {
    type: "object",
    properties: {
      name: { type: "string" },
      lines: {
        type: "array",
        items: { type: "object", properties: { price: { type: "number" } } },
      },
    },
    required: ["name"],
    additionalProperties: false,
  };

  it("implies JSON, and passes what is of it", async () => {
    expect(await reasons({ schema }, "no JSON")).toHaveLength(1);
    expect(await reasons({ schema }, '{"name": "x", "lines": [{"price": 1}]}')).toEqual([]);
  });

  it("names the places that the schema knows", async () => {
    expect(await reasons({ schema }, '{"name": 1, "lines": [{"price": "secret"}]}')).toEqual([
      '"name" of the JSON is not as the schema wants it: Invalid input: expected string, received number.',
      '"lines.0.price" of the JSON is not as the schema wants it: Invalid input: expected number, received string.',
    ]);
    expect(await reasons({ schema }, "[]")).toEqual([
      "The JSON is not as the schema wants it: Invalid input: expected object, received array.",
    ]);
  });

  it("repeats no key that is the text's own", async () => {
    expect(await reasons({ schema }, '{"name": "x", "ann@x.io": 1}')).toEqual([
      "The JSON has keys that the schema does not allow; leave them out.",
    ]);
    const map = { type: "object", additionalProperties: { type: "number" } };
    expect(await reasons({ schema: map }, '{"ann@x.io: b": "x", "12": "y"}')).toEqual([
      '"12" of the JSON is not as the schema wants it: Invalid input: expected number, received string.',
      "A value under a key that the schema does not name is not as the schema wants it.",
    ]);
  });

  it("is refused where it cannot be checked", () => {
    expect(() => railOf({ schema: { type: "no such type" } })).toThrow(FormatRailError);
  });
});

describe("is: markdown", () => {
  it("takes what is shown as it was meant, whatever its style", async () => {
    const text = [
      "Some text with   spaces  ",
      "#### Heading first",
      "* a\n+ b",
      "<b>html</b> http://x.io",
      "| a | b |\n|---|---|\n| 1 | 2 |",
      "```\ncode\n```",
      "- item\n\n  ~~~~js\n  ```\n  ~~~~",
      "See [it](http://x.io) and [a][b].\n\n[b]: http://y.io",
      "a * b * c, snake_case_name, [x] done",
    ].join("\n\n");
    expect(await reasons({ is: "markdown" }, text)).toEqual([]);
  });

  it.each([
    ["```js\nlet a;\n\nafter", "Line 1: the code block is not closed; end it with the same fence."],
    [
      "a\n\n> ~~~\n> code\n\nb",
      "Line 3: the code block is not closed; end it with the same fence.",
    ],
    ["````\n```\n", "Line 1: the code block is not closed; end it with the same fence."],
    [
      "| a | b |\n|---|---|\n| 1 |",
      "Line 3: the row of the table has not as many cells as its heading; give it as many.",
    ],
    ["#Heading", "Line 1: the heading has no space after its #; write a space there."],
    ["[text]()", "Line 1: the link has no address; give it one or write plain text."],
    [
      "see [text][nowhere]",
      "Line 1: the link or image refers to a label that is not defined; define it or write the address.",
    ],
    ["(text)[http://x.io]", "Line 1: the link is the wrong way round; write [text](address)."],
    [
      "<!-- markdownlint-disable -->\n\n#Heading",
      "Line 3: the heading has no space after its #; write a space there.",
    ],
  ])("finds what is broken in %j", async (text, reason) => {
    expect(await reasons({ is: "markdown" }, text)).toContain(reason);
  });
});

describe("pattern", () => {
  it("has to match somewhere", async () => {
    expect(await reasons({ pattern: "\\d{4}" }, "in 2024")).toEqual([]);
    expect(await reasons({ pattern: "^\\d{4}$" }, "in 2024")).toEqual([
      "The text does not match the regular expression ^\\d{4}$; write it so that it does.",
    ]);
  });

  it.each([
    ["[".repeat(90_000), "Line 1: the block has more than 2,000 signs of Markdown"],
    ["<EMAIL_".repeat(10_000), "Line 1: the block has more than 2,000 signs of Markdown"],
    ["*a_".repeat(30_000), "Line 1: the block has more than 2,000 signs of Markdown"],
    [`<!--\n\`\`\`\n-->\n${"]".repeat(90_000)}`, "Line 4: the block has more than 2,000 signs"],
    [`|a|a|\n|-|-|\n${"|a|a|a|a|\n".repeat(1_000)}`, "the block has more than 2,000 signs"],
    [`${"a|".repeat(20_000)}\n${"-|".repeat(20_000)}`, "Line 1: the block has more than 2,000"],
    [`${"> ".repeat(90)}a\n${"a\n".repeat(5_000)}`, "Line 21: the block has more than 2,000 signs"],
    ["a\n=".repeat(30_000), "the block has more than 2,000 signs"],
    ["- ".repeat(101), "Line 1: quotes and lists are nested more than 100 deep; nest them less."],
    ["(".repeat(1_000_000), "The text is too long to be checked as Markdown"],
  ])("refuses Markdown that its parser does not end with: %#", async (text, reason) => {
    const [found, ...others] = await reasons({ is: "markdown" }, text);
    expect(found).toContain(reason);
    expect(others).toEqual([]);
  });

  it.each([
    "[a](b) ".repeat(400),
    "- [a](b)\n".repeat(5_000),
    "1. [a](b)\n".repeat(5_000),
    `| a | b |\n| - | - |\n${"| a | b |\n".repeat(500)}`,
    `\`\`\`js\n${"a[0] * b[1];\n".repeat(1_000)}\`\`\`\n`,
    "> ".repeat(90),
  ])("checks long Markdown: %#", async (text) => {
    expect(await reasons({ is: "markdown" }, text)).toEqual([]);
  });

  it("takes linear time with a pattern that is catastrophic elsewhere", async () => {
    // A matcher that backtracks would not end: there are 2 to the power of 20,000 ways.
    expect(await reasons({ pattern: "^(a+)+$" }, `${"a".repeat(20_000)}!`)).toHaveLength(1);
  });

  it.each(["(a", "(?=a)", "(a)\\1"])("is refused where it is not RE2's: %s", (pattern) => {
    expect(() => railOf({ pattern })).toThrow(FormatRailError);
  });
});

describe("lengths", () => {
  it("count code points", async () => {
    expect(await reasons({ min_length: 2, max_length: 2 }, "😀😀")).toEqual([]);
    expect(await reasons({ min_length: 2 }, "😀")).toEqual([
      "The text has 1 characters; write at least 2.",
    ]);
    expect(await reasons({ max_length: 1 }, "abc")).toEqual([
      "The text has 3 characters; write at most 1.",
    ]);
  });
});

const german = "Guten Tag, Ihre Bestellung wurde gestern verschickt und kommt bald an.";

describe("language", () => {
  const english = "Your order was shipped yesterday and will arrive within the next two days.";

  it("is told apart from others", async () => {
    expect(await reasons({ language: "de" }, german)).toEqual([]);
    expect(await reasons({ language: "en" }, english)).toEqual([]);
    expect(await reasons({ language: "en" }, german)).toEqual([
      "The text is not in English (en); write it in English.",
    ]);
  });

  it("passes what is short or undecidable", async () => {
    for (const text of [
      "OK",
      "Danke schön!",
      "42 + 17 = 59",
      "",
      "zxqv wrtp kkkj lqqm zzxw vbnm qqrt",
    ])
      expect(await reasons({ language: "en" }, text)).toEqual([]);
  });

  it("does not look at code", async () => {
    const code = "```sql\nselect the name from users where their order was shipped yesterday\n```";
    expect(await reasons({ language: "de" }, `${german}\n\n${code}\n${code}`)).toEqual([]);
    expect(await reasons({ language: "de" }, code)).toEqual([]);
  });

  it("is one of those that the detector knows", () => {
    expect(Object.values(eld.info().Languages)).toEqual(detectedLanguages);
  });
});

describe("an answer of the agent's output schema", () => {
  const order = { message: "sent", lines: [{ text: "Guten Tag, Ihre Bestellung", price: 3 }] };
  async function reasonsOf(config: object, value: unknown) {
    const { text } = textsOf(value);
    return (await railOf(config).check({ on: "output", text, value, tool: null }, context)).reasons;
  }

  it("is JSON already", async () => {
    for (const value of [order, [], 3, null, true, { message: 3 }, { note: "a" }, {}]) {
      expect(await reasonsOf({ is: "json" }, value)).toEqual([]);
    }
  });

  it("has a value that is checked against the schema", async () => {
    const lines = { type: "array", maxItems: 1 };
    const schema = { type: "object", properties: { lines }, required: ["lines"] };
    expect(await reasonsOf({ schema }, order)).toEqual([]);
    expect(await reasonsOf({ schema }, { ...order, lines: 3 })).toEqual([
      '"lines" of the JSON is not as the schema wants it: Invalid input: expected array, received number.',
    ]);
  });

  it("is text where it is a message alone, or a text", async () => {
    for (const value of ["Hello", { message: "Hello" }]) {
      expect(await reasonsOf({ is: "json" }, value)).toHaveLength(1);
    }
    for (const value of ["[1]", { message: "[1]" }]) {
      expect(await reasonsOf({ schema: { type: "array" } }, value)).toEqual([]);
    }
  });

  it("has texts that the other checks are about", async () => {
    expect(await reasonsOf({ pattern: "^sent$", min_length: 31, max_length: 31 }, order)).toEqual([
      "The text does not match the regular expression ^sent$; write it so that it does.",
    ]);
    expect(await reasonsOf({ pattern: "^sent\\n", min_length: 32 }, order)).toEqual([
      "The text has 31 characters; write at least 32.",
    ]);
    expect(await reasonsOf({ language: "en" }, { ...order, note: german })).toHaveLength(1);
    expect(await reasonsOf({ is: "markdown" }, { a: "fine", b: "#Heading" })).toHaveLength(1);
  });
});
