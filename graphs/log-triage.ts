import logTriage from "../examples/log-triage/agent.ts";
import { serveAgent } from "../src/index.ts";

export const graph = await serveAgent(logTriage);
