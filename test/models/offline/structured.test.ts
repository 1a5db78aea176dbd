import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { decide } from "../../../src/models/offline/decide.ts";

function object(properties: object, required = Object.keys(properties)) {
  return { type: "object", properties, required };
}

/** What the model answers when the system message asks for a schema's JSON. */
function answer(schema: object, request: string, results: readonly string[] = [], system = "") {
  const said = decide(
    [
      new SystemMessage(
        `${system}\nReply with JSON.\nOutput JSON Schema: ${JSON.stringify(schema)}`,
      ),
      new HumanMessage(request),
      ...results.flatMap((content, i) => [
        new AIMessage({ content: "", tool_calls: [{ id: `${i}`, name: "lookup", args: { i } }] }),
        new ToolMessage({ tool_call_id: `${i}`, content }),
      ]),
    ],
    [],
  );
  return JSON.parse(said.text) as unknown;
}

describe("the offline model's JSON answers", () => {
  it("takes values from results by key", () => {
    const schema = object({
      orderId: { type: "string" },
      total: { type: "number" },
      paid: { type: "boolean" },
    });
    const result = '{"order":{"order_id":"A1","total":12.5,"paid":false}}';
    expect(answer(schema, "Look up order A1", [result])).toEqual({
      orderId: "A1",
      total: 12.5,
      paid: false,
    });
  });

  it("takes values from lines of text by label", () => {
    const schema = object({ name: { type: "string" }, age: { type: "integer" } });
    expect(answer(schema, "Who is it?", ["Name: Ada\nAge: 36"])).toEqual({ name: "Ada", age: 36 });
  });

  it("counts for a number that the request asks to count", () => {
    const schema = object({ errors: { type: "integer" } });
    const log = "ERROR a\nINFO b\nERROR c";
    expect(answer(schema, "How many ERROR lines are there?", [log])).toEqual({ errors: 2 });
  });

  it("chooses among values by their descriptions", () => {
    const schema = object({ choice: { type: "string", enum: ["billing", "technical", "other"] } });
    const system =
      "- billing: invoices, refunds and payments\n- technical: crashes and bugs\n- other: the rest";
    expect(answer(schema, "My app crashes at start", [], system)).toEqual({ choice: "technical" });
    expect(answer(schema, "I want refunds for two invoices", [], system)).toEqual({
      choice: "billing",
    });
  });

  it("gives one task for each part of a request", () => {
    const task = object(
      {
        id: { type: "string" },
        description: { type: "string" },
        dependencies: { type: "array", items: { type: "string" } },
        worker: { type: "string" },
      },
      ["id", "description", "dependencies"],
    );
    const schema = object({ subtasks: { type: "array", items: task } });
    const request = "1. Parse the logs 2. Count the errors 3. Summarise the results";
    expect(answer(schema, request)).toEqual({
      subtasks: [
        { id: "parse-logs", description: "Parse the logs", dependencies: [] },
        { id: "count-errors", description: "Count the errors", dependencies: [] },
        {
          id: "summarise",
          description: "Summarise the results",
          dependencies: ["parse-logs", "count-errors"],
        },
      ],
    });
  });

  it("reads the rows of a table, by its titles or in the schema's order", () => {
    const line = object({ amount: { type: "number" }, item: { type: "string" } });
    const schema = object({ lines: { type: "array", items: line } });
    const titled = "Item       Amount\nOak, 5 m   1,012.50\nScrews     4\n\nTotal: 1016.50";
    expect(answer(schema, "Which lines are there?", [titled])).toEqual({
      lines: [
        { amount: 1012.5, item: "Oak, 5 m" },
        { amount: 4, item: "Screws" },
      ],
    });
    expect(answer(schema, "Which lines?\n\n| 7 | Nails |\n| --- | --- |\n| x | y |")).toEqual({
      lines: [{ amount: 7, item: "Nails" }],
    });
  });

  it("takes what to search for and codes out of the request", () => {
    const schema = object({ term: { type: "string" }, order_id: { type: "string" } });
    const request =
      "Look for what is asked here:\n\nWhat do you know about the eel pass of A-1042?";
    expect(answer(schema, request)).toEqual({ term: "eel pass", order_id: "A-1042" });
  });

  it("always fits the types of what is required", () => {
    const schema = object({
      title: { type: "string" },
      score: { type: "number", minimum: 1, maximum: 5 },
      tags: { type: "array", items: { type: "string" } },
      extra: { anyOf: [object({ note: { type: "string" } }), { type: "null" }] },
      kind: { const: "report" },
      ref: { $ref: "#/$defs/ref" },
    });
    const withDefs = { ...schema, $defs: { ref: { type: "integer" } } };
    expect(answer(withDefs, "Anything")).toEqual({
      title: "Anything",
      score: 1,
      tags: [],
      extra: { note: "Anything" },
      kind: "report",
      ref: 0,
    });
  });

  it("leaves out what is optional and not found", () => {
    const schema = object({ a: { type: "string" }, phone: { type: "string" } }, ["a"]);
    expect(answer(schema, "Hello there")).toEqual({ a: "Hello there" });
  });
});
