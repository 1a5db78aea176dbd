import type { ModelTool } from "../models/agent-model.ts";

/**
 * What a model may say of its step beside its next calls or its answer, so that no call of its own is spent on it. It
 * stands among the tools that are offered and is never run: see `readStepNote`.
 */
export const noteTool: ModelTool = {
  name: "note_step",
  description:
    "Notes on the last results and this step. Call it beside your next tool call or your answer, never alone.",
  input_schema: {
    type: "object",
    properties: {
      results: {
        type: "array",
        items: {
          type: "object",
          properties: {
            call: { type: "string", description: "id or name of the call" },
            insights: { type: "string", description: "what matters in its result" },
            learning: { type: "string", description: "what to do differently" },
            relevance: { type: "string", enum: ["high", "medium", "low"] },
          },
        },
      },
      synthesis: { type: "string", description: "how this step advances the goal" },
      progress: { type: "string", enum: ["advancing", "stuck", "regressing"] },
      hypothesis: {
        type: "object",
        properties: { belief: { type: "string" }, test: { type: "string" } },
      },
    },
  },
};
