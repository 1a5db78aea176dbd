import { serveAgent } from "./serve-agent.ts";

export const graph = await serveAgent("../examples/approval-flow/agent.yaml");
