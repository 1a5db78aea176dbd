import { serveAgent } from "../src/index.ts";

export const graph = await serveAgent(new URL("../examples/research/agent.yaml", import.meta.url), {
  root: new URL("../examples/research", import.meta.url),
});
