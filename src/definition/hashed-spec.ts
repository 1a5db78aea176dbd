import { contextConfigBeside, type ContextConfig } from "./context-schema.ts";
import { guardrailConfigSchema } from "./guardrail-schema.ts";
import type { AgentSpec, AgentSpecInput } from "./schema.ts";
import { toolSelectionBeside } from "./tool-selection-schema.ts";

/** A spec as it is hashed. */
export type HashedSpec = Omit<
  AgentSpec,
  "context_config" | "permissions" | "tool_selection" | "state_config" | "guardrail_config"
> & {
  /** What it says that is not the default, as of `tool_selection`. */
  readonly context_config?: Partial<ContextConfig>;
  readonly tool_selection?: NonNullable<AgentSpecInput["tool_selection"]>;
  /** Where there are any, as of the `rules` of tool rails. */
  readonly permissions?: AgentSpec["permissions"];
  readonly state_config?: AgentSpec["state_config"];
  readonly guardrail_config: Omit<AgentSpec["guardrail_config"], "tool_rails"> & {
    readonly tool_rails: Omit<ToolRails, LaterRails> & Partial<Pick<ToolRails, LaterRails>>;
  };
};

type LaterRails = "rules" | "max_repeats" | "max_polls" | "repeatable";

const { max_repeats: usualRepeats, max_polls: usualPolls } = guardrailConfigSchema.parse(
  {},
).tool_rails;

type ToolRails = AgentSpec["guardrail_config"]["tool_rails"];

/**
 * A spec without the defaults of keys that came later than the first hashes: what says nothing of them has the hash that
 * it had before there were any.
 */
export function hashedSpec(spec: AgentSpec): HashedSpec {
  const { context_config, tool_selection, permissions, state_config, guardrail_config, ...rest } =
    spec;
  const context = contextConfigBeside(context_config);
  const selection = toolSelectionBeside(tool_selection);
  const { rules, max_repeats, max_polls, repeatable, ...tool_rails } = guardrail_config.tool_rails;
  return {
    ...rest,
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
