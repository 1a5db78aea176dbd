import { type AgentTool, isGranted } from "../definition/tool/tool.ts";
import type { Expression } from "../expression/expression.ts";
import { ExpressionError } from "../expression/problem.ts";
import { hashCall, type ProposedCall } from "../state/human-request.ts";
import type { ToolPrediction } from "../state/step-record.ts";
import { jsonHead, toJson } from "../values/bounded-json.ts";
import { isRecord } from "../values/json.ts";
import { unknownToolMessage } from "./registry.ts";

/** Which calls one agent lets be made. */
export interface CallBounds {
  /** Names of the tools that may be called: `guardrail_config.tool_rails.allowed_tools`. */
  readonly allowed: readonly string[] | "all";
  /** What the agent is granted, patterns included. */
  readonly grants: readonly string[];
  readonly argumentRules?: readonly ArgumentRule[] | undefined;
  /** What argument rules may read. */
  readonly values: RuleValues;
}

/** The bounds of an agent that the calling one runs in. */
export interface OuterBounds extends CallBounds {
  /** The agent's name. */
  readonly agent: string;
}

/** What the agent may call, and how often. */
export interface CallRules extends CallBounds {
  /** The agent's tools by name. */
  readonly tools: ReadonlyMap<string, AgentTool>;
  /** `guardrail_config.tool_rails.max_calls_per_turn`; left out, there is no limit. */
  readonly maxCalls?: number | undefined;
  /** The agents around, outermost first; each has to let a call be made. Default none. */
  readonly around?: readonly OuterBounds[] | undefined;
  /** By the id of a call: why the limit of an agent that counts calls inside of it too refuses that call. Default none. */
  readonly overLimit?: ReadonlyMap<string, SpentLimit> | undefined;
  /** Puts what was redacted back into arguments, before their schema and the rules judge them. Left out, nothing was redacted. */
  readonly unredact?: ((args: unknown) => unknown) | undefined;
}

/** A limit on calls that has been reached. */
export interface SpentLimit {
  /** The agent around whose limit it is; null for the calling agent itself. */
  readonly agent: string | null;
  readonly maxCalls: number;
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
  const { tools, maxCalls, around = [] } = rules;
  if (maxCalls !== undefined && callsBefore >= maxCalls) {
    return overLimit(call.name, { agent: null, maxCalls });
  }
  const spent = rules.overLimit?.get(call.id);
  if (spent !== undefined) return overLimit(call.name, spent);
  const mayCall = (name: string) => [rules, ...around].every((bounds) => isAllowed(name, bounds));
  const tool = tools.get(call.name);
  if (tool === undefined || !mayCall(call.name)) {
    const names = [...tools.keys()].filter(mayCall);
    if (tool === undefined) return refused(unknownToolMessage(call.name, names));
    const there = names.length === 0 ? "No tool may." : `Tools that may: ${names.join(", ")}.`;
    const by = isAllowed(call.name, rules)
      ? around.find((bounds) => !isAllowed(call.name, bounds))
      : undefined;
    const whose = by === undefined ? "" : ` of agent "${by.agent}", which this agent runs in`;
    return blocked(
      "allowed_tools",
      `Tool "${call.name}" may not be called here (allowed_tools${whose}). ${there}`,
    );
  }
  for (const bounds of [rules, ...around]) {
    const missing = missingPermissions(tool, bounds.grants);
    if (missing.length === 0) continue;
    const agent = "agent" in bounds ? bounds.agent : null;
    return blocked("permissions", lacking(call.name, missing, agent));
  }
  if (call.problem !== undefined) return refused(call.problem);
  if (!isPlainRecord(call.args)) {
    return refused(`The arguments of tool "${call.name}" must be a JSON object.`);
  }
  const ruling = [...around, rules].filter(({ argumentRules = [] }) =>
    argumentRules.some((rule) => rule.tool === call.name),
  );
  if (ruling.length === 0) return admitted(tool);
  // Rules judge what the handler will get. Arguments that do not fit are refused when the call is made, by their schema.
  const checked = tool.input.check(rules.unredact?.(call.args) ?? call.args);
  if (!checked.ok) return admitted(tool);
  const args = toJson(checked.value, maxJudgedBytes).value;
  const findings = ruling.flatMap(({ argumentRules = [], values }) =>
    checkArguments(call.name, args, argumentRules, values),
  );
  const block = findings.find(({ verdict }) => verdict === "block");
  return block === undefined
    ? { tool, refusal: null, findings }
    : { tool: null, refusal: block.reason, findings };
}

