import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { MemorySaver, Send } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  escapeData,
  stringifyPlain,
  unescapeData,
} from "../../../checkpointers/elements/escape.ts";
import { anyStorable } from "../../helpers/arbitrary-storable.ts";
import { lookalikes } from "../../helpers/lookalikes.ts";
import { contentDifference } from "../../helpers/same-value.ts";

const reserved = fc.constantFrom("lc", "__lc_escaped__", "lg_name", "__proto__");
const anyKey = fc
  .tuple(fc.nat(3), fc.oneof(reserved, fc.string()))
  .map(([times, key]) => "plain:".repeat(times) + key);

describe("escapeData", () => {
  it("is undone by unescapeData, whatever the keys are, and keeps their order", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyKey, anyKey)), (entries) => {
        const value: unknown = [Object.fromEntries(entries.map(([key, of]) => [key, { [of]: 1 }]))];
        const { data } = escapeData(value);
        expect(JSON.stringify(data)).not.toMatch(/"(?:lc|__lc_escaped__|lg_name|__proto__)":/);
        expect(contentDifference(unescapeData(data), value)).toBeNull();
      }),
    );
  });

  it("returns a value with nothing to escape itself", () => {
    const value = { list: [new AIMessage("."), new Map([[1, new Set([{}])]])], lcd: "lc" };
    expect(escapeData(value)).toEqual({ data: value, foreign: false });
    expect(escapeData(value).data).toBe(value);
  });

  it("changes nothing in what it is given", () => {
    const value = { message: new AIMessage({ content: "", additional_kwargs: lookalikes }) };
    const before = JSON.stringify(value);
    escapeData(value);
    expect(JSON.stringify(value)).toBe(before);
  });

  it.each([
    [
      "a send",
      new Send("node", { lc: 1 }),
      { lg_name: "Send", node: "node", args: { "plain:lc": 1 } },
    ],
    ["a snapshot", new DeltaSnapshot({ lc: 1 }), new DeltaSnapshot({ "plain:lc": 1 })],
    ["a map", new Map([[{ lc: 1 }, { lc: 2 }]]), new Map([[{ "plain:lc": 1 }, { "plain:lc": 2 }]])],
    ["a set", new Set([{ lc: 1 }]), new Set([{ "plain:lc": 1 }])],
    [
      "an object that converts itself",
      { toJSON: () => ({ in: { lc: 1 } }) },
      { in: { "plain:lc": 1 } },
    ],
  ])("goes into %s", (_name, value, expected) => {
    expect(escapeData([value]).data).toEqual([expected]);
  });

  it("leaves errors, expressions, dates and bytes beside an escape as they are", () => {
    const others = [new RangeError("no"), /a+/u, new Date(0), Buffer.from("a"), new Error("")];
    const { data } = escapeData([{ lc: 1 }, ...others]);
    expect((data as unknown[]).slice(1)).toEqual(others);
    expect((data as unknown[])[1]).toBe(others[0]);
  });

  it("keeps the shape of a circle", () => {
    const circle: Record<string, unknown> = { lc: 1 };
    circle["self"] = [circle];
    const { data } = escapeData(circle) as { data: { self: unknown[] } };
    expect(data.self[0]).toBe(data);
    expect(data).not.toHaveProperty("lc");
  });
});

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
