import { tools } from "../examples/folder-report/tools.ts";
import { serveAgent } from "../src/index.ts";

export const graph = await serveAgent(
  new URL("../examples/folder-report/agent.yaml", import.meta.url),
  {
    root: new URL("../examples/folder-report", import.meta.url),
    tools,
  },
);
