import type { BaseMessage } from "@langchain/core/messages";
import { openingMessages } from "../context/prompts.ts";
import { nativeNoteLineForm, noteLineForm, takesNoteLines } from "../context/note-lines.ts";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import { agentReferences } from "../definition/check/agents.ts";
import { argumentRuleScope } from "../definition/check/expressions.ts";
import { InvalidDefinitionError } from "../definition/check/problems.ts";
import { railProblems, toolNameProblems } from "../definition/check/tools.ts";
import type { AgentSpec } from "../definition/schema/agent.ts";
import type { JsonSchema, SchemaCheck } from "../definition/schema/json-schema.ts";
import { isDataTool, toolEntryName } from "../definition/schema/data-tools.ts";
import type { CommunitySpec } from "../definition/schema/servers.ts";
import type { AgentTool } from "../definition/tool/tool.ts";
import { readWorkflow } from "../definition/workflow/read-workflow.ts";
import { errorMessage } from "../errors.ts";
import { compileExpression } from "../expression/expression.ts";
import type { ModelTool } from "../models/agent-model.ts";
import { renderTextFormInstructions } from "../models/text-form/text-form.ts";
import { mergeProblem, type TierMerges } from "../state/tier-patch.ts";
import { checkJson } from "../state/tiers.ts";
import type { ArgumentRule } from "../tools/admit-call.ts";
import type { HttpAllow } from "../tools/builtins/http/allow-list.ts";
import { createHttpTool } from "../tools/http-tool.ts";
import type { ToolServers } from "../tools/mcp/tool-servers.ts";
import { createToolRegistry, type ToolRegistry } from "../tools/registry.ts";
import { deepFreeze, isRecord } from "../values/json.ts";
import { InitialStateError, NoToolServersError } from "./errors.ts";
import type { Redactor } from "../state/rails.ts";
import type { BoundModel } from "./loop/context.ts";
import { unredactedCheck } from "./loop/node-rails.ts";

/** The sources of a definition's tools. */
export interface ToolServices {
  /** Tools by name. */
  readonly tools: ToolRegistry;
  /** MCP servers, started when a definition first names them. */
  readonly servers?: ToolServers | undefined;
  /** Returns tools of `@langchain/community` by name. */
  readonly communityTool?: ((spec: CommunitySpec) => Promise<AgentTool>) | undefined;
  /** Private hosts that HTTP tools may call, in addition to public ones. */
  readonly httpAllow?: readonly HttpAllow[] | undefined;
}

/**
 * Returns all tools of a definition by name: those that came with it, then in its order those of the registry, of MCP
 * servers, which are started, and of packages.
 *
 * @param of.inside names of the tools of nested agents, which tool rails may name; undefined if not all are known
 * @param of.implied tools that the definition has besides; others of the same names replace them
 * @throws ToolClashError, UnknownToolError, InvalidDefinitionError if it names tools that it does not have;
 * NoToolServersError, ServerStartError, ServerToolsError, MissingSecretError for MCP servers; CommunityPackageError,
 * CommunityToolError
 */
export async function agentTools(
  definition: AgentDefinition,
  services: ToolServices,
  of: {
    readonly inside: readonly string[] | undefined;
    readonly implied?: readonly AgentTool[];
  } = {
    inside: [],
  },
): Promise<ReadonlyMap<string, AgentTool>> {
  const { spec } = definition;
  const inline = createToolRegistry(definition.tools);
  const entries = definition.hasAllTools ? [] : spec.tools;
  const implied = new Map(of.implied?.map((tool) => [tool.definition.name, tool]));
  const listed = await Promise.all(
    entries
      .filter((entry) => typeof entry !== "string" || !implied.has(entry))
      .map((entry) => toolsOf(entry, inline, services)),
  );
  const all = createToolRegistry([...definition.tools, ...listed.flat()]);
  const tools = new Map(all.resolve(all.names()).map((tool) => [tool.definition.name, tool]));
  // A server may have a tool of the same name.
  for (const [name, tool] of implied) if (!tools.has(name)) tools.set(name, tool);
  checkNames(definition, [...tools.keys()], of.inside);
  return tools;
}

type ToolEntry = AgentDefinition["spec"]["tools"][number];

async function toolsOf(
  entry: ToolEntry,
  inline: ToolRegistry,
  { tools, servers, communityTool, httpAllow }: ToolServices,
): Promise<readonly AgentTool[]> {
  if (typeof entry === "string") return inline.get(entry) ? [] : tools.resolve([entry]);
  if ("mcp" in entry) {
    if (servers === undefined) throw new NoToolServersError(entry.mcp.name);
    return (await servers.connect(entry.mcp)).tools;
  }
  if (isDataTool(entry)) return [await createHttpTool(entry, { httpAllow })];
  if (communityTool === undefined) throw new NoToolServersError(entry.community.tool);
  return [await communityTool(entry.community)];
}

/** Checks the tool names in a definition. Names from servers, packages and nested agents are known only now. */
function checkNames(
  { spec }: AgentDefinition,
  names: readonly string[],
  inside: readonly string[] | undefined,
): void {
  const areKnown = spec.tools.every((entry) => toolEntryName(entry) !== undefined);
  if (areKnown && agentReferences(spec).length === 0) return;
  const { allowed_tools: allowed } = spec.guardrail_config.tool_rails;
  const known = { names, allowed: allowed === "all" ? undefined : allowed };
  const problems = [
    ...railProblems(spec, known, inside),
    ...(spec.workflow_graph === undefined
      ? []
      : toolNameProblems(readWorkflow(spec.workflow_graph), known)),
  ];
  if (problems.length > 0) throw new InvalidDefinitionError(problems);
}

