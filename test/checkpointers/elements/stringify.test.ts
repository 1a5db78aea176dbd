import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeData } from "../../../checkpointers/elements/escape.ts";
import { stringifyPlain } from "../../../checkpointers/elements/stringify.ts";
import { anyStorable } from "../../helpers/arbitrary-storable.ts";

const { serde } = new MemorySaver();

/** The JSON of LangGraph's serializer. */
async function stringifyStock(value: unknown): Promise<string> {
  const [, bytes] = await serde.dumpsTyped(value);
  return new TextDecoder().decode(bytes);
}

describe("stringifyPlain", () => {
  it("gives the JSON of LangGraph's serializer, or null", async () => {
    await fc.assert(
      fc.asyncProperty(anyStorable, async (value) => {
        const { data, foreign } = escapeData(value);
        fc.pre(!foreign);
        const stock = await stringifyStock(data);
        expect(stringifyPlain(data) ?? stock).toBe(stock);
      }),
      { numRuns: 2000 },
    );
    expect.hasAssertions();
  });

  it("takes conversations and plain data", async () => {
    const value = [
      new HumanMessage({ id: "1", content: "\u2028 \ud800", name: "someone" }),
      new AIMessage({ content: "", tool_calls: [{ id: "c", name: "n", args: { a: -0 } }] }),
      new ToolMessage({ tool_call_id: "c", content: [{ type: "text", text: "t" }], artifact: 1 }),
      { nested: { list: [undefined, Number.NaN, null], none: undefined }, 1: true },
    ];
    expect(stringifyPlain(value)).toBe(await stringifyStock(value));
  });

  it("leaves to the serializer what JSON alone does not hold", () => {
    const circle: unknown[] = [];
    circle.push(circle);
    const list = Object.assign([1], { toJSON: () => 2 });
    const others = [1n, () => 1, new Map(), new Date(0), Buffer.from("a"), /a/, circle, list];
    expect(others.map((other) => stringifyPlain({ other }))).toEqual(others.map(() => null));
    expect(stringifyPlain({ lg_name: "Send" })).toBeNull();
    expect(stringifyPlain({ toJSON: () => 1 })).toBeNull();
  });
});
