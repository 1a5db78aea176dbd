import type { AgentTool, StatelessTool } from "../../src/definition/tool/tool.ts";
import { callStateless } from "../../src/tools/call.ts";
import { ManualClock } from "./manual-clock.ts";

/** Calls a stateless tool as the loop does and gives what became of it. */
export async function callBuiltin(
  tool: AgentTool | undefined,
  args: Record<string, unknown>,
  clock = new ManualClock(),
) {
  if (tool === undefined) throw new Error("There is no such builtin.");
  const call = { id: "call-1", name: tool.definition.name, args };
  const env = { clock, signal: new AbortController().signal };
  const { result } = await callStateless(tool as StatelessTool, call, env);
  return { outcome: result.outcome, result: result.result as never, error: result.error ?? "" };
}
