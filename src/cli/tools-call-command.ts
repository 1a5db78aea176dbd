import type { AgentDefinition } from "../definition/agent-definition.ts";
import { systemIds } from "../clock.ts";
import type { Runtime } from "../app.ts";
import { isRecord } from "../state/is-record.ts";
import type { ToolPrediction, ToolResult } from "../state/step-record.ts";
import { admitCall, missingPermissions } from "../tools/admit-call.ts";
import { UnknownToolError } from "../tools/registry.ts";
import { runToolCalls } from "../tools/run-tool-calls.ts";
import { approveCall } from "./ask/approve-call.ts";
import { findTools, registryTools, type FoundTool, type FoundTools } from "./find-tools.ts";
import type { CliIo } from "./io.ts";
import { loneCall, type LoneCall } from "./lone-call.ts";
import { printJson, printLines } from "./print.ts";
import { readInput } from "./read-input.ts";
import { exitCodes } from "./report-error.ts";
import { listTools } from "./tool-list.ts";
import { prepareTools, type ToolsOptions } from "./tools-list-command.ts";
import { UsageError } from "./usage-error.ts";
import { callLines } from "./view/call-lines.ts";
import { plainData } from "./view/plain-json.ts";
import { viewOf } from "./view/view-of.ts";
import { withRuntime } from "./with-runtime.ts";

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
      "--grant is for calls without AGENT: an agent has the permissions of its definition.",
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
  else printLines(callLines(result, notes, viewOf(io)), io);
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
    '--input is no JSON object: expected the arguments by name, as {"name": value}.',
    "invalid_json",
  );
}

interface Made {
  readonly result: ToolResult;
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
    calls: [approved ?? { ...call, problem: "Nobody approved this call." }],
    callsSoFar: 0,
    state,
    env: { signal, clock, secrets, sandbox, executionSchema, attemptSchema, merges },
  });
  const [result] = made.results as [ToolResult];
  const missing = missingPermissions(tool, rules.grants);
  return {
    result,
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
