import { describe, expect, it } from "vitest";
import { jsonQueryTool } from "../../../../src/tools/builtins/json-query/json-query.ts";
import { callBuiltin } from "../../../helpers/builtin-call.ts";

const ask = (query: string, rest: Record<string, unknown>) =>
  callBuiltin(jsonQueryTool, { query, ...rest });
const found = async (query: string, data: unknown): Promise<unknown> =>
  (await ask(query, { data })).result;

describe("json_query", () => {
  const people = [
    { name: "Ada", age: 36 },
    { name: "Bob", age: 9 },
    { name: "Cy", age: 100 },
  ];

  it.each([
    ["[?age > `30`].name", people, ["Ada", "Cy"]],
    ["sort_by(@, &age)[].name", people, ["Bob", "Ada", "Cy"]],
    ["sort_by(@, &name)[-1].name", people, "Cy"],
    ["{sum: sum([].age), oldest: max_by(@, &age).name}", people, { sum: 145, oldest: "Cy" }],
    ["[].age | sort(@)", people, [9, 36, 100]],
    ["let $a = `1` in map(&(@ + $a), [].age)", people, [37, 10, 101]],
    ["people[0].nothing", { people }, null],
    ["a == b", { a: { x: [1, { y: 2 }] }, b: { x: [1, { y: 2 }] } }, true],
    ["a != b", { a: { x: [1] }, b: { x: [2] } }, true],
    ["a[::-1]", { a: [1, 2, 3] }, [3, 2, 1]],
    ["[] | [0]", [[1], [2]], 1],
    ["replace('a.a.a', '.', '$&', `1`)", {}, "a$&a.a"],
    ["[trim('  a b '), trim_left('xxax', 'x'), trim_right('xxax', 'x')]", {}, ["a b", "ax", "xxa"]],
    ["[ends_with('abc', 'bc'), ends_with('bcbd', 'bc')]", {}, [true, false]],
    ["[max(['b', 'c', 'a']), min(['b', 'a'])]", {}, ["c", "a"]],
    ["sort(['\u{1F600}', '\uFF5E', 'a'])", {}, ["a", "\uFF5E", "\u{1F600}"]],
  ])("answers %s", async (query, data, result) => {
    expect(await found(query, data)).toEqual({ result });
  });

  it("reads JSON that is given as a text", async () => {
    expect(await found("[1]", "[1, 2]")).toEqual({ result: 2 });
  });

  it("takes data alone, so that it reads no files for agents that may not", async () => {
    expect(jsonQueryTool.definition.permissions).toEqual([]);
    const withFile = [{ path: "people.json" }, { data: 1, path: "people.json" }];
    for (const rest of [...withFile, {}]) {
      const { outcome, error } = await ask("@", rest);
      expect([outcome, error]).toEqual([
        "error",
        expect.stringContaining('Bad arguments for tool "json_query"'),
      ]);
    }
  });

  it("sees only what the data has itself, not what JavaScript adds", async () => {
    expect(await found("[constructor, __proto__, a.length]", { a: [1] })).toEqual({
      result: [null, null, null],
    });
    expect(await found('{"__proto__": a} | keys(@)', { a: 1 })).toEqual({ result: ["__proto__"] });
    expect((await ask("constructor(@)", { data: 1 })).error).toContain(
      "JMESPath has no function constructor().",
    );
  });

  it.each(["__proto__", "constructor", "toString"])("has %s as any other key", async (key) => {
    const data = JSON.parse(`{"list": [{"k": "${key}"}], "held": {"${key}": {"a": 1}}}`) as unknown;
    const results = {
      "group_by(list, &k)": `{"${key}":[{"k":"${key}"}]}`,
      "merge(held, {b: `2`})": `{"${key}":{"a":1},"b":2}`,
      "merge(held, held)": `{"${key}":{"a":1}}`,
      "from_items(zip([list[0].k], [`1`]))": `{"${key}":1}`,
      "items(held)": `[["${key}",{"a":1}]]`,
      [`let $${key} = list in $${key}`]: `[{"k":"${key}"}]`,
    };
    for (const [query, result] of Object.entries(results)) {
      const answer = await ask(query, { data });
      expect([query, JSON.stringify(answer.result)]).toEqual([query, `{"result":${result}}`]);
    }
    expect(Object.getOwnPropertyNames(Object.prototype)).toHaveLength(12);
  });

  it.each([
    ["people[?age >> `3`]", 'at character 14, before "> `3`]"'],
    ["people[", "it ends too early"],
    ["a.b.", "it ends too early"],
    ["{a: b", "it ends too early"],
    ["a # b", 'at character 3, before "# b"'],
    ["a[`{bad`]", 'at character 3, before "`{bad`]"'],
    ["a b", 'at character 3, before "b"'],
    ["[0:1:2:3]", 'at character 7, before ":3]"'],
    ["a.1", 'at character 3, before "1"'],
    ["(".repeat(50), "it ends too early"],
  ])("says where %s goes wrong", async (query, where) => {
    const { outcome, error } = await ask(query, { data: {} });
    expect(outcome).toBe("failure");
    expect(error).toContain(`The query is no JMESPath, ${where} (`);
  });

  it.each([
    ["lenght(@)", { data: [] }, "JMESPath has no function lenght(). Did you mean length()?"],
    ["sort(@)", { data: { a: 1 } }, "The query failed: Invalid type: sort() expected argument 1"],
    ["sort_by(@, &a)", { data: [{ a: 1 }, { a: "x" }] }, "partly numbers and partly strings"],
    ["a + `1`", { data: {} }, "The query failed: not-a-number: undefined."],
    ["@", { data: "{a: 1}" }, "The data is no JSON: JSON syntax: "],
    ["@", { data: `"${"x".repeat(6 * 1024 * 1024)}"` }, "The data is too large"],
    [
      "@",
      { data: Array.from({ length: 10 }, () => "x".repeat(1024 * 1024)) },
      "The data is too large",
    ],
    ["@", { data: "[".repeat(300) + "]".repeat(300) }, "nested more than 200 levels deep"],
  ])("fails for %s (case %#)", async (query, rest, message) => {
    const { outcome, error } = await ask(query, rest);
    expect([outcome, error]).toEqual(["failure", expect.stringContaining(message)]);
  });

  it("refuses a query that is nested too deeply", async () => {
    const { error } = await ask("(".repeat(4_000), { data: {} });
    expect(error).toMatch(/nested too deeply|ends too early/);
  });

  it("says at which line the data is no JSON", async () => {
    expect((await ask("@", { data: '{\n  "a": 1,\n}' })).error).toContain("at line 3, column 1.");
  });

  const numbers = Array.from({ length: 20_000 }, (_, n) => n);
  const texts = numbers.slice(0, 2_000).map((n) => "x".repeat(500) + n);
  const keyed = Object.fromEntries(numbers.map((n) => [`k${n}`, n]));
  it.each([
    ["a tree of references", Array.from({ length: 60 }, () => "[@, @]").join(" | "), 1],
    ["its size as a text", `${"[@, @] | ".repeat(60)}to_string(@)`, 1],
    [
      "the comparison of two of them",
      `let $a = (${"[@, @] | ".repeat(60)}@), $b = (${"[@, @] | ".repeat(60)}@) in $a == $b`,
      1,
    ],
    ["loops within loops", "[*].[$[*].[$[*]]] | length(@)", numbers],
    ["maps within maps", "map(&map(&map(&@, $), $), $) | length(@)", numbers],
    ["flattening what is shared", "[*].[$] | [] | [] | length(@)", numbers],
    ["slices of slices", "[*].[$[::-1]] | length(@)", numbers],
    ["sorting again and again", "[*].[sort($)] | length(@)", numbers],
    ["keys that are long", "[*].[sort_by($, &join('', $))] | length(@)", texts],
    ["a wide text", "pad_left('a', `400000000`)", 1],
    [
      "a text that is put into itself",
      Array.from({ length: 30 }, () => "replace(to_string(@), 'a', 'aaaaaaaaaa')").join(" | "),
      ["a"],
    ],
    ["so many replacements", "replace('a', 'b', 'c', `1000000000`) | [*].[@]", 1],
    ["joining with a long text", "join(to_string($), map(&'a', $)) | length(@)", numbers],
    ["looking for one text in another", "[*].[contains(join('', $), join('', $))]", texts],
    ["truth of wide objects", "*.[!$] | length(@)", keyed],
    ["a scope for each item", "length([*].[let $x = @ in $x])", numbers],
    ["reversing texts", "[*].[reverse(join('', $))] | length(@)", texts],
  ])("does not hang on %s", async (_name, query, data) => {
    // What is not refused and has no bound would not end within the test's time limit.
    const { outcome, result, error } = await ask(query, { data });
    const refused = /too much work|too large|nested more than/.test(error);
    expect(refused ? "failure" : "success").toBe(outcome);
    expect((JSON.stringify(result) ?? "").length).toBeLessThan(2_000_000);
  });

  it("takes a query's data as it is, and leaves it as it was", async () => {
    const data = { list: [3, 1, 2] };
    expect(await found("sort(list)", data)).toEqual({ result: [1, 2, 3] });
    expect(data).toEqual({ list: [3, 1, 2] });
  });
});
