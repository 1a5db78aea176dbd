import { AIMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  compileAgent,
  defineAgent,
  defineTool,
  executeAgent,
  type AgentDefinition,
  type Runtime,
} from "../../../src/index.ts";
import type { ModelRequest } from "../../../src/models/agent-model.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import { wordRail } from "../../helpers/word-rail.ts";

let paid: number[] = [];
let runtime: Runtime;
beforeEach(() => {
  paid = [];
});

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input_schema: z.object({ amount: z.number() }),
  permissions: ["bank:pay"],
  handler: ({ amount }) => {
    paid.push(amount);
    return `${amount} paid, rosebud`;
  },
});

type Options = Pick<
  Parameters<typeof defineAgent>[0],
  "guardrail_config" | "permissions" | "rails"
>;

/** What an agent lets be called that bounds nothing. */
const open: Options = { permissions: ["bank:*"] };

const clerkWith = (options: Options = open) =>
  defineAgent({ name: "clerk", description: "Pays.", tools: [pay], ...options });

/** A workflow of the one agent node `x`. */
const nodeAround = (inner: AgentDefinition, options: Options, name = "outer") =>
  defineAgent({
    name,
    description: "Has it done.",
    agents: [inner],
    execution_config: { max_attempts: 1 },
    workflow_graph: {
      entry_point: "x",
      nodes: [{ name: "x", type: "agent", config: { agent: inner.spec.name } }],
      edges: [{ from: "x", to: "END" }],
    },
    ...options,
  });

/** An agent whose tool `delegate` runs another agent in its handler. */
const toolAround = (inner: AgentDefinition, options: Options) => {
  const delegate = defineTool({
    name: "delegate",
    description: "Has it done.",
    input_schema: z.object({ message: z.string() }),
    handler: async ({ message }) => {
      const graph = await compileAgent(inner, runtime);
      const { status, output } = await graph.invoke({ input: { message } });
      return { status, output };
    },
  });
  return defineAgent({ name: "outer", tools: [delegate], agents: [inner], ...options });
};

/** A workflow of one planner node, whose plan hands the message on to its worker. */
const plannerAround = (inner: AgentDefinition, options: Options, name = "outer") =>
  defineAgent({
    name,
    description: "Plans it.",
    agents: [inner],
    execution_config: { max_attempts: 1 },
    workflow_graph: {
      entry_point: "x",
      nodes: [
        {
          name: "x",
          type: "planner",
          config: {
            max_depth: 0,
            plan: {
              subtasks: [{ id: "a", description: "${input.message}", worker: inner.spec.name }],
            },
          },
        },
      ],
      edges: [{ from: "x", to: "END" }],
    },
    ...options,
  });

/** Ways in which one agent runs inside of another. */
const shapes = {
  "an agent node": nodeAround,
  "a worker of a planner": plannerAround,
  "the handler of a tool": toolAround,
  "an agent node two levels down": (inner: AgentDefinition, options: Options) =>
    nodeAround(nodeAround(inner, open, "middle"), options),
  "a worker whose planner is in an agent node": (inner: AgentDefinition, options: Options) =>
    nodeAround(plannerAround(inner, open, "middle"), options),
};

/** Pays the amounts of a message that begins with `Pay`, one call a step, and does what else is needed to get there. */
function says({ messages, tools = [] }: ModelRequest): AIMessage {
  const last = messages.at(-1);
  const asked = messages.findLast((one) => one.type === "human")?.text ?? "";
  const calls = (name: string, ...args: object[]) =>
    new AIMessage({
      content: "",
      tool_calls: args.map((one, index) => ({
        id: `c${messages.length}-${index}`,
        name,
        args: one as Record<string, unknown>,
      })),
    });
  if (asked.startsWith("Give the result")) return new AIMessage("Joined.");
  if (asked.startsWith("Judge the result")) return calls("judge", { gaps: [] });
  // Where no tools are offered, results are told in words.
  const isDone = last?.type === "tool" || last?.text.includes("may not be called") === true;
  if (isDone) return new AIMessage("Done.");
  const isDelegating = tools.some(({ name }) => name === "delegate");
  if (isDelegating) return calls("delegate", { message: asked });
  const amounts = [...asked.matchAll(/\d+/g)].map(([amount]) => ({ amount: Number(amount) }));
  return calls("pay", ...amounts);
}

/** Runs an agent on the thread `t`, in a runtime of its own. */
async function threadOf(agent: AgentDefinition, checkpointer = new MemorySaver()) {
  const test = await testRuntime(
    Array.from({ length: 60 }, () => says),
    { checkpointer },
  );
  ({ runtime } = test);
  const options = { runtime, threadId: "t", onEvent: test.onEvent };
  return {
    ...test,
    start: (message: string) => executeAgent(agent, { message }, options),
    answer: (answer: unknown) => executeAgent(agent, null, { ...options, answer }),
    results: () =>
      test.events.flatMap((event) =>
        event.type === "tool_result" && event.result.name === "pay"
          ? [event.result.error ?? event.result.result]
          : [],
      ),
  };
}

