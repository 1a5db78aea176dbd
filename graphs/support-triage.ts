import { tools } from "../examples/support-triage/tools.ts";
import { serveAgent } from "./serve-agent.ts";

export const graph = await serveAgent("../examples/support-triage/agent.yaml", {
  root: "../examples/support-triage/help",
  tools,
});
