import { tools } from "../examples/folder-report/tools.ts";
import { serveAgent } from "./serve-agent.ts";

export const graph = await serveAgent("../examples/folder-report/agent.yaml", {
  root: "../examples/folder-report",
  tools,
});
