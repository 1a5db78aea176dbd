import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  DefinitionFileError,
  parseDefinition,
} from "../../../src/definition/load/parse-definition.ts";
import { describeProblem, InvalidDefinitionError } from "../../../src/definition/check/problems.ts";

/** What is thrown for a text that must be refused. */
async function refusalOf(text: string): Promise<InvalidDefinitionError> {
  const error: unknown = await parseDefinition(text, "a.yaml").catch((thrown: unknown) => thrown);
  if (error instanceof InvalidDefinitionError) return error;
  throw new Error("expected a refusal", { cause: error });
}

async function problemsOf(text: string): Promise<readonly string[]> {
  return (await refusalOf(text)).problems.map(describeProblem);
}

/** `line:column path` of each problem. */
async function placesOf(text: string): Promise<readonly string[]> {
  const { problems } = await refusalOf(text);
  return problems.map(({ line, column, path }) => `${line}:${column} ${path.join(".")}`);
}

describe("parseDefinition", () => {
  it("reads YAML and JSON alike", async () => {
    const yaml = await parseDefinition("name: a\ntools: [x]\n", "a.yaml");
    const json = await parseDefinition('{ "tools": ["x"], "name": "a" }', "a.json");
    expect(yaml.spec.tools).toEqual(["x"]);
    expect(json.hash).toBe(yaml.hash);
    expect(yaml.source).toBeUndefined();
  });

  it("keeps the source that it is given", async () => {
    expect((await parseDefinition("name: a", "a.yaml", "/b/a.yaml")).source).toBe("/b/a.yaml");
  });

  it.each(["\uFEFFname: a\n", "name: a\r\nversion: 1.0.0\r\n", "# yes\nname: a"])(
    "reads %j",
    async (text) => {
      expect((await parseDefinition(text, "a.yaml")).spec.name).toBe("a");
    },
  );

  it("places keys, values, entries of lists and missing keys, in the order of the file", async () => {
    const text = [
      "versoin: 1",
      "tools:",
      "  - calculator",
      "  - 3",
      "llm_config: { temperature: 3 }",
      "system_prompt:",
      "  examples:",
      "    - input: hello",
    ].join("\n");
    expect(await placesOf(text)).toEqual([
      "1:1 name",
      "1:1 versoin",
      "4:5 tools.1",
      "5:28 llm_config.temperature",
      "8:7 system_prompt.examples.0.output",
    ]);
  });

  it("places problems of JSON, and of numbers and words as keys", async () => {
    expect(await placesOf('{\n  "name": 3,\n  "1": true,\n  "tools": [\n    null ]\n}')).toEqual([
      "2:11 name",
      "3:3 1",
      "5:5 tools.0",
    ]);
    expect(await placesOf("name: a\n1: x\ntrue: y")).toEqual(["2:1 1", "3:1 true"]);
  });

  it("places a problem of what an alias stands for at the alias", async () => {
    expect(
      await placesOf("name: a\nllm_config: &c { temperature: 3 }\nexecution_config: *c"),
    ).toEqual(["2:31 llm_config.temperature", "3:19 execution_config.temperature"]);
  });

  it("reports schema and rules at once", async () => {
    const text =
      "name: A\nversion: one\ntools: [a, a, { mcp: { name: m, transport: stdio } }]\nmemory_config: { long_term: { enabled: 3 } }\nworkflow_graph: {}\n";
    expect(await problemsOf(text)).toEqual([
      'a.yaml:1:7 name: expected lower-case letters, digits, _ and - (found "A")',
      'a.yaml:2:10 version: expected a semantic version such as 1.0.0 (found "one")',
      'a.yaml:3:12 tools[1]: "a" is already named by tools[0]',
      "a.yaml:3:22 tools[2].mcp.command: expected a text, but it is missing",
      "a.yaml:4:40 memory_config.long_term.enabled: expected true or false (found 3)",
      "a.yaml:5:17 workflow_graph.entry_point: expected a text, but it is missing",
      "a.yaml:5:17 workflow_graph.nodes: expected a list, but it is missing",
      "a.yaml:5:17 workflow_graph.edges: expected a list, but it is missing",
    ]);
  });

  it.each([
    ["nothing", "", "a.yaml:1:1 expected a definition, but the file is empty"],
    ["a comment", "# later", "a.yaml:1:1 expected a definition, but the file is empty"],
    ["null", "~", "a.yaml:1:1 expected a map (found null)"],
    ["a list", "\n- a", "a.yaml:2:1 expected a map (found a list)"],
    ["a scalar", "hello", 'a.yaml:1:1 expected a map (found "hello")'],
    ["a key twice", "name: a\nname: b", 'a.yaml:2:1 YAML: the key "name" is written twice'],
    [
      "a key twice in JSON",
      '{"name": "a",\n "llm_config": {"seed": 1, "seed": 2}}',
      'a.yaml:2:28 YAML: the key "seed" is written twice',
    ],
    [
      "two documents",
      "name: a\n---\nname: b",
      "a.yaml:2:1 YAML: a second document begins here; a file holds one definition",
    ],
    [
      "a tab",
      "name: a\nsystem_prompt:\n\trole: x",
      "a.yaml:3:1 YAML: a tab indents this line; use spaces",
    ],
    ["an open quote", 'name: "a', 'a.yaml:1:9 YAML: Missing closing "quote'],
    ["an unknown tag", "name: !secret a", "a.yaml:1:7 YAML: Unresolved tag: !secret"],
    [
      "an unknown alias",
      "name: *other",
      "a.yaml:1:7 YAML: no value before this alias has the anchor &other",
    ],
    [
      "what contains itself",
      "name: a\ninput_schema: &s { type: object, not: *s }",
      "a.yaml:1:1 nested more than 64 levels deep",
    ],
  ])("refuses %s", async (_what, text, problem) => {
    expect(await problemsOf(text)).toEqual([problem]);
  });

  it("keeps keys of prototypes apart from them", async () => {
    expect(
      await placesOf('{"name": "a",\n"__proto__": {"is_active": false},\n"constructor": 1}'),
    ).toEqual(["2:1 __proto__", "3:1 constructor"]);
    expect(Object.hasOwn(Object.prototype, "is_active")).toBe(false);
  });

  it.each([
    ["lists", "[".repeat(10_000) + "]".repeat(10_000)],
    ["JSON maps", `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`],
    ["indented maps", Array.from({ length: 1_500 }, (_, i) => `${" ".repeat(i)}a:`).join("\n")],
    ["a few hundred lists", "[".repeat(300) + "]".repeat(300)],
  ])("refuses %s that are too deep", async (_what, text) => {
    expect((await refusalOf(`name: a\nx: ${text}`)).message).toMatch(/nested/);
  });

  it("refuses aliases that multiply", async () => {
    const levels = ["a: &a [x, x, x, x, x, x, x, x, x]"];
    for (let index = 1; index < 9; index += 1) {
      const [from, to] = ["abcdefghi"[index - 1], "abcdefghi"[index]];
      levels.push(`${to}: &${to} [${Array.from({ length: 9 }, () => `*${from}`).join()}]`);
    }
    expect(await problemsOf(levels.join("\n"))).toEqual([
      "a.yaml:1:1 YAML: its aliases stand for more than 100 values",
    ]);
    expect(
      await problemsOf(`a: &a 1\nb: [${Array.from({ length: 101 }, () => "*a").join()}]`),
    ).toEqual([`a.yaml:2:${5 + 100 * 3} YAML: there are more than 100 aliases`]);
  });

  it("takes time in proportion to the number of keys and problems", async () => {
    const keys = Array.from({ length: 100_000 }, (_, index) => `k${index}: 1`);
    // A few seconds; comparing each key with each takes longer than the time limit.
    expect((await refusalOf(`name: a\n${keys.join("\n")}`)).problems).toHaveLength(100_000);
  }, 60_000);
});

