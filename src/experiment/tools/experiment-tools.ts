import type { AgentTool } from "../../definition/tool.ts";
import { memoryTools, type MemoryToolsOptions } from "./memory-tools.ts";
import { messageOperatorTool } from "./message-operator.ts";

export interface ExperimentToolsOptions extends MemoryToolsOptions {
  /** Gets what the agent tells the operator. Left out, nobody does, and the agent is told that it was delivered. */
  readonly onMessage?: (text: string) => void;
}

/** The tools that experiments bring with them: the memory of one run, and the way to its operator. */
export function experimentTools({
  memory,
  nextChange,
  onMessage,
}: ExperimentToolsOptions): readonly AgentTool[] {
  return [...memoryTools({ memory, nextChange }), messageOperatorTool(onMessage)];
}
