import { serveAgent } from "../src/index.ts";

// The desk of the example takes any token; without one its server would not start, and no graph be served.
process.env["DESK_TOKEN"] ??= "desk-of-the-example";

export const graph = await serveAgent(
  new URL("../examples/guarded-desk/agent.yaml", import.meta.url),
);