describe("whatever it is given, parseDefinition", () => {
  const valid = {
    name: "a",
    version: "1.0.0",
    tools: ["x"],
    system_prompt: { role: "r", examples: [{ input: "i", output: "o" }] },
    input_schema: { type: "object", properties: { q: { type: "string", minLength: 1 } } },
    guardrail_config: { tool_rails: { allowed_tools: ["x"] } },
    llm_config: { default_model: "openai:gpt-4o-mini", temperature: 0 },
    workflow_graph: {
      entry_point: "n",
      nodes: [{ name: "n", type: "llm", config: { tools: "all" } }],
      edges: [{ from: "n", to: ["END"] }],
    },
  };
  const keys = JSON.stringify(valid).match(/[a-z_]{2,}/g) ?? [];

  /** `valid` with the value at a random place replaced, or a key added there. */
  const mutated = fc
    .record({
      steps: fc.array(fc.nat(7), { maxLength: 5 }),
      key: fc.constantFrom(...keys),
      by: fc.jsonValue(),
    })
    .map(({ steps, key, by }) => {
      const copy: unknown = structuredClone(valid);
      let container = copy as Record<string, unknown>;
      for (const step of steps) {
        const children = Object.values(container).filter((one) => typeof one === "object" && one);
        if (children.length === 0) break;
        container = children[step % children.length] as Record<string, unknown>;
      }
      if (Array.isArray(container)) container.push(by);
      else container[key] = by;
      return copy;
    });

  /** Whether a text is loaded, or refused with a place for every problem. */
  async function isLoadedOrPlaced(text: string): Promise<boolean> {
    const error: unknown = await parseDefinition(text, "a.json").then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (error === undefined || error instanceof DefinitionFileError) return true;
    return (
      error instanceof InvalidDefinitionError &&
      error.problems.length > 0 &&
      error.problems.every(
        ({ line = 0, column = 0, file }) => line >= 1 && column >= 1 && file === "a.json",
      )
    );
  }

  it("loads JSON or says where it is wrong", async () => {
    const values = fc.oneof(fc.jsonValue(), mutated);
    const property = fc.asyncProperty(values, (value) =>
      isLoadedOrPlaced(JSON.stringify(value, null, 1)),
    );
    await expect(fc.assert(property, { numRuns: 400 })).resolves.toBeUndefined();
  });

  it("loads text or says where it is wrong", async () => {
    const bits =
      'name: a|\n|  |- |&a |*a|{|]|"|: |? |!!set |>|\t|---\n|%YAML 1.1\n|<<: *a|__proto__: 1'.split(
        "|",
      );
    const pieces = fc.array(fc.constantFrom(...bits), { maxLength: 20 });
    const text = fc.oneof(
      fc.string(),
      pieces.map((parts) => parts.join("")),
    );
    const property = fc.asyncProperty(text, isLoadedOrPlaced);
    await expect(fc.assert(property, { numRuns: 400 })).resolves.toBeUndefined();
  });
});

