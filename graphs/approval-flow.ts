import { serveAgent } from "../src/index.ts";

export const graph = await serveAgent(
  new URL("../examples/approval-flow/agent.yaml", import.meta.url),
);
