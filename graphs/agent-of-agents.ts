import { serveAgent } from "./serve-agent.ts";

export const graph = await serveAgent("../examples/agent-of-agents/editor.yaml", {
  root: "../examples/research/sources",
});
