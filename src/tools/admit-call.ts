import { isGranted } from "../definition/permission.ts";
import type { AgentTool } from "../definition/tool.ts";
import type { ToolPrediction } from "../state/step-record.ts";
import {
  checkArguments,
  type ArgumentRule,
  type CallFinding,
  type RuleValues,
} from "./argument-rules.ts";
import { toJson } from "./json-value.ts";
import { unknownToolMessage } from "./registry.ts";

/** What the agent may call, and how often. */
export interface CallRules {
  /** The agent's tools by name. */
  readonly tools: ReadonlyMap<string, AgentTool>;
  /** Names of the tools that may be called: `guardrail_config.tool_rails.allowed_tools`. */
  readonly allowed: readonly string[] | "all";
  /** `guardrail_config.tool_rails.max_calls_per_turn`; left out, there is no limit. */
  readonly maxCalls?: number | undefined;
  /** What the agent is granted, patterns included. */
  readonly grants: readonly string[];
  readonly argumentRules?: readonly ArgumentRule[] | undefined;
  /** What argument rules may read. */
  readonly values: RuleValues;
  /** Puts what was redacted back into arguments, before their schema and the rules judge them. Left out, nothing was redacted. */
  readonly reveal?: ((args: unknown) => unknown) | undefined;
}

export type Admission = (
  | { readonly tool: AgentTool; readonly refusal: null }
  | { readonly tool: null; readonly refusal: string }
) & {
  /** What tool rails found; passes of argument rules too. */
  readonly findings: readonly CallFinding[];
};

/**
 * The tool of a call that may be made, or why it may not, as the model reads it. `callsBefore` counts the calls that
 * were asked for earlier in the turn, refused ones included.
 */
export function admitCall(call: ToolPrediction, callsBefore: number, rules: CallRules): Admission {
  const { tools, allowed, maxCalls } = rules;
  if (maxCalls !== undefined && callsBefore >= maxCalls) {
    return blocked(
      "max_calls_per_turn",
      `Tool "${call.name}" was not called: the turn has had its ${maxCalls.toLocaleString("en")} tool calls (max_calls_per_turn). Answer with what is known.`,
    );
  }
  const mayCall = (name: string) => allowed === "all" || allowed.includes(name);
  const tool = tools.get(call.name);
  if (tool === undefined || !mayCall(call.name)) {
    const names = [...tools.keys()].filter(mayCall);
    if (tool === undefined) return refused(unknownToolMessage(call.name, names));
    const there = names.length === 0 ? "No tool may." : `Tools that may: ${names.join(", ")}.`;
    return blocked(
      "allowed_tools",
      `Tool "${call.name}" may not be called here (allowed_tools). ${there}`,
    );
  }
  const missing = missingPermissions(tool, rules.grants);
  if (missing.length > 0) return blocked("permissions", lacking(call.name, missing));
  if (call.problem !== undefined) return refused(call.problem);
  if (!isPlainRecord(call.args)) {
    return refused(`The arguments of tool "${call.name}" must be a JSON object.`);
  }
  const { argumentRules = [], values, reveal } = rules;
  if (!argumentRules.some((rule) => rule.tool === call.name)) return admitted(tool);
  // Rules judge what the handler will get. Arguments that do not fit are refused when the call is made, by their schema.
  const checked = tool.input.check(reveal?.(call.args) ?? call.args);
  if (!checked.ok) return admitted(tool);
  const args = toJson(checked.value, maxJudgedBytes).value;
  const findings = checkArguments(call.name, args, argumentRules, values);
  const block = findings.find(({ verdict }) => verdict === "block");
  return block === undefined
    ? { tool, refusal: null, findings }
    : { tool: null, refusal: block.reason, findings };
}

/** The permissions that a tool requires and the grants do not cover. */
export function missingPermissions(
  { definition }: Pick<AgentTool, "definition">,
  grants: readonly string[],
): readonly string[] {
  return definition.permissions
    .filter(({ name, required }) => required && !isGranted(name, grants))
    .map(({ name }) => name);
}

/** UTF-8 bytes of arguments as JSON that rules can read; more than any model writes. */
const maxJudgedBytes = 16 * 1024 * 1024;

const none: readonly CallFinding[] = Object.freeze([]);

function admitted(tool: AgentTool): Admission {
  return { tool, refusal: null, findings: none };
}

function refused(refusal: string): Admission {
  return { tool: null, refusal, findings: none };
}

function blocked(rail: CallFinding["rail"], refusal: string): Admission {
  return { tool: null, refusal, findings: [{ rail, verdict: "block", reason: refusal }] };
}

function lacking(tool: string, missing: readonly string[]): string {
  const what = missing.length === 1 ? "the permission" : "the permissions";
  return `Tool "${tool}" was not called: it requires ${what} ${missing.join(", ")}, which this agent is not granted (permissions). Go on without it, and say so where it matters.`;
}

function isPlainRecord(args: unknown): boolean {
  return typeof args === "object" && args !== null && !Array.isArray(args);
}
