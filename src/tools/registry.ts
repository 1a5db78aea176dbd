import type { AgentTool } from "../definition/tool.ts";
import { StratagraphError } from "../errors.ts";
import { nearestName } from "../nearest-name.ts";

/** Two tools of one registry have the same name. */
export class ToolClashError extends StratagraphError {
  readonly code = "tool_clash";

  /** `tool` is the name. */
  constructor(readonly tool: string) {
    super(`Two tools are named "${tool}". Rename one of them, or leave one out.`);
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

/** @throws ToolClashError */
export function createToolRegistry(tools: readonly AgentTool[]): ToolRegistry {
  const byName = new Map<string, AgentTool>();
  for (const tool of tools) {
    const { name } = tool.definition;
    if (byName.has(name)) throw new ToolClashError(name);
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
