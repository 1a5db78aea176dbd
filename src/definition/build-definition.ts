import { canonicalHash, deepFreeze, isRecord } from "../values/json.ts";
import type { AgentBehaviour, AgentDefinition } from "./agent-definition.ts";
import type { Rail } from "./rail.ts";
import {
  type AgentSpec,
  type AgentSpecInput,
  type ContextConfig,
  contextOverrides,
  toolSelectionOverrides,
} from "./schema/agent.ts";
import { guardrailConfigSchema } from "./schema/guardrails.ts";
import { checkFromJsonSchema, type SchemaCheck } from "./schema/json-schema.ts";
import type { ClientToolSpec } from "./schema/data-tools.ts";
import { type ClientToolOptions, defineTool } from "./tool/define-tool.ts";
import { type AgentTool, defaultExecution, type ToolDefinition } from "./tool/tool.ts";
import { type CodeWorker, workerDescriptions } from "./worker.ts";

/** Combines a checked spec with its code into a frozen definition. */
export function buildDefinition(parts: {
  spec: AgentSpec;
  source?: string;
  input?: SchemaCheck;
  output?: SchemaCheck;
  tools?: readonly AgentTool[];
  /** Tools of the caller that the definition describes. */
  clientTools?: readonly ClientToolSpec[];
  agents?: ReadonlyMap<string, AgentDefinition>;
  workers?: readonly CodeWorker[];
  rails?: readonly Rail[];
  behaviour?: AgentBehaviour<unknown, unknown, unknown, unknown>;
}): AgentDefinition {
  const { spec, source, agents = new Map(), workers = [], behaviour = {} } = parts;
  const described = (parts.clientTools ?? []).map((tool) => defineTool(tool as DescribedTool));
  const tools = [...(parts.tools ?? []), ...described];
  const inline = tools.map((tool) => hashedTool(tool.definition));
  const hashes = Object.fromEntries([...agents].map(([key, { hash }]) => [key, hash]));
  const hashed = {
    spec: toHashedSpec(spec),
    inline,
    ...(agents.size > 0 && { agents: hashes }),
    ...(workers.length > 0 && { workers: workerDescriptions(workers) }),
  };
  return Object.freeze({
    spec: deepFreeze(spec),
    hash: canonicalHash(hashed),
    ...(source !== undefined && { source }),
    input: parts.input ?? checkFromJsonSchema(spec.input_schema),
    output: parts.output ?? checkFromJsonSchema(spec.output_schema),
    tools: Object.freeze(tools),
    agents: new Map(agents),
    workers: Object.freeze([...workers]),
    rails: Object.freeze([...(parts.rails ?? [])]),
    behaviour: Object.freeze(behaviour),
  });
}

type DescribedTool = ClientToolOptions<unknown> & { readonly name: string };

/** The form of a spec that is hashed. */
export type HashedSpec = Omit<
  AgentSpec,
  "context_config" | "permissions" | "tool_selection" | "state_config" | "guardrail_config"
> & {
  /** Only the values that differ from the defaults, as in `tool_selection`. */
  readonly context_config?: Partial<ContextConfig>;
  readonly tool_selection?: NonNullable<AgentSpecInput["tool_selection"]>;
  /** Absent if empty, like the `rules` of tool rails. */
  readonly permissions?: AgentSpec["permissions"];
  readonly state_config?: AgentSpec["state_config"];
  readonly guardrail_config: Omit<AgentSpec["guardrail_config"], "tool_rails"> & {
    readonly tool_rails: Omit<ToolRails, LaterRails> & Partial<Pick<ToolRails, LaterRails>>;
  };
};

/** The default of `short_term.max_tokens` while it did not depend on the model: specs without it keep their hash. */
const formerTokens = 8000;

type LaterRails = "rules" | "max_repeats" | "max_polls" | "repeatable";

const { max_repeats: usualRepeats, max_polls: usualPolls } = guardrailConfigSchema.parse(
  {},
).tool_rails;

type ToolRails = AgentSpec["guardrail_config"]["tool_rails"];

/**
 * Returns a spec without the defaults of keys added since the first release with hashes. Definitions that do not use
 * these keys keep their hash.
 */
export function toHashedSpec(spec: AgentSpec): HashedSpec {
  const { context_config, tool_selection, permissions, state_config, guardrail_config, ...rest } =
    spec;
  const context = contextOverrides(context_config);
  const selection = toolSelectionOverrides(tool_selection);
  const { rules, max_repeats, max_polls, repeatable, ...tool_rails } = guardrail_config.tool_rails;
  const { short_term } = spec.memory_config;
  return {
    ...rest,
    memory_config: {
      ...spec.memory_config,
      short_term: { ...short_term, max_tokens: short_term.max_tokens ?? formerTokens },
    },
    ...(context !== null && { context_config: context }),
    ...(selection !== null && { tool_selection: selection }),
    ...(permissions.length > 0 && { permissions }),
    ...(Object.keys(state_config.merge).length > 0 && { state_config }),
    guardrail_config: {
      ...guardrail_config,
      tool_rails: {
        ...tool_rails,
        ...(rules.length > 0 && { rules }),
        ...(max_repeats !== usualRepeats && { max_repeats }),
        ...(max_polls !== usualPolls && { max_polls }),
        ...(repeatable.length > 0 && { repeatable }),
      },
    },
  };
}

/**
 * Returns the form of an inline tool that is hashed: without the defaults of keys added since the first release with
 * hashes.
 */
function hashedTool(tool: ToolDefinition): Record<string, unknown> {
  const { transport, permissions, execution, ...rest } = tool;
  const { retry, sandbox, repeatable, ...limits } = execution;
  const usual = defaultExecution.retry;
  const isUsual = retry.max_retries === usual.max_retries && retry.backoff_ms === usual.backoff_ms;
  return {
    ...rest,
    ...(transport.type !== typeOfOlder(tool.is_builtin) && { transport }),
    ...(permissions.length > 0 && { permissions }),
    execution: {
      ...limits,
      ...(!isUsual && { retry }),
      ...(sandbox && { sandbox }),
      ...(repeatable && { repeatable }),
    },
  };
}

/** Returns a stored tool with defaults for the keys that the version that wrote it did not have. */
export function normalizeTool(stored: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { execution, is_builtin } = stored;
  const { retry, sandbox, repeatable } = defaultExecution;
  return {
    transport: { type: typeOfOlder(is_builtin) },
    permissions: [],
    ...stored,
    ...(isRecord(execution) && { execution: { retry, sandbox, repeatable, ...execution } }),
  };
}

/** Returns the transport of tools stored before tools had one. */
function typeOfOlder(isBuiltin: unknown): "builtin" | "function" {
  return isBuiltin === true ? "builtin" : "function";
}
