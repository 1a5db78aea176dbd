import type { AgentDefinition } from "../../../definition/agent-definition.ts";
import { isDataTool } from "../../../definition/schema/data-tools.ts";
import type { AgentTool } from "../../../definition/tool/tool.ts";
import type { AgentEvent } from "../../../state/events.ts";
import type { ToolResult } from "../../../state/step-record.ts";

/** A call as views show it, with its tool's name for people. */
export type TitledResult = ToolResult & { readonly display_name?: string };

/** Names of tools for people, by their names. */
export type ToolTitles = ReadonlyMap<string, string>;

/**
 * Returns the display names of the tools that an agent, its nested agents and the runtime have without starting servers.
 * Where several agents have a tool of one name, the outermost counts.
 *
 * @param registered the tools of the runtime
 */
export function toolTitles(
  definition: AgentDefinition,
  registered: readonly AgentTool[],
): ToolTitles {
  const titles = new Map<string, string>();
  const seen = new Set<AgentDefinition>();
  const add = (name: string, title: string | undefined) => {
    if (title !== undefined && !titles.has(name)) titles.set(name, title);
  };
  const visit = (agent: AgentDefinition): void => {
    if (seen.has(agent)) return;
    seen.add(agent);
    for (const tool of agent.tools) add(tool.definition.name, tool.definition.display_name);
    for (const entry of agent.spec.tools)
      if (isDataTool(entry)) add(entry.name, entry.display_name);
    agent.agents.forEach(visit);
  };
  visit(definition);
  for (const tool of registered) add(tool.definition.name, tool.definition.display_name);
  return titles;
}

/** Adds a tool's display name to the event of its result. */
export function withTitle(event: AgentEvent, titles: ToolTitles): AgentEvent {
  if (event.type !== "tool_result") return event;
  const title = titles.get(event.result.name);
  if (title === undefined) return event;
  const result: TitledResult = { ...event.result, display_name: title };
  return { ...event, result };
}

/** Returns ` (Order lookup)` for `get_order`; empty if the display name has the same letters and digits as the name. */
export function titleSuffix(name: string, title: string | null | undefined): string {
  const bare = (text: string) => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
  return title == null || bare(title) === bare(name) ? "" : ` (${title})`;
}
