import { describe, expect, it } from "vitest";
import { askFields, formFields } from "../../../src/cli/ask/ask-fields.ts";
import { createStyle } from "../../../src/cli/view/terminal.ts";
import { memorySink, scriptedPrompt } from "../memory-io.ts";

const schema = {
  type: "object",
  properties: {
    pieces: { type: "integer", minimum: 1, description: "How many\u001B[2J to order." },
    size: { enum: ["small", "large", 10] },
    gift: { type: "boolean", default: false },
    notes: { type: "array", items: { type: "string" } },
    price: { type: "number" },
  },
  required: ["pieces", "size"],
};

function fill(typed: (string | null)[], before = {}) {
  const sink = memorySink();
  const fields = formFields(schema);
  const filled = askFields(fields!, before, {
    prompt: scriptedPrompt(typed, sink),
    print: (lines) => sink.write(lines.map((line) => `${line}\n`).join("")),
    width: 60,
    style: createStyle(false),
    signal: new AbortController().signal,
  });
  return { filled, sink };
}

describe("the fields of a form", () => {
  it("are asked for in order, each until it fits", async () => {
    const { filled, sink } = fill(["", "0", "2", "4", "2", "", "a, b", "x", "1.5"]);
    expect(await filled).toEqual({ pieces: 2, size: "large", notes: ["a", "b"], price: 1.5 });
    expect(sink.take()).toBe(`    How many to order.
  pieces (whole number) › []
  Expected whole number.
  pieces (whole number) › []0
  Too small: expected number to be >=1.
  pieces (whole number) › [0]2
    1 small
    2 large
    3 10
  size (1 to 3) › []4
  Expected 1 to 3.
  size (1 to 3) › [4]2
  gift (y/n, optional) › [false]
  notes (comma-separated list, optional) › []a, b
  price (number, optional) › []x
  Expected number.
  price (number, optional) › [x]1.5
`);
  });

  it("begin with known values, and take choices by their text", async () => {
    const before = { pieces: 3, notes: ["x", "y"] };
    const { filled, sink } = fill(["3", "10", "yes", '["p,q"]', ""], before);
    expect(await filled).toEqual({ pieces: 3, size: 10, gift: true, notes: ["p,q"] });
    expect(sink.take()).toContain("optional) › [x, y]");
  });

  it("are all given by one JSON object, or left", async () => {
    expect(await fill(['{"pieces":1,"size":"small"}']).filled).toEqual({
      pieces: 1,
      size: "small",
    });
    expect(await fill(["1", null]).filled).toBeNull();
  });

  it.each([
    null,
    { type: "string" },
    { type: "object" },
    { type: "object", properties: {} },
    { type: "object", properties: { a: { type: "object" } } },
    { type: "object", properties: { a: { $ref: "#/x" } } },
    { type: "object", properties: { a: { enum: [null] } } },
    { type: "object", properties: { a: { type: "array", items: { type: "object" } } } },
    {
      type: "object",
      properties: Object.fromEntries(
        Array.from({ length: 21 }, (_, at) => [`p${at}`, { type: "string" }]),
      ),
    },
  ])("are none for %j", (other) => {
    expect(formFields(other)).toBeNull();
  });
});
