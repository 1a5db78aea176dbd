import fc from "fast-check";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import {
  type DefinitionDocument,
  normalizeDocument,
  isStamped,
  stampDefinition,
  withoutDefaults,
} from "../../src/definition/definition-hash.ts";
import { toHashedSpec } from "../../src/definition/build-definition.ts";
import {
  defineAgent,
  defineTool,
  defineWorker,
  type AgentDefinition,
  type AgentSpecInput,
} from "../../src/index.ts";

let count = 0;
const counted = () => z.number().default(() => (count += 1));

const stamp = (agent: AgentDefinition) =>
  stampDefinition(agent, { tools: agent.tools, agents: new Map() });
const stored = (document: DefinitionDocument) =>
  JSON.parse(JSON.stringify(document)) as DefinitionDocument;

const withMadeDefaults = () =>
  defineAgent({
    name: "counts",
    input_schema: z.object({ message: z.string(), at: counted() }),
    output_schema: z.object({ message: z.string(), at: counted() }),
    execution_schema: z.object({ at: counted() }),
    initialExecutionState: () => ({ at: 0 }),
    tools: [
      defineTool({
        name: "send",
        description: "Sends.",
        input_schema: z.object({ list: z.array(z.object({ at: counted() })) }),
        handler: () => "sent",
      }),
    ],
  }) as unknown as AgentDefinition;

describe("the hash of a definition", () => {
  it("is the same where defaults of its schemas are made anew each time", () => {
    const before = count;
    const [first, second] = [withMadeDefaults(), withMadeDefaults()];
    expect(first.spec.input_schema).not.toEqual(second.spec.input_schema);
    expect(count).toBeGreaterThan(before);
    expect(stamp(first).hash).toBe(stamp(second).hash);
  });

  it("is another where a property named default, or data of the spec, is another", () => {
    const node = (schema: Record<string, unknown>, proposed: string) =>
      defineAgent({
        name: "asks",
        workflow_graph: {
          entry_point: "ask",
          nodes: [
            {
              name: "ask",
              type: "human",
              config: { kind: "edit", prompt: "?", schema, proposed: { default: proposed } },
            },
          ],
          edges: [{ from: "ask", to: "END" }],
        },
      }) as AgentDefinition;
    const schema = (type: string, given: unknown) => ({
      type: "object",
      properties: { default: { type, default: given } },
      required: ["default"],
    });
    const hash = stamp(node(schema("string", "a"), "on")).hash;
    expect(stamp(node(schema("string", "b"), "on")).hash).toBe(hash);
    expect(stamp(node(schema("number", 1), "on")).hash).not.toBe(hash);
    expect(stamp(node(schema("string", "a"), "again")).hash).not.toBe(hash);
  });
});

describe("the hash of what says nothing of keys that came later", () => {
  // As version 0.1.0 hashed it, before there were context_config, permissions, tool_selection and argument rules.
  const stampBefore = "31ecfed96b5ec7e236086a0d51ba4d2411387477db1f60410c9b95a705d013fa";
  const hashBefore = "4afc4eda8ed113a3dedb187eae0d5e31e6c59ee15f3f3e1f4fd87ef0782ae580";

  it("is the one from before there was any", () => {
    const agent = defineAgent({ name: "a" }) as AgentDefinition;
    expect([stamp(agent).hash, agent.hash]).toEqual([stampBefore, hashBefore]);
  });

  it("is the same where its defaults are written out, as in a spec that was saved", () => {
    const saved = JSON.parse(JSON.stringify(defineAgent({ name: "a" }).spec)) as {
      name: string;
      context_config: { preview_chars: number };
      tool_selection: { weights: { semantic: number } };
      permissions: string[];
    };
    expect(saved).toMatchObject({
      context_config: { preview_chars: 1000 },
      tool_selection: { top_k: 10, weights: { semantic: 0.5 } },
      permissions: [],
      guardrail_config: { tool_rails: { rules: [] } },
    });
    const agent = defineAgent(saved) as AgentDefinition;
    expect([stamp(agent).hash, agent.hash]).toEqual([stampBefore, hashBefore]);
  });

  it.each<Omit<AgentSpecInput, "name">>([
    { context_config: { utilization: "low", summarize_results: {} } },
    { permissions: ["file:read"] },
    { tool_selection: { weights: { recency: 0 } } },
    { guardrail_config: { tool_rails: { rules: [{ tool: "x", check: "true" }] } }, tools: ["x"] },
  ])("is another where %j is said, and what was stored with it is known again", (said) => {
    const agent = defineAgent({ name: "a", ...said }) as AgentDefinition;
    const today = stamp(agent);
    expect(today.hash).not.toBe(stampBefore);
    expect(agent.hash).not.toBe(hashBefore);
    expect(isStamped(normalizeDocument(stored(today.document)), today)).toBe(true);
  });
});

describe("what is hashed of tool_selection", () => {
  it("is what is not the default, weights one by one", () => {
    const { spec } = defineAgent({
      name: "a",
      tool_selection: { top_k: 10, min_score: 0.2, weights: { semantic: 0.5, recency: 0 } },
    });
    expect(toHashedSpec(spec).tool_selection).toEqual({ min_score: 0.2, weights: { recency: 0 } });
  });
});

