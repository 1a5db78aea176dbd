import { AIMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  compileAgent,
  defineAgent,
  defineTool,
  executeAgent,
  InvalidDefinitionError,
  type AgentEvent,
} from "../../src/index.ts";
import type { AgentSpecInput } from "../../src/definition/schema/agent.ts";
import type { GraphState } from "../../src/state/channels.ts";
import { recordFaults } from "../helpers/record-faults.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";
import { illegalMoves } from "../helpers/status-moves.ts";

type Workflow = NonNullable<AgentSpecInput["workflow_graph"]>;
type Node = Workflow["nodes"][number];

const tools = [
  defineTool({
    name: "length",
    description: "Length of a text.",
    input_schema: z.object({ text: z.string() }),
    handler: ({ text }) => {
      if (text.length % 5 === 4) throw new Error("an unlucky length");
      return text.length;
    },
  }),
  defineTool({
    name: "count",
    description: "Counts in the execution state.",
    input_schema: z.object({}),
    persistence: "execution",
    handler: (state) => {
      const { counted = 0 } = state.execution as { counted?: number };
      return { newState: { ...state, execution: { counted: counted + 1 } }, toolResult: counted };
    },
  }),
];

const names = ["a", "b", "c", "d", "e", "f", "g", "h"];

const nodeOf = (name: string): fc.Arbitrary<Node> =>
  fc.oneof(
    { weight: 4, arbitrary: llmNode(name) },
    { weight: 3, arbitrary: toolNode(name) },
    { weight: 2, arbitrary: routerNode(name) },
    { weight: 1, arbitrary: humanNode(name) },
  );

const writes = fc.constantFrom(
  undefined,
  undefined,
  undefined,
  undefined,
  undefined,
  "execution.x",
  "execution.y",
  "attempt.x",
);

function llmNode(name: string): fc.Arbitrary<Node> {
  return fc
    .record(
      {
        prompt: fc.constantFrom("Say something.", "On ${input.message}: ${last.text}", "${steps}"),
        writes,
        output_schema: fc.constantFrom<Record<string, unknown>>({
          type: "object",
          properties: { n: { type: "number" } },
        }),
      },
      { requiredKeys: [] },
    )
    .map((config): Node => ({ name, type: "llm", config }));
}

function toolNode(name: string): fc.Arbitrary<Node> {
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant<Node>({ name, type: "tool" }) },
    {
      weight: 4,
      arbitrary: fc
        .record({ args: fc.constantFrom({ text: "hello" }, { text: "${last.text}" }), writes })
        .map((config): Node => ({ name, type: "tool", config: { tool: "length", ...config } })),
    },
    {
      weight: 2,
      arbitrary: fc.constant<Node>({ name, type: "tool", config: { tool: "count" } }),
    },
  );
}

function routerNode(name: string): fc.Arbitrary<Node> {
  return fc.oneof(
    fc
      .record({ when: condition, choice: fc.constantFrom("left", "right") })
      .map((rule): Node => ({ name, type: "router", config: { rules: [rule], default: "left" } })),
    fc.constant<Node>({
      name,
      type: "router",
      config: {
        choices: [
          { name: "left", description: "L" },
          { name: "right", description: "R" },
        ],
      },
    }),
  );
}

function humanNode(name: string): fc.Arbitrary<Node> {
  return fc
    .constantFrom<"approval" | "input" | "edit">("approval", "input", "edit")
    .map((kind): Node => ({ name, type: "human", config: { kind, prompt: "Well?" } }));
}

