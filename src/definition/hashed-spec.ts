import { contextConfigBeside, type ContextConfig } from "./context-schema.ts";
import type { AgentSpec, AgentSpecInput } from "./schema.ts";
import { toolSelectionBeside } from "./tool-selection-schema.ts";

/** A spec as it is hashed. */
export type HashedSpec = Omit<
  AgentSpec,
  "context_config" | "permissions" | "tool_selection" | "guardrail_config"
> & {
  /** What it says that is not the default, as of `tool_selection`. */
  readonly context_config?: Partial<ContextConfig>;
  readonly tool_selection?: NonNullable<AgentSpecInput["tool_selection"]>;
  /** Where there are any, as of the `rules` of tool rails. */
  readonly permissions?: AgentSpec["permissions"];
  readonly guardrail_config: Omit<AgentSpec["guardrail_config"], "tool_rails"> & {
    readonly tool_rails: Omit<ToolRails, "rules"> & Partial<Pick<ToolRails, "rules">>;
  };
};

type ToolRails = AgentSpec["guardrail_config"]["tool_rails"];

/**
 * A spec without the defaults of keys that came later than the first hashes: what says nothing of them has the hash that
 * it had before there were any.
 */
export function hashedSpec(spec: AgentSpec): HashedSpec {
  const { context_config, tool_selection, permissions, guardrail_config, ...rest } = spec;
  const context = contextConfigBeside(context_config);
  const selection = toolSelectionBeside(tool_selection);
  const { rules, ...tool_rails } = guardrail_config.tool_rails;
  return {
    ...rest,
    ...(context !== null && { context_config: context }),
    ...(selection !== null && { tool_selection: selection }),
    ...(permissions.length > 0 && { permissions }),
    guardrail_config: {
      ...guardrail_config,
      tool_rails: { ...tool_rails, ...(rules.length > 0 && { rules }) },
    },
  };
}
