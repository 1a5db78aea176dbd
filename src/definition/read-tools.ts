import { defineInlineTool, InvalidToolError, type InlineToolOptions } from "./define-tool.ts";
import { fromLangChainTool, isLangChainTool } from "./langchain-tool.ts";
import { showFound } from "./problems.ts";
import type { AgentTool } from "./tool.ts";

/** The entries that the definition lists: names, servers and packages; and the tools that came with their code. */
export function readTools(given: unknown): {
  readonly names: readonly unknown[];
  readonly tools: readonly AgentTool[];
} {
  if (given === undefined) return { names: [], tools: [] };
  if (Array.isArray(given)) {
    const tools = (given as unknown[]).map((tool) =>
      isLangChainTool(tool) ? fromLangChainTool(tool) : tool,
    );
    return {
      names: tools.map((tool) => (isAgentTool(tool) ? tool.definition.name : tool)),
      tools: tools.filter(isAgentTool),
    };
  }
  if (typeof given !== "object" || given === null) return { names: [], tools: [] };
  const entries = Object.entries(given as Record<string, InlineToolOptions<never, never, never>>);
  return {
    names: entries.map(([name]) => name),
    tools: entries.map(([name, options]) => inlineTool(name, options)),
  };
}

function inlineTool(name: string, options: InlineToolOptions<never, never, never>): AgentTool {
  const given: unknown = options;
  const found =
    isAgentTool(given) || isLangChainTool(given)
      ? "a finished tool"
      : typeof given === "object" && given !== null && !Array.isArray(given)
        ? undefined
        : showFound(given);
  if (found === undefined) return defineInlineTool(name, options);
  throw new InvalidToolError(
    name,
    `expected its options, found ${found}; finished tools and names belong in otherTools or in a list`,
  );
}

function isAgentTool(value: unknown): value is AgentTool {
  const tool = value as Partial<AgentTool> | null;
  return (
    typeof tool === "object" &&
    tool !== null &&
    typeof tool.definition === "object" &&
    (tool.kind === "stateless" || tool.kind === "stateful")
  );
}