const condition = fc.oneof(
  {
    weight: 40,
    arbitrary: fc.constantFrom(
      "true",
      "false",
      "size(steps) > 3",
      "attempt_number == 0",
      'last.text == "odd"',
      "size(last.tool_calls) > 0",
      "has(execution.x)",
      "usage.llm_calls < 5",
      "execution.x > 1",
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom("nodes.a.text == 'odd'", "inpt.message == ''") },
);

/** A chain through all nodes, with further edges laid over it: branches, joins, loops, and mistakes. */
const workflow: fc.Arbitrary<AgentSpecInput> = fc
  .integer({ min: 1, max: names.length })
  .chain((count) => {
    const used = names.slice(0, count);
    const target = fc.oneof(
      { weight: 40, arbitrary: fc.constantFrom(...used, "END") },
      { weight: 1, arbitrary: fc.constant("nowhere") },
    );
    return fc.record({
      nodes: fc.tuple(...used.map(nodeOf)),
      extra: fc.array(
        fc.record({
          from: fc.constantFrom(...used),
          to: fc.oneof(target, fc.uniqueArray(target, { minLength: 1, maxLength: 3 })),
          condition: fc.option(condition, { nil: undefined, freq: 8 }),
        }),
        { maxLength: 4 },
      ),
      jumps: fc.tuple(
        ...used.map((_, index) =>
          fc.option(
            fc.uniqueArray(fc.constantFrom(...used.slice(index + 1), "END"), {
              minLength: 1,
              maxLength: 3,
            }),
            {
              freq: 2,
            },
          ),
        ),
      ),
      output: fc.oneof(
        { weight: 6, arbitrary: fc.constant({ message: "${status}" }) },
        { weight: 1, arbitrary: fc.constant(undefined) },
      ),
    });
  })
  .map(({ nodes, extra, jumps, output }): AgentSpecInput => {
    const chain = nodes.map((node, index) => {
      const next = nodes[index + 1]?.name ?? "END";
      return { from: node.name, to: [...new Set([next, ...(jumps[index] ?? [])])] };
    });
    const edges = [...extra.filter((edge) => edge.condition !== undefined), ...chain];
    return {
      name: "random",
      execution_config: { max_iterations: 3, max_attempts: 2 },
      workflow_graph: {
        entry_point: "a",
        nodes,
        edges: edges.map(({ from, to, ...rest }) => ({ from, to, ...rest })),
        ...(output !== undefined && { output }),
      },
    };
  });

/** Says one thing or another, always the same to the same messages. */
const stub: ScriptedReply = ({ messages, tools: offered = [] }) => {
  const seed = messages.reduce((sum, message) => sum + message.text.length, messages.length);
  const tool = offered[seed % 3];
  if (tool !== undefined) {
    const args = tool.name === "length" ? { text: "x".repeat(seed % 7) } : {};
    return new AIMessage({ content: "", tool_calls: [{ id: "same", name: tool.name, args }] });
  }
  const says = ["even", "odd", '{"n": 1}', '{"choice": "left"}', ""];
  return new AIMessage(says[seed % says.length] ?? "");
};

function define(written: AgentSpecInput) {
  try {
    return defineAgent({ ...written, tools });
  } catch (thrown) {
    if (thrown instanceof InvalidDefinitionError) return thrown;
    throw thrown;
  }
}

describe("random workflows", () => {
  it(
    "run to an end or are refused with problems that say where",
    { timeout: 120_000 },
    async () => {
      let refused = 0;
      let ended = 0;
      await fc.assert(
        fc.asyncProperty(
          workflow,
          fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
          async (written, answers) => {
            const agent = define(written);
            if (agent instanceof InvalidDefinitionError) {
              refused += 1;
              return (
                agent.problems.length > 0 && agent.problems.every(({ path }) => path.length > 0)
              );
            }
            const { runtime, model } = await testRuntime(Array.from({ length: 500 }, () => stub));
            const threadId = "t";
            const moves: string[] = [];
            const run = async (input: { message: string } | null, options: object = {}) => {
              const events: AgentEvent[] = [];
              const onEvent = (event: AgentEvent) => void events.push(event);
              const ran = await executeAgent(agent, input, {
                runtime,
                threadId,
                onEvent,
                ...options,
              });
              moves.push(...illegalMoves(events));
              return ran;
            };
            let result = await run({ message: "hello" });
            for (let asked = 0; result.status === "AWAITING_HUMAN"; asked += 1) {
              if (asked > 200) return false;
              const given = result.interrupts.map((request, index) => {
                const yes = answers[(asked + index) % answers.length] === true;
                return [request.id, request.kind === "input" ? "text" : yes] as const;
              });
              result = await run(null, { answers: Object.fromEntries(given) });
            }
            const { status, failure } = result;
            ended += 1;
            const graph = await compileAgent(agent, runtime);
            const { values } = await graph.getState({ configurable: { thread_id: threadId } });
            const faults = [...recordFaults(values as GraphState, model.requests.length), ...moves];
            if (faults.length > 0) throw new Error(faults.join(", "));
            return status === "COMPLETED"
              ? failure === null
              : status === "FAILED" && failure !== null;
          },
        ),
        { numRuns: 100 },
      );
      // Of 100: the shares depend on the seed.
      expect(ended).toBeGreaterThan(5);
      expect(refused).toBeGreaterThan(5);
    },
  );
});