describe("short forms", () => {
  it("takes a text as the instructions of the system prompt", async () => {
    const short = await parseDefinition("name: a\nsystem_prompt: You chat.\n", "a.yaml");
    const long = await parseDefinition(
      "name: a\nsystem_prompt: { instructions: You chat. }\n",
      "a.yaml",
    );
    expect(short.spec.system_prompt).toEqual({ role: "", instructions: "You chat.", examples: [] });
    expect(short.spec).toEqual(long.spec);
  });

  it("names the nearest key of a system prompt", async () => {
    await expect(
      parseDefinition("name: a\nsystem_prompt: { rolle: x }\n", "a.yaml"),
    ).rejects.toThrow(/system_prompt\.rolle: unknown key .*did you mean "role"\?/);
  });

  it("takes a condition of null as none", async () => {
    const graph = (condition: string) => `name: a
workflow_graph:
  entry_point: first
  nodes: [{ name: first, type: human, config: { kind: input, prompt: "?" } }]
  edges: [{ from: first, to: END${condition} }]
`;
    const [withNull, without] = await Promise.all([
      parseDefinition(graph(", condition: null"), "a.yaml"),
      parseDefinition(graph(""), "a.yaml"),
    ]);
    expect(withNull.spec.workflow_graph?.edges).toEqual(without.spec.workflow_graph?.edges);
  });
});
