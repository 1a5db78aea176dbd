import { defineAgent, serveAgent } from "../../src/index.ts";
import { timedModels } from "./timed-models.ts";

/** The agents of `http-runs.ts`: a workflow of one node without a model, and the standard loop with one call of a model. */
export const specs = {
  trivial: {
    name: "trivial",
    tools: ["calculator"],
    workflow_graph: {
      entry_point: "sum",
      nodes: [
        {
          name: "sum",
          type: "tool",
          config: { tool: "calculator", args: { expression: "6 * 7" } },
        },
      ],
      edges: [{ from: "sum", to: "END" }],
    },
  },
  turn: { name: "turn", system_prompt: { role: "You answer." } },
};

const serve = (spec: object) =>
  serveAgent(defineAgent(spec as Parameters<typeof defineAgent>[0]), {
    models: timedModels,
    env: {},
  });

export const trivial = await serve(specs.trivial);
export const turn = await serve(specs.turn);
