import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import type { AgentSpecInput } from "../../src/definition/schema/agent.ts";
import { testRuntime } from "../helpers/run-agent.ts";

type Edges = NonNullable<AgentSpecInput["workflow_graph"]>["edges"];

/** The order in which nodes run that do nothing but that. */
async function orderOf(edges: Edges): Promise<string> {
  const ran: string[] = [];
  const mark = defineTool({
    name: "mark",
    description: "Notes that a node has run.",
    input_schema: z.object({ node: z.string() }),
    handler: ({ node }) => void ran.push(node),
  });
  const names = [...new Set(edges.map(({ from }) => from))];
  const agent = defineAgent({
    name: "a",
    tools: [mark],
    execution_config: { max_iterations: 9 },
    workflow_graph: {
      entry_point: names[0] ?? "",
      nodes: names.map((name) => {
        return { name, type: "tool", config: { tool: "mark", args: { node: name } } };
      }),
      edges,
      output: { message: "done" },
    },
  });
  const { runtime } = await testRuntime([]);
  const { status } = await executeAgent(agent, { message: "go" }, { runtime });
  return `${ran.join(" ")} ${status}`;
}

describe("branches of a workflow", () => {
  it("meet at the lead that sent them out, however long each takes", async () => {
    const order = await orderOf([
      { from: "lead", to: ["left", "right"], condition: "steps.size() < 7" },
      { from: "lead", to: "END" },
      { from: "left", to: "lead" },
      { from: "right", to: "right2" },
      { from: "right2", to: "right3" },
      { from: "right3", to: "lead" },
    ]);
    expect(order).toBe(
      "lead left right right2 right3 lead left right right2 right3 lead COMPLETED",
    );
  });

  it("meet at a join that one of them comes to after a loop of its own", async () => {
    const order = await orderOf([
      { from: "go", to: ["ask", "other"] },
      { from: "ask", to: "run", condition: "steps.size() < 6" },
      { from: "ask", to: "join" },
      { from: "run", to: "ask" },
      { from: "other", to: "join" },
      { from: "join", to: "END" },
    ]);
    expect(order).toBe("go ask other run ask run ask join COMPLETED");
  });

  it("end the workflow together where one leaves a loop that the other goes on in", async () => {
    const order = await orderOf([
      { from: "lead", to: ["draw", "tell"] },
      { from: "draw", to: "lead", condition: "steps.size() < 5" },
      { from: "draw", to: "END" },
      { from: "tell", to: "file" },
      { from: "file", to: "END" },
    ]);
    expect(order).toBe("lead draw tell file lead draw tell file COMPLETED");
  });
});
