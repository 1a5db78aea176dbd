import type { AgentDefinition } from "../definition/agent-definition.ts";
import { isGranted } from "../definition/permission.ts";
import type { AgentTool } from "../definition/tool.ts";
import type { FoundTools, ToolSource } from "./find-tools.ts";

/** A tool as `stratagraph tools list` tells of it. */
export interface ListedTool {
  readonly name: string;
  /** `builtin`, `function`, `stdio SERVER`, `http SERVER`, `sse SERVER`, `community MODULE`. */
  readonly from: string;
  readonly permissions: readonly ListedPermission[];
  /** Whether `allowed_tools` lets the agent call it. */
  readonly allowed: boolean;
  readonly approval: boolean;
  readonly idempotent: boolean;
  readonly description: string;
}

export interface ListedPermission {
  readonly name: string;
  readonly required: boolean;
  /** Null where there is no agent to be granted it. */
  readonly granted: boolean | null;
}

/** @param definition null for the tools of the runtime */
export function listTools(
  { tools }: Pick<FoundTools, "tools">,
  definition: AgentDefinition | null,
): readonly ListedTool[] {
  const rails = definition?.spec.guardrail_config.tool_rails;
  const { allowed_tools: allowed = "all", require_approval: asked = [] } = rails ?? {};
  return [...tools.values()].map(({ tool, source }) => {
    const { name, description, permissions, requires_approval, execution } = tool.definition;
    return {
      name,
      from: originOf(tool, source),
      permissions: permissions.map((one) => ({
        name: one.name,
        required: one.required,
        granted: definition === null ? null : isGranted(one.name, definition.spec.permissions),
      })),
      allowed: allowed === "all" || allowed.includes(name),
      approval: requires_approval || asked === "all" || asked.includes(name),
      idempotent: execution.idempotent,
      description,
    };
  });
}

function originOf({ definition: { transport } }: AgentTool, { kind, name }: ToolSource): string {
  if (kind === "package") return `community ${name}`;
  return "server" in transport ? `${transport.type} ${transport.server}` : transport.type;
}
