import type { AgentTool } from "../definition/tool/tool.ts";
import { StratagraphError } from "../errors.ts";
import type { ModelTool } from "../models/agent-model.ts";
import { nearestName } from "../nearest-name.ts";

/** Two tools of one registry have the same name. */
export class ToolClashError extends StratagraphError {
  readonly code = "tool_clash";

  /** `tool` is the name; `servers` are the MCP servers that list it. */
  constructor(
    readonly tool: string,
    readonly servers: readonly string[] = [],
  ) {
    const [first, ...others] = servers;
    const who =
      first === undefined
        ? `Two tools are named "${tool}".`
        : others.length === 0
          ? `Server "${first}" lists a tool "${tool}", and there is another tool of that name.`
          : `The servers ${servers.map((name) => `"${name}"`).join(" and ")} both list a tool "${tool}".`;
    const what =
      first === undefined
        ? "Rename one of them, or leave one out."
        : "Give a server a prefix, or name in its `tools` those that are to be used.";
    super(`${who} ${what}`);
  }
}

/** A name that no tool of the registry has. */
export class UnknownToolError extends StratagraphError {
  readonly code = "unknown_tool";
  readonly suggestion: string | undefined;

  /** `toolName` was asked for; `known` are all names that there are. */
  constructor(
    readonly toolName: string,
    readonly known: readonly string[],
  ) {
    const suggestion = nearestName(toolName, known);
    super(unknownToolMessage(toolName, known, suggestion));
    this.suggestion = suggestion;
  }
}

/** What is said of a tool that does not exist, to people and to models. */
export function unknownToolMessage(
  name: string,
  known: readonly string[],
  suggestion = nearestName(name, known),
): string {
  const meant = suggestion === undefined ? "" : ` Did you mean "${suggestion}"?`;
  const there = known.length === 0 ? "There are no tools." : `Tools: ${known.join(", ")}.`;
  return `There is no tool "${name}".${meant} ${there}`;
}

/** Tools by name. Never changes. */
export interface ToolRegistry {
  get(name: string): AgentTool | undefined;
  /** In the order in which the tools were given. */
  names(): readonly string[];
  /**
   * In the order of `names`.
   * @throws UnknownToolError for the first name that is not there.
   */
  resolve(names: readonly string[]): readonly AgentTool[];
}

function serverOf({ definition: { transport } }: AgentTool): readonly string[] {
  return "server" in transport ? [transport.server] : [];
}

/** @throws ToolClashError */
export function createToolRegistry(tools: readonly AgentTool[]): ToolRegistry {
  const byName = new Map<string, AgentTool>();
  for (const tool of tools) {
    const { name } = tool.definition;
    const other = byName.get(name);
    if (other !== undefined) throw new ToolClashError(name, [other, tool].flatMap(serverOf));
    byName.set(name, tool);
  }
  const names: readonly string[] = Object.freeze([...byName.keys()]);
  return {
    get: (name) => byName.get(name),
    names: () => names,
    resolve: (wanted) =>
      wanted.map((name) => {
        const tool = byName.get(name);
        if (tool === undefined) throw new UnknownToolError(name, names);
        return tool;
      }),
  };
}

/** Returns a tool as described to a model. */
export function toModelTool(tool: AgentTool): ModelTool {
  const { name, description, input_schema } = tool.definition;
  return { name, description, input_schema };
}

/** A package that a tool of `@langchain/community` needs is not installed. */
export class CommunityPackageError extends StratagraphError {
  readonly code = "community_package";

  constructor(
    readonly tool: string,
    readonly packageName: string,
    options?: { cause?: unknown },
  ) {
    super(
      `The community tool "${tool}" needs the package ${packageName}, which is not installed. Run: npm install ${packageName}`,
      options,
    );
  }
}

/** There is no such tool in `@langchain/community`, or it cannot be made with the options it was given. */
export class CommunityToolError extends StratagraphError {
  readonly code = "community_tool";

  constructor(
    readonly tool: string,
    problem: string,
  ) {
    super(`Community tool "${tool}": ${problem}`);
  }
}