describe("a schema without its defaults", () => {
  it("keeps data that looks like them, and leaves all others out however deep", () => {
    const data = { default: 1 };
    expect(
      withoutDefaults({
        default: 1,
        const: data,
        enum: [data],
        examples: [data],
        "x-note": data,
        properties: { default: { default: 1, type: "number" } },
        $defs: { default: { default: 1 } },
        items: { anyOf: [{ default: 1 }, true] },
      }),
    ).toEqual({
      const: data,
      enum: [data],
      examples: [data],
      "x-note": data,
      properties: { default: { type: "number" } },
      $defs: { default: {} },
      items: { anyOf: [{}, true] },
    });
  });
});

describe("a document that was stored", () => {
  it("is the one of today when its spec lacks what has a default today", () => {
    const today = stamp(withMadeDefaults());
    const keys = Object.keys(today.document.spec).filter(
      (key) => !["name", "tools", "input_schema", "output_schema"].includes(key),
    );
    fc.assert(
      fc.property(fc.subarray(keys), (missing) => {
        const document = stored(today.document);
        const spec = Object.fromEntries(
          Object.entries(document.spec).filter(([key]) => !missing.includes(key)),
        );
        expect(isStamped(normalizeDocument({ ...document, spec }), today)).toBe(true);
      }),
    );
  });

  it("is another when what it lacks has another value today", () => {
    const agent = defineAgent({ name: "a", execution_config: { max_turns: 3 } }) as AgentDefinition;
    const today = stamp(agent);
    const { execution_config, ...spec } = stored(today.document).spec;
    expect(execution_config.max_turns).toBe(3);
    expect(isStamped(normalizeDocument({ ...today.document, spec }), today)).toBe(false);
  });

  it("stays as it is when it is none today", () => {
    for (const document of [null, 7, { spec: 1 }, { spec: { colour: "red" }, tools: { a: 1 } }]) {
      expect(normalizeDocument(document)).toEqual(document);
    }
  });

  it("is read so in agents inside as well", () => {
    const inside = stamp(defineAgent({ name: "inner" }));
    const outer = defineAgent({ name: "outer" }) as AgentDefinition;
    const today = stampDefinition(outer, { tools: [], agents: new Map([["inner", inside]]) });
    const document = stored(today.document) as { agents: Record<string, { spec: object }> };
    Reflect.deleteProperty(document.agents["inner"]!.spec, "is_active");
    expect(isStamped(normalizeDocument(document), today)).toBe(true);
  });
});

describe("a document with tools of an earlier version", () => {
  const send = (options: Partial<Parameters<typeof defineTool>[0]> = {}) =>
    defineAgent({
      name: "a",
      tools: [
        defineTool({
          name: "send",
          description: "Sends.",
          input_schema: { type: "object" },
          handler: () => "sent",
          ...options,
        } as Parameters<typeof defineTool>[0]),
      ],
    }) as AgentDefinition;

  /** As version 0.1.0 stored it. */
  const older = {
    spec: {
      ...stored(stamp(send()).document).spec,
      context_config: { utilization: "medium", whole_results: "turn", preview_chars: 1000 },
    },
    tools: {
      send: {
        name: "send",
        description: "Sends.",
        input_schema: { type: "object" },
        execution: { timeout_ms: 30_000, max_result_bytes: 262_144, idempotent: false },
        persistence: "none",
        requires_approval: false,
        version: "1.0.0",
        is_builtin: false,
      },
    },
    state: {},
    agents: {},
  };

  it("is the one of today, since what they lack is known", () => {
    expect(isStamped(normalizeDocument(older), stamp(send()))).toBe(true);
  });

  it("knows builtins from functions", () => {
    const document = { ...older, tools: { send: { ...older.tools.send, is_builtin: true } } };
    expect(normalizeDocument(document)).toMatchObject({
      tools: { send: { transport: { type: "builtin" } } },
    });
  });

  it.each([
    { permissions: ["mail:send"] },
    { execution: { retry: { max_retries: 1 } } },
    { execution: { sandbox: true } },
  ])("is another where the tool says %j today", (options) => {
    expect(isStamped(normalizeDocument(older), stamp(send(options)))).toBe(false);
  });

  it("leaves tools that say it as they are", () => {
    const today = stamp(
      send({ permissions: ["mail:send"], execution: { retry: { max_retries: 1 }, sandbox: true } }),
    );
    expect(isStamped(normalizeDocument(stored(today.document)), today)).toBe(true);
  });

  it("leaves the hash of the definition itself as it was, too", () => {
    expect(send().hash).toBe("9ceae6a1d1bb68ab50fb12c42beb085909c427c576286e107800d451f2dc1ca8");
    expect(send({ permissions: ["mail:send"] }).hash).not.toBe(send().hash);
  });
});

describe("the hash of a definition with workers of code", () => {
  const lead = (description: string) =>
    defineAgent({
      name: "lead",
      workers: [defineWorker({ name: "counter", description, run: () => 1 })],
    }) as AgentDefinition;

  it("covers what they are good at, and is known again in what was stored", () => {
    const today = stamp(lead("Counts."));
    expect(today.document.workers).toEqual({ counter: "Counts." });
    expect(stamp(lead("Adds.")).hash).not.toBe(today.hash);
    expect(isStamped(normalizeDocument(stored(today.document)), today)).toBe(true);
  });

  it("has no place for them where there are none", () => {
    expect(stamp(defineAgent({ name: "a" })).document).not.toHaveProperty("workers");
  });
});
