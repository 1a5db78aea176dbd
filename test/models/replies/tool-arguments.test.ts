import { describe, expect, it } from "vitest";
import { readToolArguments } from "../../../src/models/replies/tool-arguments.ts";

const text = { type: "string" };
const integer = { type: "integer" };

function schema(properties: Record<string, unknown>, required: string[] = []) {
  return { type: "object", properties, required };
}

const search = schema({ query: text, limit: integer }, ["query"]);
const one = schema({ query: text });
const none = schema({});
const mended = (value: object) => ({ ok: true, value, isMended: true });
const unreadable = { ok: false, reason: "unreadable" };

describe("readToolArguments", () => {
  it("returns an object as it is", () => {
    const given = { other: 1 };
    const read = readToolArguments(given, search);
    expect(read).toEqual({ ok: true, value: given, isMended: false });
    expect(read.ok && read.value).toBe(given);
    expect(readToolArguments('{"query": "x"}', search)).toMatchObject({ isMended: false });
  });

  it.each([
    "{query: 'x', limit: 2,}",
    '```json\n{"query": "x", "limit": 2}\n```',
    '```\n{"query": "x", "limit": 2}',
    'The arguments are:\n```json\n{"query": "x", "limit": 2}\n```\nI will wait.',
    JSON.stringify('{"query": "x", "limit": 2}'),
    JSON.stringify(JSON.stringify('{"query": "x", "limit": 2}')),
    String.raw`{\"query\": \"x\", \"limit\": 2}`,
    `'{"query": "x", "limit": 2}'`,
    `"{"query": "x", "limit": 2}"`,
    '{"query": "x", "limit": 2}{"query": "x", "limit": 2}',
    '{"query": "x", "limit": 2}\n{"limit": 2, "query": "x"}',
    '{"query": "x", "limit": 2}}',
    '{"query": "x", "limit": 2}<|im_end|>',
    'Sure! {"query": "x", "limit": 2}',
    '{"query": "x", "limit": 2} // all',
    '\uFEFF{"query": "x", "limit": 2,}',
  ])("mends %j", (written) => {
    expect(readToolArguments(written, search)).toEqual(mended({ query: "x", limit: 2 }));
  });

  it.each([
    '{"query": "x"',
    '{"query": "x", "limit": 2',
    '{"query": "x',
    '```json\n{"query": "x"',
    '"{\\"query\\": \\"x\\"',
    JSON.stringify('{"query": "x'),
    JSON.stringify('{"query": "x"'),
    '{"query": "x"}{"query": "y"}',
    '{"query": "x"}{"query": "x"',
    '{}{"query": "x"}',
    '"query": "x"}',
    '{"query": "x", "limit": [2}',
    '{"query": {"a": 1}, "limit": 2}}',
    'query: {"query": "x"}',
    'f({"query": "x"})',
    'Sure! {"q": "x"}',
    '{"query": "x"}, limit: 2',
    `'{"query": "x\\ny"}'`,
    "x",
    "5",
    "query=x",
    5,
    true,
  ])("refuses %j", (written) => {
    expect(readToolArguments(written, search)).toEqual(unreadable);
  });

  it("refuses every beginning of arguments, in any encoding", () => {
    const json = JSON.stringify({ query: 'a "b" {c}', limit: 25 });
    for (const whole of [json, JSON.stringify(json), `\`\`\`json\n${json}\n\`\`\``]) {
      const closing = whole.indexOf("25}") + 2;
      for (let end = 1; end <= closing; end += 1) {
        expect(readToolArguments(whole.slice(0, end), search)).toEqual(unreadable);
      }
    }
  });

  it("takes no text for no arguments only if none are required", () => {
    const empty = { ok: true, value: {}, isMended: false };
    expect(readToolArguments("", none)).toEqual(empty);
    expect(readToolArguments(" \n", {})).toEqual(empty);
    expect(readToolArguments(null, one)).toEqual(mended({}));
    expect(readToolArguments('""', one)).toEqual(mended({}));
    for (const written of ["", " ", '""', null, undefined, "null"]) {
      expect(readToolArguments(written, search)).toEqual({ ok: false, reason: "empty" });
    }
  });

  it("takes a quoted text or a list for the only property of its type", () => {
    expect(readToolArguments('"python"', one)).toEqual(mended({ query: "python" }));
    expect(readToolArguments('"python"', search)).toEqual(mended({ query: "python" }));
    expect(readToolArguments('["a"]', schema({ tags: { type: "array" } }))).toEqual(
      mended({ tags: ["a"] }),
    );
    expect(readToolArguments('["a"]', one)).toEqual(unreadable);
    expect(readToolArguments('"python"', schema({ a: text, b: text }))).toEqual(unreadable);
    expect(readToolArguments('"python"', none)).toEqual(unreadable);
  });

  it("refuses a quoted object that could be the property's own text", () => {
    const code = schema({ code: text }, ["code"]);
    expect(readToolArguments(JSON.stringify('{"a": 1}'), code)).toEqual(unreadable);
    expect(readToolArguments(JSON.stringify('{"code": "1"}'), code)).toEqual(mended({ code: "1" }));
    expect(readToolArguments(JSON.stringify("{ user { id } }"), code)).toEqual(
      mended({ code: "{ user { id } }" }),
    );
  });

  it("unwraps JSON in an object's only value where the schema says so", () => {
    expect(readToolArguments({ input: '{"query": "x"}' }, search)).toEqual(mended({ query: "x" }));
    const where = schema({ where: { type: "object" } });
    expect(readToolArguments({ where: '{"a": 1}' }, where)).toEqual(mended({ where: { a: 1 } }));
  });

  it.each<[object, object]>([
    [{ query: '{"query": "x"}' }, search],
    [{ input: '{"q": "x"}' }, search],
    [{ input: '{"limit": 2}' }, search],
    [{ input: '{"query": "x"}' }, {}],
    [{ input: '{"query": "x"}', more: 1 }, search],
    [{ where: "[1]" }, schema({ where: { type: "object" } })],
    [{ where: '{"a": 1' }, schema({ where: { type: "object" } })],
  ])("leaves %j as it is", (given, inputSchema) => {
    const read = readToolArguments(given, inputSchema as Record<string, unknown>);
    expect(read).toEqual({ ok: true, value: given, isMended: false });
  });

  it.each<[string, object]>([
    [JSON.stringify('{"query": "x", "query": "y"}'), search],
    [String.raw`{\"query\": \"x\", \"query\": \"y\"}`, search],
    [JSON.stringify(String.raw`{"query": "x", "\u0071uery": "y"}`), search],
    ["{query: 'x', limit: 12345678901234567890}", search],
    ["{query: 'x', limit: 1e999}", search],
    [JSON.stringify('{"query": "x", "limit": 12345678901234567890}'), search],
    [JSON.stringify("12345678901234567890"), schema({ limit: integer })],
    ['Do not search for {"query": "x"}', search],
    ['I don’t want {"query": "x"}', search],
  ])("refuses %s, which has more than one meaning", (given, inputSchema) => {
    const read = readToolArguments(given, inputSchema as Record<string, unknown>);
    expect(read).toEqual(unreadable);
  });

  it("does not unwrap JSON with more than one meaning", () => {
    const where = schema({ where: { type: "object" } });
    for (const inner of ['{"a": 1, "a": 2}', '{"a": 12345678901234567890}']) {
      expect(readToolArguments({ where: inner }, where)).toMatchObject({ value: { where: inner } });
    }
    const given = { input: '{"query": "x", "query": "y"}' };
    expect(readToolArguments(given, search)).toMatchObject({ value: given, isMended: false });
  });
});
