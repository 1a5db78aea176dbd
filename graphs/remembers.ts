import { serveAgent } from "../src/index.ts";

export const graph = await serveAgent(new URL("../examples/remembers/agent.yaml", import.meta.url));