/** Compiles a definition's argument rules, which were checked when it was loaded. */
export function compileArgumentRules(spec: AgentSpec): readonly ArgumentRule[] {
  const scope = argumentRuleScope(spec.input_schema);
  return spec.guardrail_config.tool_rails.rules.map(({ tool, check, message, action }) => {
    const compiled = compileExpression(check, scope, "bool");
    if (!compiled.ok)
      throw new TypeError(`the definition was checked with another rule than '${check}'`);
    return { tool, condition: compiled.value, message, action };
  });
}

/**
 * @param input with placeholders, as in the state; its schema checks the unredacted values
 * @param rails left out if nothing was redacted
 */
export function initialExecution(
  definition: AgentDefinition,
  input: unknown,
  rails?: Redactor,
): unknown {
  const { behaviour, spec } = definition;
  const make = () =>
    behaviour.initialExecutionState ? behaviour.initialExecutionState(input) : {};
  const { merge: merges } = spec.state_config;
  return checked("execution", make, { schema: behaviour.executionSchema, merges, rails });
}

export function initialAttempt(
  definition: AgentDefinition,
  of: { input: unknown; execution: unknown; attemptNumber: number; rails?: Redactor },
): unknown {
  const { behaviour, spec } = definition;
  const make = () =>
    behaviour.initialAttemptState
      ? behaviour.initialAttemptState(of.input, deepFreeze(of.execution), of.attemptNumber)
      : {};
  const { merge: merges } = spec.state_config;
  return checked("attempt", make, { schema: behaviour.attemptSchema, merges, rails: of.rails });
}

function checked(
  tier: "execution" | "attempt",
  make: () => unknown,
  by: {
    readonly schema: SchemaCheck | undefined;
    readonly merges: TierMerges;
    readonly rails: Redactor | undefined;
  },
): unknown {
  const { schema, rails } = by;
  let state: unknown;
  try {
    state = make();
  } catch (cause) {
    throw new InitialStateError(tier, `threw: ${errorMessage(cause)}`, { cause });
  }
  if (typeof state !== "object" || state === null || Array.isArray(state)) {
    throw new InitialStateError(
      tier,
      `must return a plain object, not ${state === null ? "null" : Array.isArray(state) ? "a list" : typeof state}`,
    );
  }
  if (state instanceof Promise)
    throw new InitialStateError(tier, "must return a plain object, not a promise");
  refuseOthersThanJson(tier, state);
  const judge =
    rails === undefined || schema === undefined ? schema : unredactedCheck(schema, rails);
  const fits = judge?.check(state);
  if (fits?.ok === false) {
    throw new InitialStateError(
      tier,
      `returned what its schema refuses: ${fits.issues.join("; ")}`,
    );
  }
  const made = fits?.value ?? state;
  if (made !== state) refuseOthersThanJson(tier, made);
  refuseUnmergeable(tier, made, by.merges);
  // A copy, because the application may go on using the initialiser's result.
  const own = JSON.parse(JSON.stringify(made)) as unknown;
  return deepFreeze(rails === undefined || fits === undefined ? own : rails.redact(own));
}

/** @throws InitialStateError */
function refuseUnmergeable(
  tier: "execution" | "attempt",
  state: unknown,
  merges: TierMerges,
): void {
  for (const [path, merge] of Object.entries(merges)) {
    const value = isRecord(state) ? state[path.slice(tier.length + 1)] : undefined;
    const found = path.startsWith(`${tier}.`) ? mergeProblem(merge, undefined, value) : null;
    if (found === null) continue;
    const problem = `returned ${path} as ${found}, which its merge ${merge} cannot take`;
    throw new InitialStateError(tier, problem, { path, found });
  }
}

/** @throws InitialStateError */
function refuseOthersThanJson(tier: "execution" | "attempt", state: unknown): void {
  const json = checkJson(state, tier);
  if (json.ok) return;
  const { path, found } = json;
  const problem = `returned what is not JSON: ${path} is ${found}; return plain objects, lists, texts, finite numbers, booleans and null`;
  throw new InitialStateError(tier, problem, { path, found });
}

/**
 * The system messages before every call of a model. Models without native tool calls get their tools as text: all of
 * them, or only those that the request offers where tools are selected. With tools, a model that notes its steps on lines
 * of its text reads how.
 */
export function promptPrefix(
  spec: AgentSpec,
  of: { readonly answerSchema: JsonSchema | null; readonly modelTools: readonly ModelTool[] },
): BoundModel["promptPrefix"] {
  const { answerSchema, modelTools } = of;
  const opening = (toolInstructions: string) =>
    openingMessages(spec, { answerSchema, toolInstructions });
  const inText = (tools: readonly ModelTool[], takesNotes: boolean) =>
    opening(renderTextFormInstructions(tools, takesNotes ? noteLineForm : ""));
  const isChosen = modelTools.length > spec.tool_selection.above;
  const native = opening("");
  const noting = modelTools.length === 0 ? native : opening(nativeNoteLineForm);
  // In text, all models of an agent take notes or none does.
  const made = new WeakMap<readonly ModelTool[], readonly BaseMessage[]>();
  return (model, offered = noTools) => {
    const takesNotes = takesNoteLines(spec, model);
    if (model.toolCalling) return takesNotes ? noting : native;
    const tools = isChosen ? offered : modelTools;
    const known = made.get(tools) ?? inText(tools, takesNotes);
    made.set(tools, known);
    return known;
  };
}

const noTools: readonly ModelTool[] = [];
