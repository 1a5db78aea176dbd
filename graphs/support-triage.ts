import { tools } from "../examples/support-triage/tools.ts";
import { serveAgent } from "../src/index.ts";

export const graph = await serveAgent(
  new URL("../examples/support-triage/agent.yaml", import.meta.url),
  {
    root: new URL("../examples/support-triage", import.meta.url),
    tools,
  },
);
