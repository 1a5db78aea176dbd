import { serveAgent } from "../src/index.ts";

export const graph = await serveAgent(
  new URL("../examples/agent-of-agents/editor.yaml", import.meta.url),
  {
    root: new URL("../examples/research/sources", import.meta.url),
  },
);
