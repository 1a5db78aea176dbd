import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { agentJsonSchema } from "../../src/definition/schema/agent.ts";
import type { JsonSchema } from "../../web/api/document.ts";
import { createMergePatch } from "../../web/views/agents/merge-patch.ts";
import { completionsAt, helpAt } from "../../web/views/agents/schema-place.ts";
import { findPlace, findTextLines } from "../../web/views/agents/yaml-place.ts";
import { mergePatch } from "../../src/server/agents/read-definition.ts";

const root = agentJsonSchema() as JsonSchema;

/** The place of the `^` in a text. */
function placeIn(marked: string) {
  const found = findPlace(marked.replace("^", ""), marked.indexOf("^"));
  return { root, ...found };
}

const pathIn = (marked: string) => {
  const { kind, path, key, prefix } = placeIn(marked).place;
  return [kind, path.join("."), key, prefix];
};

describe("the place of the caret in YAML", () => {
  it.each([
    ["na^me: a", ["key", "", "name", "na"]],
    ["name: a^b", ["value", "name", "name", "a"]],
    ["a:\n  b:\n    c^", ["key", "a.b", null, "c"]],
    ["a:\n  b: 1\n  ^", ["key", "a", null, ""]],
    ["a:\n  b: 1\n^", ["key", "", null, ""]],
    ["tools:\n  - x\n  - y: 1\n    z^: 2", ["key", "tools.1", "z", "z"]],
    ["tools:\n- x\n- ^y", ["key", "tools.1", null, ""]],
    ["a: |\n  b: 1\n  c^: 2\nd: 1", ["text", "a", null, ""]],
    ["a: |\n  b: 1\nd: ^", ["value", "d", "d", ""]],
    ["'it''s': ^", ["value", "it's", "it's", ""]],
    ["# a: 1\nb: 1 # c^", ["value", "b", "b", "1 # c"]],
  ])("is found in %j", (marked, expected) => {
    expect(pathIn(marked)).toEqual(expected);
  });

  it("is the path of the value in what a YAML writer writes", () => {
    const name = fc.constantFrom("a", "b c", "d-e", "x");
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom("mark", "other", "two\nlines\n"),
        fc.dictionary(name, tie("any"), { minKeys: 1, maxKeys: 3 }),
        fc.array(tie("any"), { minLength: 1, maxLength: 3 }),
      ),
    })).any;
    fc.assert(
      fc.property(fc.dictionary(name, value, { minKeys: 1 }), (document) => {
        const text = stringify(document, { lineWidth: 0 });
        for (const { index } of text.matchAll(/(?<=: )mark/g)) {
          const { place } = findPlace(text, index + 1);
          const found = place.path.reduce<unknown>((at, part) => Object(at)[part], parse(text));
          expect([place.kind, found]).toEqual(["value", "mark"]);
        }
      }),
    );
  });

  it("knows the lines of blocks of text", () => {
    const lines = "a: |\n  b: 1\n\n  c\nd: >-\n  e\n- f: |\n    g\n  h: 1".split("\n");
    expect([...findTextLines(lines)]).toEqual([1, 2, 3, 5, 7]);
  });

  it("ends on texts of any shape", () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom("-", " ", ":", "|", ">", "#", "'", '"', "\n", "  ", "a"),
        }),
        fc.nat(60),
        (text, at) => {
          expect(findPlace(text, Math.min(at, text.length)).place.kind).toMatch(/key|value|text/);
        },
      ),
    );
  });
});

describe("the help of the schema", () => {
  it("describes the key at the caret with its type, default and description", () => {
    expect(helpAt(placeIn("execution_config:\n  mo^de: deep"))).toEqual({
      name: "mode",
      type: '"fast" | "deep"',
      description: "",
      fallback: '"fast"',
      isRequired: false,
    });
    expect(helpAt(placeIn("name: ^"))).toMatchObject({ name: "name", isRequired: true });
    expect(helpAt(placeIn("nonsense: ^"))).toBeNull();
  });

  it("lists keys that are not written yet, and the values of enums", () => {
    const names = (marked: string) => completionsAt(placeIn(marked)).map(({ insert }) => insert);
    expect(names("execution_config:\n  mode: ^")).toEqual(["fast", "deep"]);
    expect(names("execution_config:\n  mode: d^")).toEqual(["deep"]);
    expect(names("execution_config:\n  max_iterations: 1\n  max^")).toEqual([
      "max_attempts: ",
      "max_turns: ",
    ]);
    expect(names("name: a\nn^")).toEqual([]);
    expect(names("memory_config:\n  long_term:\n    enabled: ^")).toEqual(["true", "false"]);
    expect(names("system_prompt: |\n  ex^")).toEqual([]);
  });

  it("follows the alternative that fits what is written beside", () => {
    const nodes = "workflow_graph:\n  nodes:\n    - name: a\n      type: router\n      config:\n";
    const names = completionsAt(placeIn(`${nodes}        ^`)).map(({ name }) => name);
    expect(names).toContain("choices");
    expect(names).not.toContain("tools");
    expect(
      completionsAt(placeIn("workflow_graph:\n  nodes:\n    ^")).map((one) => one.insert),
    ).toContain("- name: ");
  });
});

describe("the merge patch of a change", () => {
  it("turns one document into the other", () => {
    const scalar = fc.oneof(fc.integer(), fc.string(), fc.boolean());
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        scalar,
        fc.array(scalar, { maxLength: 2 }),
        fc.dictionary(fc.constantFrom("a", "b", "c"), tie("any"), { noNullPrototype: true }),
      ),
    })).any;
    const document = fc.dictionary(fc.constantFrom("a", "b", "c"), value, {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(document, document, (before, after) => {
        const made = createMergePatch(before, after);
        expect(made.ok && mergePatch(before, made.patch)).toEqual(after);
      }),
    );
  });

  it("names the null that no patch can set", () => {
    expect(createMergePatch({}, { a: { b: null }, c: 1 })).toEqual({ ok: false, path: ["a", "b"] });
    expect(createMergePatch({ a: [1] }, { a: [null] })).toEqual({ ok: true, patch: { a: [null] } });
  });
});
