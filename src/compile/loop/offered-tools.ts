import { noteTool } from "../../context/note-tool.ts";
import type { AgentModel, ModelTool } from "../../models/agent-model.ts";
import type { ExecutionMode } from "../../state/step-record.ts";

/** By the agent's own tools: models cache the binding by the array's identity, providers prompts from the tools on. */
const withNoteTool = new WeakMap<readonly ModelTool[], readonly ModelTool[]>();

/**
 * What a model is offered for its steps: the tools, and where it may call several at once a way to note what it makes of
 * them. In deep mode its reflections say that. The same array for the same tools.
 */
export function offeredTools(
  tools: readonly ModelTool[],
  to: {
    readonly model: Pick<AgentModel, "toolCalling" | "parallelCalls">;
    /** The definition's: the list is the same for a step that was raised. */
    readonly mode: ExecutionMode;
    /** The agent's, by name. */
    readonly taken: { has(name: string): boolean };
  },
): readonly ModelTool[] {
  const { model, mode, taken } = to;
  const canNote = model.toolCalling && model.parallelCalls && tools.length > 0;
  if (!canNote || mode === "deep" || taken.has(noteTool.name)) return tools;
  const known = withNoteTool.get(tools);
  if (known !== undefined) return known;
  const offered = Object.freeze([...tools, noteTool]);
  withNoteTool.set(tools, offered);
  return offered;
}
