import type { AgentDefinition } from "../definition/agent-definition.ts";
import { type AgentTool, intersectGrants } from "../definition/tool/tool.ts";
import { isAllowed, missingPermissions } from "../tools/admit-call.ts";

/** The reason why calls of a tool are refused. */
export interface ToolRefusal {
  /** The agent that sets the bound: the agent itself, or an outer one. */
  readonly agent: string;
  readonly by: "allowed_tools" | "permissions";
  /** Permissions that are not granted; empty for `allowed_tools`. */
  readonly missing: readonly string[];
}

/** A tool of an agent and its bounds. */
export interface BoundedTool {
  readonly name: string;
  /** Empty if calls are allowed. Outermost agent first. */
  readonly refusals: readonly ToolRefusal[];
  /** The agents, outermost first, or the tool itself (`tool`), that require approval of its calls. */
  readonly approval: readonly {
    readonly agent: string;
    readonly by: "require_approval" | "tool";
  }[];
}

/** The effective bounds of a nested agent: those of every outer agent and of its own definition. */
export interface EffectiveBounds {
  /** Names of the outer agents, outermost first, and of the agent itself. */
  readonly agents: readonly string[];
  readonly allowed: readonly string[] | "all";
  readonly approval: readonly string[] | "all";
  readonly permissions: readonly string[];
  /** Call limits per turn of each of these agents, shared by all nested calls. Outermost first. */
  readonly limits: readonly { readonly agent: string; readonly maxCalls: number }[];
  /** Argument rules, including those of outer agents. Outermost first. */
  readonly rules: readonly { readonly agent: string; readonly tool: string }[];
  /** Its tools that are known without starting servers. */
  readonly tools: readonly BoundedTool[];
  /** Whether servers and packages add more tools. */
  readonly hasOthers: boolean;
}

/** Maximum number of entries listed; an agent may be nested in very many others. */
const mostEntries = 200;

/**
 * Returns the bounds of an agent and of every agent that came with it, which nodes, planners or tool handlers run. An
 * agent that is reached several times with the same bounds is listed once.
 *
 * @param toolOf returns a tool by name, as resolved for the definition that names it
 */
export function effectiveBounds(
  root: AgentDefinition,
  toolOf: (name: string, definition: AgentDefinition) => AgentTool | undefined,
): { readonly bounds: readonly EffectiveBounds[]; readonly isWhole: boolean } {
  const bounds: EffectiveBounds[] = [];
  const seen = new Map<AgentDefinition, Set<string>>();
  let isWhole = true;
  const visit = (way: readonly AgentDefinition[]): void => {
    const definition = way.at(-1) as AgentDefinition;
    const { tools, ...made } = boundsOf(way, toolOf);
    const { agents: _way, ...key } = made;
    const known = seen.get(definition) ?? new Set();
    seen.set(definition, known);
    const text = JSON.stringify(key);
    if (known.has(text)) return;
    if (bounds.length === mostEntries) {
      isWhole = false;
      return;
    }
    known.add(text);
    bounds.push({ ...made, tools });
    for (const inside of new Set(definition.agents.values())) visit([...way, inside]);
  };
  visit([root]);
  return { bounds, isWhole };
}

function boundsOf(
  way: readonly AgentDefinition[],
  toolOf: (name: string, definition: AgentDefinition) => AgentTool | undefined,
): EffectiveBounds {
  const definition = way.at(-1) as AgentDefinition;
  const specs = way.map(({ spec }) => ({ spec, rails: spec.guardrail_config.tool_rails }));
  const own = definition.spec.tools.filter((entry) => typeof entry === "string");
  const names = new Set([...definition.tools.map((tool) => tool.definition.name), ...own]);
  return {
    agents: specs.map(({ spec }) => spec.name),
    allowed: common(specs.map(({ rails }) => rails.allowed_tools)),
    approval: joined(specs.map(({ rails }) => rails.require_approval)),
    permissions: specs
      .map(({ spec }): readonly string[] => spec.permissions)
      .reduce(intersectGrants),
    limits: specs.flatMap(({ spec, rails: { max_calls_per_turn: maxCalls } }) =>
      maxCalls === undefined ? [] : [{ agent: spec.name, maxCalls }],
    ),
    rules: specs.flatMap(({ spec, rails }) =>
      rails.rules
        .filter(({ tool }) => names.has(tool))
        .map(({ tool }) => ({ agent: spec.name, tool })),
    ),
    hasOthers: own.length < definition.spec.tools.length,
    tools: [...names].map((name) => boundedTool(name, way, toolOf(name, definition))),
  };
}

function boundedTool(
  name: string,
  way: readonly AgentDefinition[],
  tool: AgentTool | undefined,
): BoundedTool {
  const specs = way.map(({ spec }) => ({ spec, rails: spec.guardrail_config.tool_rails }));
  const refusals = specs.flatMap(({ spec, rails }): readonly ToolRefusal[] => {
    const { name: agent, permissions } = spec;
    const missing = tool === undefined ? [] : missingPermissions(tool, permissions);
    return [
      ...(isAllowed(name, { allowed: rails.allowed_tools })
        ? []
        : [{ agent, by: "allowed_tools", missing: [] } as const]),
      ...(missing.length === 0 ? [] : [{ agent, by: "permissions", missing } as const]),
    ];
  });
  const asking = specs.flatMap(({ spec, rails: { require_approval: required } }) =>
    required === "all" || required.includes(name)
      ? [{ agent: spec.name, by: "require_approval" } as const]
      : [],
  );
  const agent = way.at(-1)?.spec.name ?? "";
  const itself =
    tool?.definition.requires_approval === true ? [{ agent, by: "tool" } as const] : [];
  return { name, refusals, approval: [...asking, ...itself] };
}

type Names = readonly string[] | "all";

function common(lists: readonly Names[]): Names {
  return lists.reduce((all, one) => {
    if (one === "all") return all;
    return all === "all" ? one : all.filter((name) => one.includes(name));
  }, "all");
}

function joined(lists: readonly Names[]): Names {
  if (lists.includes("all")) return "all";
  return [...new Set(lists.flat())];
}