/** Whether an agent's `allowed_tools` name a tool. */
export function isAllowed(tool: string, { allowed }: Pick<CallBounds, "allowed">): boolean {
  return allowed === "all" || allowed.includes(tool);
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

function overLimit(tool: string, { agent, maxCalls }: SpentLimit): Admission {
  const count = maxCalls.toLocaleString("en");
  const had =
    agent === null
      ? `the turn has had its ${count} tool calls (max_calls_per_turn)`
      : `agent "${agent}", which this agent runs in, has had the ${count} tool calls of its turn (max_calls_per_turn)`;
  return blocked(
    "max_calls_per_turn",
    `Tool "${tool}" was not called: ${had}. Answer with what is known.`,
  );
}

/** @param agent the one around that is not granted them; null for the calling agent itself */
function lacking(tool: string, missing: readonly string[], agent: string | null): string {
  const what = missing.length === 1 ? "the permission" : "the permissions";
  const who = agent === null ? "this agent" : `agent "${agent}", which this agent runs in,`;
  return `Tool "${tool}" was not called: it requires ${what} ${missing.join(", ")}, which ${who} is not granted (permissions). Go on without it, and say so where it matters.`;
}

function isPlainRecord(args: unknown): boolean {
  return typeof args === "object" && args !== null && !Array.isArray(args);
}

/** A rule on the arguments of one tool's calls. */
export interface ArgumentRule {
  readonly tool: string;
  /** Reads `args`, `input`, `execution` and `attempt`. */
  readonly condition: Pick<Expression, "source" | "references" | "evaluate">;
  /** What the model reads where it does not hold; undefined for the rule itself. */
  readonly message: string | undefined;
  readonly action: "block" | "flag";
}

/** What a tool rail says of one call. */
export interface CallFinding {
  readonly rail: "max_calls_per_turn" | "allowed_tools" | "permissions" | "arguments";
  readonly verdict: "pass" | "flag" | "block";
  /** Why, as the model reads it; empty for `pass`. */
  readonly reason: string;
}

/** Values that rules may read, in addition to the arguments. */
export interface RuleValues {
  readonly input: unknown;
  readonly execution: unknown;
  readonly attempt: unknown;
}

/**
 * What each rule for the tool says of a call, in order. A rule that cannot be evaluated does not hold.
 * @param args as the handler gets them, as JSON: with nothing redacted, and with what the schema adds or changes
 */
function checkArguments(
  tool: string,
  args: unknown,
  rules: readonly ArgumentRule[],
  values: RuleValues,
): readonly CallFinding[] {
  return rules
    .filter((rule) => rule.tool === tool)
    .map((rule): CallFinding => {
      const problem = problemOf(rule, { ...values, args });
      if (problem === null) return { rail: "arguments", verdict: "pass", reason: "" };
      return { rail: "arguments", verdict: rule.action, reason: reasonOf(tool, rule, problem) };
    });
}

function problemOf({ condition }: ArgumentRule, values: Record<string, unknown>): string | null {
  try {
    return condition.evaluate(values) === true ? null : "";
  } catch (thrown) {
    if (thrown instanceof ExpressionError) return ` It could not be checked: ${thrown.problem}.`;
    throw thrown;
  }
}

function reasonOf(tool: string, { condition, message }: ArgumentRule, problem: string): string {
  const rule = message ?? `The rule ${condition.source} does not hold.`;
  return `Tool "${tool}" may not be called with these arguments. ${rule}${problem}`;
}

/** Characters of an argument's JSON past which it is long. */
const longValue = 200;

/** A call as a person is asked about it, with its hash, and the order in which to read its arguments. */
export function proposeCall(
  call: Pick<ProposedCall, "id" | "name" | "args" | "reason">,
  tool: Pick<AgentTool, "input">,
  rules: readonly ArgumentRule[] = [],
): ProposedCall {
  const { id, name, args, reason } = call;
  return { id, name, args, reason, hash: hashCall(call), order: readingOrder(call, tool, rules) };
}

/**
 * The names of a call's arguments, those that decide first: what an argument rule reads, then numbers, booleans and what
 * the schema gives a choice of, then what it requires, then the rest. What is long comes last, unless a rule reads it.
 */
function readingOrder(
  { name, args }: Pick<ProposedCall, "name" | "args">,
  { input: { jsonSchema } }: Pick<AgentTool, "input">,
  rules: readonly ArgumentRule[],
): readonly string[] {
  const ruled = new Set(
    rules
      .filter(({ tool }) => tool === name)
      .flatMap(({ condition }) => condition.references)
      .flatMap(([variable, argument]) => (variable === "args" ? (argument ?? []) : [])),
  );
  const { properties, required } = jsonSchema;
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  const isChoice = (key: string) => {
    const schema =
      isRecord(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
    return isRecord(schema) && ("enum" in schema || "const" in schema);
  };
  const rank = (key: string, value: unknown): number => {
    if (ruled.has(key)) return 0;
    if (!jsonHead(value, longValue).whole) return 4;
    if (typeof value === "number" || typeof value === "boolean" || isChoice(key)) return 1;
    return needed.has(key) ? 2 : 3;
  };
  return Object.entries(args)
    .map(([key, value]) => ({ key, rank: rank(key, value) }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ key }) => key);
}
