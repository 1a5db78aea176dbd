import logTriage from "../examples/log-triage/agent.ts";
import { serveAgent } from "./serve-agent.ts";

export const graph = await serveAgent(logTriage);
