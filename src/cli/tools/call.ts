import { type CliIo, UsageError } from "../io.ts";
import type { Runtime } from "../../app.ts";
import { systemIds } from "../../clock.ts";
import {
  compileArgumentRules,
  initialAttempt,
  initialExecution,
} from "../../compile/agent-setup.ts";
import { InitialStateError } from "../../compile/errors.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { AgentTool } from "../../definition/tool/tool.ts";
import type { ToolPrediction, ToolResult } from "../../state/step-record.ts";
import type { AgentState } from "../../state/tiers.ts";
import { admitCall, type CallRules, missingPermissions } from "../../tools/admit-call.ts";
import { UnknownToolError } from "../../tools/registry.ts";
import { runToolCalls } from "../../tools/run-tool-calls.ts";
import { isRecord } from "../../values/json.ts";
import { withRuntime } from "../agents/with-runtime.ts";
import { approveCall } from "../ask/approve-call.ts";
import { readInput } from "../input.ts";
import { printJson, printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { callLines } from "../view/run/tool-line.ts";
import type { TitledResult } from "../view/run/tool-titles.ts";
import { plainData } from "../../values/diff.ts";
import { outputLayout } from "../view/values.ts";
import { findTools, type FoundTool, type FoundTools, listTools, registryTools } from "./find.ts";
import { prepareTools, type ToolsOptions } from "./list.ts";

export interface ToolsCallOptions extends ToolsOptions {
  /** JSON. */
  readonly input?: string;
  /** Permissions, patterns included. */
  readonly grant?: readonly string[];
  readonly yes?: boolean;
}

interface CallArguments extends ToolsCallOptions {
  readonly name: string;
  readonly agent: string | undefined;
}

/**
 * `stratagraph tools call`: one call as a run would make it. Opens no database and keeps nothing.
 *
 * @throws UsageError, UnknownToolError, what loading the agent and `--tools` throw, and what keeps the tool's server
 * from starting
 */
export async function toolsCallCommand(given: CallArguments, io: CliIo): Promise<number> {
  const { agent, grant = [] } = given;
  if (agent !== undefined && grant.length > 0) {
    throw new UsageError(
      "--grant is only for calls without AGENT: an agent has the permissions of its definition.",
    );
  }
  const { definition, options } = await prepareTools(given, io);
  const args = await readArguments(given.input, io);
  const call: ToolPrediction = { id: systemIds(), name: given.name, args, reason: "" };
  const made = await withRuntime(options, io, (runtime, signal) =>
    makeCall(call, { given, definition, runtime, signal, io }),
  );
  const { result, notes } = made;
  if (given.json) printJson(callJson(made), io);
  else printLines(callLines(result, notes, outputLayout(io)), io);
  return result.outcome === "success" ? exitCodes.done : exitCodes.runFailed;
}

async function readArguments(
  input: string | undefined,
  { stdin }: Pick<CliIo, "stdin">,
): Promise<Record<string, unknown>> {
  if (input === undefined) return {};
  const args = await readInput({ message: undefined, input, thread: undefined, stdin });
  if (isRecord(args)) return args;
  throw new UsageError(
    '--input is not a JSON object: expected arguments by name, such as {"name": value}.',
    "invalid_json",
  );
}

interface Made {
  readonly result: TitledResult;
  /** Where the tool comes from. */
  readonly from: string;
  readonly notes: readonly string[];
  /** After the call; null where the tool has none. */
  readonly state: LoneCall["state"] | null;
}

async function makeCall(
  call: ToolPrediction,
  of: {
    readonly given: CallArguments;
    readonly definition: AgentDefinition | null;
    readonly runtime: Runtime;
    readonly signal: AbortSignal;
    readonly io: CliIo;
  },
): Promise<Made> {
  const { given, definition, runtime, signal, io } = of;
  const found = definition === null ? registryTools(runtime) : await findTools(definition, runtime);
  signal.throwIfAborted();
  const named = foundTool(call.name, found);
  const { tool } = named;
  const { rules, state, notes } = loneCall(tool, found, { definition, grants: given.grant ?? [] });
  const [listed] = listTools({ tools: new Map([[call.name, named]]) }, definition);
  const isAdmitted = admitCall(call, 0, rules).refusal === null && tool.input.check(call.args).ok;
  const asks = listed?.approval === true && isAdmitted;
  const agent = definition?.spec.name ?? "tools";
  const asking = { ...given, agent, tool, rules: rules.argumentRules };
  const approved = asks ? await approveCall(call, asking, { io, signal }) : call;
  signal.throwIfAborted();
  const { executionSchema, attemptSchema } = definition?.behaviour ?? {};
  const merges = definition?.spec.state_config.merge;
  const { clock, secrets, sandbox } = runtime;
  const made = await runToolCalls({
    ...rules,
    calls: [approved ?? { ...call, problem: "This call was not approved." }],
    callsSoFar: 0,
    state,
    env: { signal, clock, secrets, sandbox, executionSchema, attemptSchema, merges },
  });
  const [result] = made.results as [ToolResult];
  const missing = missingPermissions(tool, rules.grants);
  const { display_name: title } = tool.definition;
  return {
    result: title === undefined ? result : { ...result, display_name: title },
    from: listed?.from ?? "",
    notes: [...notes, ...(missing.length === 0 ? [] : [howToGrant(missing, definition)])],
    state: tool.kind === "stateful" ? made.state : null,
  };
}

/** @throws UnknownToolError, or why the tools of a server are not there, among which it may be */
function foundTool(name: string, found: FoundTools): FoundTool {
  const tool = found.tools.get(name);
  if (tool !== undefined) return tool;
  const missing = found.sources.find(({ kind, error }) => kind !== "registry" && error !== null);
  throw missing?.error ?? new UnknownToolError(name, [...found.tools.keys()]);
}

function howToGrant(missing: readonly string[], definition: AgentDefinition | null): string {
  const names = missing.join(", ");
  if (definition !== null) return `To allow it, add to the agent's permissions: ${names}`;
  return `To allow it: ${missing.map((name) => `--grant ${name}`).join(" ")}`;
}

function callJson({ result, from, notes, state }: Made) {
  const { name, args, outcome, error, execution_time_ms, retries, warning } = result;
  return {
    tool: name,
    from,
    args,
    outcome,
    result: result.result === undefined ? null : plainData(result.result),
    error,
    execution_time_ms,
    ...(retries !== undefined && { retries }),
    ...(warning !== undefined && { warning }),
    ...(state !== null && { state: plainData(state) }),
    notes,
  };
}

/** What a call is made on that no turn is around. */
interface LoneCall {
  readonly rules: CallRules;
  readonly state: AgentState<unknown, unknown>;
  /** What would be otherwise in a turn, for people. */
  readonly notes: readonly string[];
}

/**
 * The rules of an agent, or of a person who grants permissions, on an empty input and the state that the agent makes of
 * it.
 */
function loneCall(
  tool: AgentTool,
  { tools: found }: Pick<FoundTools, "tools">,
  of: { readonly definition: AgentDefinition | null; readonly grants: readonly string[] },
): LoneCall {
  const tools = new Map([...found].map(([name, one]) => [name, one.tool]));
  const { definition } = of;
  if (definition === null) {
    const state = { execution: {}, attempt: {} };
    const rules: CallRules = {
      tools,
      allowed: "all",
      grants: of.grants,
      values: { input: {}, ...state },
    };
    return { rules, state, notes: tool.kind === "stateful" ? [emptyState] : [] };
  }
  const { spec } = definition;
  const { allowed_tools: allowed, max_calls_per_turn: maxCalls } = spec.guardrail_config.tool_rails;
  const argumentRules = compileArgumentRules(spec);
  const isRuled = argumentRules.some((rule) => rule.tool === tool.definition.name);
  const isStateful = tool.kind === "stateful";
  const { state, problem } = isStateful || isRuled ? firstState(definition) : noState;
  const rules: CallRules = {
    tools,
    allowed,
    maxCalls,
    grants: spec.permissions,
    argumentRules,
    values: { input: {}, ...state },
  };
  const notes = [
    ...(isStateful ? [problem === null ? firstStateNote : emptyState] : []),
    ...(isRuled ? [ruledNote] : []),
    ...(problem === null
      ? []
      : [`The agent cannot create its state from an empty input: ${problem}`]),
  ];
  return { rules, state, notes };
}

const emptyState = "The tool is stateful: it ran on an empty state, which is not stored.";
const firstStateNote =
  "The tool is stateful: it ran on the agent's initial state for an empty input, which is not stored.";
const ruledNote = "Its argument rules were evaluated against an empty input.";

const noState = { state: { execution: {}, attempt: {} }, problem: null };

/** The state of an agent as a turn with an empty input begins; empty where it makes none of that. */
function firstState(definition: AgentDefinition): {
  readonly state: AgentState<unknown, unknown>;
  readonly problem: string | null;
} {
  try {
    const execution = initialExecution(definition, {});
    const attempt = initialAttempt(definition, { input: {}, execution, attemptNumber: 0 });
    return { state: { execution, attempt }, problem: null };
  } catch (thrown) {
    if (!(thrown instanceof InitialStateError)) throw thrown;
    return { ...noState, problem: thrown.message };
  }
}