const rails = (
  tool_rails: NonNullable<NonNullable<Options["guardrail_config"]>["tool_rails"]>,
) => ({
  ...open,
  guardrail_config: { tool_rails },
});

describe.each(Object.entries(shapes))("inside of %s, the agent around", (shape, around) => {
  const isTool = around === toolAround;
  /** The agents around make a call of their own only where they run others in a handler. */
  const own = isTool ? ["delegate"] : [];
  const thread = (options: Options, checkpointer?: MemorySaver) =>
    threadOf(around(clerkWith(), options), checkpointer);

  it("lets through what it lets be called itself", async () => {
    const { start } = await thread(rails({ allowed_tools: [...own, "pay"] }));
    expect((await start("Pay 5")).status).toBe("COMPLETED");
    expect(paid).toEqual([5]);
  });

  it("refuses tools that its allowed_tools do not name, and has them offered to no model", async () => {
    const { start, model, results } = await thread(rails({ allowed_tools: own }));
    await start("Pay 5000");
    expect(paid).toEqual([]);
    expect(results()).toEqual([
      'Tool "pay" may not be called here (allowed_tools of agent "outer", which this agent runs in). No tool may.',
    ]);
    const offered = model.requests.flatMap(({ tools = [] }) => tools.map(({ name }) => name));
    expect(offered).not.toContain("pay");
  });

  it("refuses tools that require permissions which it is not granted", async () => {
    const { start, results } = await thread({ permissions: ["bank:read"] });
    await start("Pay 5000");
    expect(paid).toEqual([]);
    expect(results()[0]).toContain(
      'requires the permission bank:pay, which agent "outer", which this agent runs in, is not granted',
    );
  });

  it("refuses arguments for which its rules do not hold, with its own input", async () => {
    const check = 'input.message == "Pay 5, 7" && args.amount < 6';
    const { start, results } = await thread(rails({ rules: [{ tool: "pay", check }] }));
    await start("Pay 5, 7");
    expect(paid).toEqual([5]);
    expect(results()).toContain(
      `Tool "pay" may not be called with these arguments. The rule ${check} does not hold.`,
    );
  });

  it("has calls approved by a person before any is made, and a rejected one not made", async () => {
    const require_approval = isTool ? ["pay"] : ("all" as const);
    const { start, answer } = await thread(rails({ require_approval }));
    const waiting = await start("Pay 5, 7");
    expect(waiting.status).toBe("AWAITING_HUMAN");
    expect(paid).toEqual([]);
    const [request] = waiting.interrupts;
    expect(request).toMatchObject({
      kind: "tool_approval",
      node: "human",
      proposed: [{ args: { amount: 5 } }, { args: { amount: 7 } }],
    });
    expect(request?.within).toEqual(withinOf[shape as keyof typeof shapes]);
    const [first, second] = request?.proposed as readonly { id: string }[];
    const done = await answer({
      decisions: { [first?.id ?? ""]: "approve", [second?.id ?? ""]: "reject" },
    });
    expect(done.status).toBe("COMPLETED");
    expect(paid).toEqual([5]);
  });

  it("counts calls inside against its own max_calls_per_turn", async () => {
    const limit = 2 + own.length;
    const { start, results } = await thread(rails({ max_calls_per_turn: limit }));
    await start("Pay 5, 6, 7");
    expect(paid).toEqual([5, 6]);
    expect(results()).toContain(
      `Tool "pay" was not called: agent "outer", which this agent runs in, has had the ${limit} tool calls of its turn (max_calls_per_turn). Answer with what is known.`,
    );
  });

  it("has its rails look at results inside before any model reads them", async () => {
    const { start, model } = await thread({
      ...open,
      rails: [wordRail("rosebud", "redact", ["tool_result"])],
      guardrail_config: { input_rails: [{ type: "custom", name: "word" }] },
    });
    await start("Pay 5");
    expect(paid).toEqual([5]);
    const read = JSON.stringify(model.requests.map(({ messages }) => messages));
    expect(read).toContain("5 paid, <WORD_1>");
    expect(read).not.toContain("rosebud");
  });
});

/** The nodes around the agent that asks. */
const withinOf: Record<keyof typeof shapes, readonly string[]> = {
  "an agent node": ["x"],
  "a worker of a planner": ["x", "execute", "a"],
  "the handler of a tool": ["tools"],
  "an agent node two levels down": ["x", "x"],
  "a worker whose planner is in an agent node": ["x", "x", "execute", "a"],
};
