import { defineAgent } from "../../src/index.ts";

/** Looks at the clock, then asks for a yes and a name at once, then answers with the name. */
export const waitingAgent = defineAgent({
  name: "waiting",
  tools: ["current_time"],
  workflow_graph: {
    entry_point: "clock",
    nodes: [
      { name: "clock", type: "tool", config: { tool: "current_time", args: {} } },
      { name: "allow", type: "human", config: { kind: "approval", prompt: "May it?" } },
      { name: "name", type: "human", config: { kind: "input", prompt: "Whose?" } },
      { name: "beside", type: "tool", config: { tool: "current_time", args: {} } },
    ],
    edges: [
      { from: "clock", to: ["allow", "name", "beside"] },
      { from: "allow", to: "END" },
      { from: "name", to: "END" },
      { from: "beside", to: "END" },
    ],
    output: { message: "${nodes.name.value}" },
  },
});
