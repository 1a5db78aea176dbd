import type { AgentTool } from "../definition/tool.ts";
import type { ToolPrediction } from "../state/step-record.ts";
import { unknownToolMessage } from "./registry.ts";

/** What the agent may call, and how often. */
export interface CallRules {
  /** The agent's tools by name. */
  readonly tools: ReadonlyMap<string, AgentTool>;
  /** Names of the tools that may be called: `guardrail_config.tool_rails.allowed_tools`. */
  readonly allowed: readonly string[] | "all";
  /** `guardrail_config.tool_rails.max_calls_per_turn`; left out, there is no limit. */
  readonly maxCalls?: number | undefined;
}

export type Admission =
  | { readonly tool: AgentTool; readonly refusal: null }
  | { readonly tool: null; readonly refusal: string };

/**
 * The tool of a call that may be made, or why it may not, as the model reads it. `callsBefore` counts the calls that
 * were asked for earlier in the turn, refused ones included.
 */
export function admitCall(call: ToolPrediction, callsBefore: number, rules: CallRules): Admission {
  const { tools, allowed, maxCalls } = rules;
  const refuse = (refusal: string): Admission => ({ tool: null, refusal });
  if (maxCalls !== undefined && callsBefore >= maxCalls) {
    return refuse(
      `Tool "${call.name}" was not called: the turn has had its ${maxCalls.toLocaleString("en")} tool calls (max_calls_per_turn). Answer with what is known.`,
    );
  }
  const mayCall = (name: string) => allowed === "all" || allowed.includes(name);
  const tool = tools.get(call.name);
  if (tool === undefined || !mayCall(call.name)) {
    const names = [...tools.keys()].filter(mayCall);
    if (tool === undefined) return refuse(unknownToolMessage(call.name, names));
    const there = names.length === 0 ? "No tool may." : `Tools that may: ${names.join(", ")}.`;
    return refuse(`Tool "${call.name}" may not be called here (allowed_tools). ${there}`);
  }
  if (call.problem !== undefined) return refuse(call.problem);
  if (!isPlainRecord(call.args)) {
    return refuse(`The arguments of tool "${call.name}" must be a JSON object.`);
  }
  return { tool, refusal: null };
}

function isPlainRecord(args: unknown): boolean {
  return typeof args === "object" && args !== null && !Array.isArray(args);
}
