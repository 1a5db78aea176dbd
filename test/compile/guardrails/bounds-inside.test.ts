import { AIMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  compileAgent,
  createRuntime,
  defineAgent,
  definePlanner,
  defineRail,
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
  "guardrail_config" | "llm_config" | "permissions" | "rails"
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

/** Runs an agent on the thread `t`, in a runtime of its own, as a process of its own would. */
async function threadOf(agent: AgentDefinition, saver = new MemorySaver()) {
  const test = await testRuntime(
    Array.from({ length: 60 }, () => says),
    { checkpointer: saver },
  );
  ({ runtime } = test);
  const options = { runtime, threadId: "t", onEvent: test.onEvent };
  return {
    ...test,
    start: (message: string) => executeAgent(agent, { message }, options),
    answer: (answer: unknown) => executeAgent(agent, null, { ...options, answer }),
    answerById: (answers: Record<string, unknown>) =>
      executeAgent(agent, null, { ...options, answers }),
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

describe("an agent that the handler of a tool executes", () => {
  const executing = (inner: AgentDefinition, options: Options, name = "outer") => {
    const delegate = defineTool({
      name: "delegate",
      description: "Has it done.",
      input_schema: z.object({ message: z.string() }),
      handler: async ({ message }) => {
        const { status } = await executeAgent(
          inner,
          { message },
          { runtime, threadId: inner.spec.name },
        );
        return status;
      },
    });
    return defineAgent({ name, tools: [delegate], agents: [inner], ...options });
  };
  const thread = (options: Options, inner = clerkWith()) => threadOf(executing(inner, options));

  it("makes the calls that the agent around allows, and no other", async () => {
    const allowed = await thread(rails({ allowed_tools: ["delegate", "pay"] }));
    await allowed.start("Pay 5");
    expect(paid).toEqual([5]);
    const { start, model } = await thread(rails({ allowed_tools: ["delegate"] }));
    await start("Pay 5000");
    const middle = executing(clerkWith(), open, "middle");
    await (await thread(rails({ allowed_tools: ["delegate"] }), middle)).start("Pay 5000");
    await (await thread({ permissions: ["bank:read"] })).start("Pay 5000");
    expect(paid).toEqual([5]);
    const offered = model.requests.flatMap(({ tools = [] }) => tools.map(({ name }) => name));
    expect(offered).not.toContain("pay");
  });

  it("waits for a person where the agent around has its calls approved", async () => {
    const { start, model } = await thread(rails({ require_approval: ["pay"] }));
    await start("Pay 5000");
    expect(paid).toEqual([]);
    const told = model.requests.flatMap(({ messages }) => messages.map(({ text }) => text));
    expect(told.join()).toContain("AWAITING_HUMAN");
  });

  it("counts its calls among those of the agent around", async () => {
    const { start } = await thread(rails({ max_calls_per_turn: 2 }));
    await start("Pay 1 2 3");
    expect(paid).toHaveLength(1);
  });
});

describe.each(Object.entries(shapes))("inside of %s, the agent around", (shape, around) => {
  const isTool = around === toolAround;
  /** The agents around make a call of their own only where they run others in a handler. */
  const own = isTool ? ["delegate"] : [];
  const thread = (options: Options) => threadOf(around(clerkWith(), options));

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
    const [first, second] = (request?.proposed ?? []) as readonly { id: string }[];
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

/** Two branches beside each other, each with an agent that pays. */
const branchesOf = (
  options: Options,
  checkpoint_frequency: "on_change" | "every_turn" = "on_change",
) => {
  const clerks = ["left", "right"].map((name) => {
    return defineAgent({ name, description: "Pays.", tools: [pay], ...open });
  });
  return defineAgent({
    name: "outer",
    agents: clerks,
    execution_config: { max_attempts: 1, checkpoint_frequency },
    workflow_graph: {
      entry_point: "start",
      nodes: [
        { name: "start", type: "router", config: { rules: [{ when: "true", choice: "go" }] } },
        { name: "l", type: "agent", config: { agent: "left" } },
        { name: "r", type: "agent", config: { agent: "right" } },
        { name: "end", type: "router", config: { rules: [{ when: "true", choice: "go" }] } },
        { name: "after", type: "tool", config: { tool: "pay", args: { amount: 99 } } },
      ],
      edges: [
        { from: "start", to: ["l", "r"] },
        { from: "l", to: "end" },
        { from: "r", to: "end" },
        { from: "end", to: "after" },
        { from: "after", to: "END" },
      ],
    },
    tools: [pay],
    ...options,
  });
};

describe("the calls that an agent lets be made in a turn", () => {
  it("are shared by branches beside each other and by what comes after them", async () => {
    const { start } = await threadOf(branchesOf(rails({ max_calls_per_turn: 5 })));
    await start("Pay 1, 2, 3");
    expect(paid).toHaveLength(5);
    expect(paid).not.toContain(99);
    const { start: startMore } = await threadOf(branchesOf(rails({ max_calls_per_turn: 7 })));
    paid = [];
    await startMore("Pay 1, 2, 3");
    expect(paid.toSorted((a, b) => a - b)).toEqual([1, 1, 2, 2, 3, 3, 99]);
  });

  it.each(["on_change", "every_turn"] as const)(
    "are counted on where a new process goes on with branches that waited (checkpoints %s)",
    async (frequency) => {
      const approving = { max_calls_per_turn: 3, require_approval: ["pay"] };
      const saver = new MemorySaver();
      const first = await threadOf(branchesOf(rails(approving), frequency), saver);
      const { interrupts } = await first.start("Pay 1, 2");
      // Either branch may have come first to the limit.
      const callsOf = ({ proposed }: { proposed?: unknown }) => (proposed as object[]).length;
      const waiting = interrupts.toSorted((a, b) => callsOf(b) - callsOf(a));
      expect(waiting.map(callsOf)).toEqual([2, 1]);
      const [left, right] = waiting.map(({ id }) => id);
      await first.answerById({ [left ?? ""]: true });
      expect(paid).toEqual([1, 2]);
      // Compiled anew; the other branch has begun with one call that the limit leaves.
      const second = await threadOf(branchesOf(rails(approving), frequency), saver);
      await second.answerById({ [right ?? ""]: true });
      expect(paid).toEqual([1, 2, 1]);
    },
  );

  it("are counted on where a branch beside the one that waits has called a tool itself", async () => {
    const asker = defineAgent({
      name: "asker",
      tools: [pay],
      ...open,
      workflow_graph: {
        entry_point: "ask",
        nodes: [
          { name: "ask", type: "human", config: { kind: "approval", prompt: "Pay?" } },
          { name: "then", type: "tool", config: { tool: "pay", args: { amount: 2 } } },
        ],
        edges: [
          { from: "ask", to: "then" },
          { from: "then", to: "END" },
        ],
      },
    });
    const agent = () =>
      defineAgent({
        name: "outer",
        agents: [asker],
        tools: [pay],
        execution_config: { max_attempts: 1 },
        workflow_graph: {
          entry_point: "start",
          nodes: [
            { name: "start", type: "router", config: { rules: [{ when: "true", choice: "go" }] } },
            { name: "l", type: "tool", config: { tool: "pay", args: { amount: 1 } } },
            { name: "r", type: "agent", config: { agent: "asker" } },
            { name: "end", type: "router", config: { rules: [{ when: "true", choice: "go" }] } },
          ],
          edges: [
            { from: "start", to: ["l", "r"] },
            { from: "l", to: "end" },
            { from: "r", to: "end" },
            { from: "end", to: "END" },
          ],
        },
        ...rails({ max_calls_per_turn: 1 }),
      });
    const saver = new MemorySaver();
    await (await threadOf(agent(), saver)).start("Pay");
    expect(paid).toEqual([1]);
    await (await threadOf(agent(), saver)).answer(true);
    expect(paid).toEqual([1]);
  });

  it("begin anew with each turn", async () => {
    const { start } = await threadOf(nodeAround(clerkWith(), rails({ max_calls_per_turn: 1 })));
    await start("Pay 1, 2");
    await start("Pay 3, 4");
    expect(paid).toEqual([1, 3]);
  });
});

describe("the bounds of an agent around", () => {
  it("do not hold for an agent that runs by itself, which has its own", async () => {
    const clerk = clerkWith(rails({ max_calls_per_turn: 1 }));
    await (await threadOf(nodeAround(clerk, rails({ allowed_tools: [] })))).start("Pay 1");
    expect(paid).toEqual([]);
    await (await threadOf(clerk)).start("Pay 1, 2");
    expect(paid).toEqual([1]);
  });

  it("stay where an agent inside asks for more", async () => {
    const clerk = clerkWith({ permissions: ["*"], ...rails({ allowed_tools: ["pay"] }) });
    const { start } = await threadOf(nodeAround(clerk, rails({ allowed_tools: [] })));
    await start("Pay 1");
    expect(paid).toEqual([]);
  });

  it.each([
    ["nothing", null],
    ["what lets everything be called", { parts: { bounds: [] }, bounds: [] }],
    ["a value as it is stored in memory", { value: { parts: { bounds: [] }, bounds: [] } }],
  ])("stay where a client sets %s in their place in its config", async (_, forged) => {
    const { runtime: own } = await threadOf(clerkWith());
    const agent = nodeAround(clerkWith(), rails({ allowed_tools: [], require_approval: "all" }));
    const graph = await compileAgent(agent, own);
    const names = ["bounds", "turn_calls"].map((name) => [`__stratagraph_${name}`, forged]);
    const configurable = { thread_id: "t", ...Object.fromEntries(names) };
    await graph.invoke({ input: { message: "Pay 5000" } }, { configurable });
    expect(paid).toEqual([]);
  });

  it("hold for a resumption in a new process, whatever the answer is", async () => {
    const agent = () => nodeAround(clerkWith(), rails({ require_approval: "all" }));
    const saver = new MemorySaver();
    await (await threadOf(agent(), saver)).start("Pay 5");
    const { answer } = await threadOf(agent(), saver);
    // An answer that cannot be read lets no call be made.
    await answer({ decision: "edit", args: { amount: "x" } }).catch(() => {});
    expect(paid).toEqual([]);
    expect((await answer("approve")).status).toBe("COMPLETED");
    expect(paid).toEqual([5]);
  });

  it.each([
    ["the standard loop", {}],
    [
      "a workflow",
      {
        workflow_graph: {
          entry_point: "say",
          nodes: [
            { name: "say", type: "llm" as const, config: { tools: "all" as const } },
            { name: "run", type: "tool" as const },
          ],
          edges: [
            { from: "say", to: "run", condition: "size(last.tool_calls) > 0" },
            { from: "say", to: "END" },
            { from: "run", to: "END" },
          ],
        },
      },
    ],
  ])("hide tools from models that are told of them in text, in %s", async (_, flow) => {
    const agent = nodeAround(
      defineAgent({ name: "clerk", tools: [pay, "calculator"], ...flow, ...open }),
      rails({ allowed_tools: ["calculator"] }),
    );
    const { runtime: own, model } = await testRuntime(["Final Answer: Done."], {
      toolCalling: false,
    });
    await executeAgent(agent, { message: "Pay 5" }, { runtime: own });
    const read = model.read(0).join("\n");
    expect(read).toContain("calculator");
    expect(read).not.toContain("pay:");
  });
});

it("refuses to compile tool rails that name no tool of the agent, nor of one of the runtime inside", async () => {
  const agent = (allowed: string) =>
    defineAgent({
      name: "outer",
      workflow_graph: {
        entry_point: "x",
        nodes: [{ name: "x", type: "agent", config: { agent: "clerk" } }],
        edges: [{ from: "x", to: "END" }],
      },
      ...rails({ allowed_tools: [allowed] }),
    });
  const own = await createRuntime({ checkpointer: false, agents: [clerkWith()] });
  await expect(compileAgent(agent("pay"), own)).resolves.toBeTruthy();
  await expect(compileAgent(agent("pya"), own)).rejects.toThrow('did you mean "pay"?');
});

it("tells a planner's model of the tools alone that its workers may call", async () => {
  const worker = defineAgent({ name: "clerk", description: "Pays.", tools: [pay, "calculator"] });
  const planner = definePlanner({
    workers: [worker],
    ...rails({ allowed_tools: ["calculator"] }),
  });
  const { runtime: own, model } = await testRuntime(["No plan.", "No plan."]);
  await executeAgent(planner, { message: "Pay 5" }, { runtime: own });
  const read = JSON.stringify(model.requests[0]?.messages);
  expect(read).toContain("calculator");
  expect(read).not.toContain('"pay"');
  expect(read).not.toMatch(/\bpay\b/);
});

describe("the rails of an agent around", () => {
  it("look at what people answer inside", async () => {
    const asker = defineAgent({
      name: "asker",
      description: "Asks.",
      workflow_graph: {
        entry_point: "ask",
        nodes: [{ name: "ask", type: "human", config: { kind: "input", prompt: "Who?" } }],
        edges: [{ from: "ask", to: "END" }],
      },
    });
    const agent = nodeAround(asker, {
      rails: [wordRail("rosebud", "block", ["input"])],
      guardrail_config: { input_rails: [{ type: "custom", name: "word" }] },
    });
    const { start, answer } = await threadOf(agent);
    expect((await start("Pay 5")).status).toBe("AWAITING_HUMAN");
    const { status, failure } = await answer("rosebud");
    expect([status, failure?.cause]).toEqual(["FAILED", "guardrail:word"]);
  });

  it.each([
    // The result inside, and what the agent inside gave; a planner reads that of its worker, and joins it.
    ["an agent node", nodeAround, 2],
    ["a worker of a planner", plannerAround, 3],
  ] as const)(
    "ask the models that it names as it reaches them: inside of %s",
    async (_name, around, times) => {
      const judge = defineRail({
        name: "judge",
        on: ["tool_result"],
        check: async (_text, context) =>
          void (await context.ask("test:judge", { system: "", user: "Say yes" })),
      });
      const clerk = defineAgent({
        name: "clerk",
        tools: [pay],
        llm_config: { temperature: 0.9 },
        ...open,
      });
      const agent = around(clerk, {
        ...open,
        rails: [judge],
        llm_config: { temperature: 0.1 },
        guardrail_config: { input_rails: [{ type: "custom", name: "judge" }] },
      });
      const { start, model } = await threadOf(agent);
      const resolve = model.resolve.bind(model);
      const judges: unknown[] = [];
      model.resolve = async (...given: [{ default_model?: string; temperature?: number }?]) => {
        const { default_model: name, temperature } = given[0] ?? {};
        if (name === "test:judge") judges.push(temperature);
        return resolve();
      };
      await start("Pay 5");
      expect(judges).toEqual(Array.from({ length: times }, () => 0.1));
    },
  );
});

it("counts calls of agents that tools run where a new process goes on with the turn", async () => {
  const agent = () => {
    const { tools } = toolAround(clerkWith(), open);
    return defineAgent({
      name: "outer",
      agents: [clerkWith()],
      tools: [...tools],
      execution_config: { max_attempts: 1 },
      workflow_graph: {
        entry_point: "first",
        nodes: [
          {
            name: "first",
            type: "tool",
            config: { tool: "delegate", args: { message: "${input.message}" } },
          },
          { name: "wait", type: "human", config: { kind: "approval", prompt: "More?" } },
          { name: "last", type: "agent", config: { agent: "clerk" } },
        ],
        edges: [
          { from: "first", to: "wait" },
          { from: "wait", to: "last" },
          { from: "last", to: "END" },
        ],
      },
      ...rails({ max_calls_per_turn: 4 }),
    });
  };
  const saver = new MemorySaver();
  const first = await threadOf(agent(), saver);
  expect((await first.start("Pay 1, 2")).usage.tool_calls).toBe(3);
  const second = await threadOf(agent(), saver);
  await second.answer(true);
  expect(paid).toEqual([1, 2, 1]);
});

it("shows what an agent inside reads with the tools alone that it may call", async () => {
  const agent = nodeAround(
    defineAgent({ name: "clerk", tools: [pay, "calculator"], ...open }),
    rails({ allowed_tools: ["calculator"] }),
  );
  const saver = new MemorySaver();
  const { start, model } = await threadOf(agent, saver);
  await start("Pay 5");
  let namespace = "";
  for await (const { config } of saver.list({ configurable: { thread_id: "t" } })) {
    namespace ||= String(config.configurable?.["checkpoint_ns"] ?? "");
  }
  const of = { threadId: "t", definition: agent, namespace, step: 0 };
  const { tools, messages } = await runtime.threads.context(of);
  const [sent] = model.requests;
  expect(tools.map(({ name }) => name)).toEqual(sent?.tools?.map(({ name }) => name));
  expect(tools.map(({ name }) => name)).not.toContain("pay");
  expect(messages.map(({ text }) => text)).toEqual(sent?.messages.map(({ text }) => text));
});
