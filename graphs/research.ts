import { serveAgent } from "./serve-agent.ts";

export const graph = await serveAgent("../examples/research/agent.yaml", {
  root: "../examples/research/sources",
});
