import type { Inspected } from "./inspector.ts";

/** What seeds need of an inspected server. */
export type Seeded = Pick<Inspected, "send" | "addAgent" | "models">;

interface Started {
  readonly agent: string;
  readonly run: string;
  readonly thread: string;
}

/** Starts a run of an agent. */
export async function startRun(
  { send }: Pick<Seeded, "send">,
  agent: string,
  { message = "Go.", thread }: { readonly message?: string; readonly thread?: string } = {},
): Promise<Started> {
  const { run_id: run, thread_id } = await send<{ run_id: string; thread_id: string }>(
    "POST",
    `/v1/agents/${agent}/runs`,
    { input: { message }, ...(thread !== undefined && { thread_id: thread }) },
  );
  return { agent, run, thread: thread_id };
}

/** Waits until a run has ended or waits, and returns its status. */
export async function endOf({ send }: Pick<Seeded, "send">, of: Started): Promise<string> {
  await fetchedToEnd(send, `/v1/agents/${of.agent}/runs/${of.run}/events`);
  const { status } = await send<{ status: string }>("GET", `/v1/agents/${of.agent}/runs/${of.run}`);
  return status;
}

/** The stream of a run's events ends with the run: nothing is polled. */
async function fetchedToEnd(send: Seeded["send"], path: string): Promise<void> {
  await send("GET", path).catch((thrown: unknown) => {
    // The body is a stream of events and no JSON.
    if (!(thrown instanceof SyntaxError)) throw thrown;
  });
}

const sums = (name: string) => ({
  name,
  type: "tool",
  config: { tool: "calculator", args: { expression: "6 * 7" } },
});

/**
 * Makes a thread with at least `steps` steps, four a round: three parallel branches after a step of the model, with a
 * loop around. It takes about 10 ms a step.
 */
export async function seedLongThread(of: Seeded, { steps = 1_000 } = {}): Promise<Started> {
  // Requests that shorten the context count as well.
  const rounds = Math.ceil(steps / 3.4);
  const agent = await of.addAgent({
    name: "long",
    tools: ["calculator"],
    execution_config: { max_iterations: rounds, timeout_seconds: 3_600 },
    workflow_graph: {
      entry_point: "think",
      nodes: [
        { name: "think", type: "llm", config: { prompt: "Think.", tools: "none" } },
        ...["left", "middle", "right"].map(sums),
        { name: "again", type: "router", config: { rules: [{ when: "true", choice: "go on" }] } },
      ],
      edges: [
        { from: "think", to: "END", condition: 'nodes.think.text == "The end."' },
        { from: "think", to: ["left", "middle", "right"] },
        ...["left", "middle", "right"].map((from) => ({ from, to: "again" })),
        { from: "again", to: "think" },
      ],
      output: { message: "Done." },
    },
  });
  const thoughts = Array.from({ length: rounds - 1 }, (_, index) => ({
    text: `Thought ${index}.`,
  }));
  of.models.answer(...thoughts, { text: "The end." });
  const run = await startRun(of, agent);
  await endOf(of, run);
  return run;
}

/** Makes a thread of a planner: its subtasks form layers of ten, and every one of them stands on two before it. */
export async function seedPlan(of: Seeded, { subtasks = 200 } = {}): Promise<Started> {
  await of.addAgent({
    name: "counter",
    description: "Counts.",
    tools: ["calculator"],
    workflow_graph: {
      entry_point: "sum",
      nodes: [sums("sum")],
      edges: [{ from: "sum", to: "END" }],
      output: { message: "42" },
    },
  });
  const idOf = (index: number) => `task-${index}`;
  const plan = Array.from({ length: subtasks }, (_, index) => ({
    id: idOf(index),
    description: `Count part ${index} of the stock`,
    dependencies:
      index < 10
        ? []
        : [idOf(index - 10), idOf(index - (index % 10) - 10 + ((index * 3 + 1) % 10))],
    worker: "counter",
  })).map((one) => ({ ...one, dependencies: [...new Set(one.dependencies)] }));
  const agent = await of.addAgent({
    name: "planner",
    execution_config: { timeout_seconds: 3_600 },
    workflow_graph: {
      entry_point: "team",
      nodes: [
        {
          name: "team",
          type: "planner",
          config: {
            workers: ["counter"],
            max_subtasks: subtasks,
            plan: { subtasks: plan, success_criteria: "Everything is counted." },
          },
        },
      ],
      edges: [{ from: "team", to: "END" }],
    },
  });
  of.models.answer(
    { text: "Everything is counted." },
    { text: '{"criteria_met": true, "gaps": []}' },
  );
  const run = await startRun(of, agent, { message: "Count the stock." });
  await endOf(of, run);
  return run;
}
