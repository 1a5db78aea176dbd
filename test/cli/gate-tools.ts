import { defineTool } from "../../src/index.ts";

/**
 * A tool that tells the process's parent that it waits, and goes on when the parent sends something. It ignores its
 * signal and keeps the process alive, as badly behaved tools do. A wait that was cut
 * off may begin again.
 */
export const tools = [
  defineTool({
    name: "wait_gate",
    description: "Waits for the gate to open.",
    execution: { idempotent: true },
    input_schema: { type: "object", properties: {} },
    handler: () =>
      new Promise((resolve) => {
        process.once("message", () => resolve("The gate is open."));
        process.send?.("waiting");
      }),
  }),
];
