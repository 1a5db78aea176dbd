import type { CompileServices } from "../../compile/compile-agent.ts";
import { NoToolServersError } from "../../compile/errors.ts";
import { memoryToolsOf } from "../../compile/memory/memory-tools.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { toolSelectionSchema } from "../../definition/schema/agent.ts";
import { isDataTool } from "../../definition/schema/data-tools.ts";
import { withSampleInputs } from "../../definition/tool/request-template.ts";
import { type AgentTool, isGranted } from "../../definition/tool/tool.ts";
import { StratagraphError } from "../../errors.ts";
import { createHttpTool } from "../../tools/http-tool.ts";
import { createToolRegistry, ToolClashError } from "../../tools/registry.ts";
import type { SelectedTool } from "../../tools/selection/select-tools.ts";
import { canonicalJson } from "../../values/json.ts";

/** Where tools of a definition come from: one entry of its `tools`, or the code that came with it. */
export interface ToolSource {
  readonly kind: "inline" | "registry" | "server" | "package" | "http";
  /** Of the tool, the server, or the module of the package; empty for what came with the definition. */
  readonly name: string;
  readonly tools: readonly AgentTool[];
  /** What a server lists and cannot be used, or not as it is. */
  readonly notes: readonly string[];
  /** Why it gives no tools; null where it does. */
  readonly error: StratagraphError | null;
  /** Milliseconds that it took. */
  readonly elapsedMs: number;
}

export interface FoundTool {
  readonly tool: AgentTool;
  readonly source: ToolSource;
}

export interface FoundTools {
  /** By name, in the definition's order; of two of one name the first. */
  readonly tools: ReadonlyMap<string, FoundTool>;
  readonly sources: readonly ToolSource[];
  readonly clashes: readonly ToolClashError[];
}

type ToolServices = Pick<
  CompileServices,
  "tools" | "servers" | "communityTool" | "httpAllow" | "clock"
>;

type ToolEntry = AgentDefinition["spec"]["tools"][number];

/**
 * All tools of a definition that can be had, and what is wrong with the others. Its servers are started.
 *
 * @param asked servers and packages that were asked for another definition, which are not asked again; added to
 */
export async function findTools(
  definition: AgentDefinition,
  services: ToolServices,
  asked = new Map<string, Promise<ToolSource>>(),
): Promise<FoundTools> {
  const inline = createToolRegistry(definition.tools);
  const own = { kind: "inline", name: "", tools: definition.tools } as const;
  const memory = memoryToolsOf(definition, services.tools);
  const isMemory = (name: string) => memory.some((tool) => tool.definition.name === name);
  const entries = definition.spec.tools.filter(
    (entry) => typeof entry !== "string" || (inline.get(entry) === undefined && !isMemory(entry)),
  );
  const askOnce = (entry: ToolEntry): Promise<ToolSource> => {
    const key = canonicalJson(entry);
    const source = asked.get(key) ?? sourceOf(entry, services);
    asked.set(key, source);
    return source;
  };
  const sources = [
    ...(definition.tools.length === 0 ? [] : [{ ...own, notes: [], error: null, elapsedMs: 0 }]),
    ...(await Promise.all(entries.map(askOnce))),
    ...(memory.length === 0
      ? []
      : [
          {
            kind: "registry",
            name: "memory",
            tools: memory,
            notes: [],
            error: null,
            elapsedMs: 0,
          } as const,
        ]),
  ];
  return { sources, ...merged(sources) };
}

/** The tools of the runtime: its builtins, and those that were given to it. */
export function registryTools({ tools: registry }: Pick<CompileServices, "tools">): FoundTools {
  const sources = registry.names().map((name): ToolSource => {
    const tools = registry.resolve([name]);
    return { kind: "registry", name, tools, notes: [], error: null, elapsedMs: 0 };
  });
  return { sources, ...merged(sources) };
}

/** What is wrong with the tools: sources that give none, and names that two have. */
export function toolProblems({ sources, clashes }: FoundTools): readonly StratagraphError[] {
  return [...sources.flatMap(({ error }) => error ?? []), ...clashes];
}

async function sourceOf(entry: ToolEntry, services: ToolServices): Promise<ToolSource> {
  const { clock } = services;
  const startedAt = clock.monotonic();
  const about = {
    kind: kindOf(entry),
    name: nameOf(entry),
  } as const;
  try {
    const { tools, problems: notes } = await offeredBy(entry, services);
    return { ...about, tools, notes, error: null, elapsedMs: clock.monotonic() - startedAt };
  } catch (error) {
    if (!(error instanceof StratagraphError)) throw error;
    return { ...about, tools: [], notes: [], error, elapsedMs: clock.monotonic() - startedAt };
  }
}

function kindOf(entry: ToolEntry): ToolSource["kind"] {
  if (typeof entry === "string") return "registry";
  if (isDataTool(entry)) return "http";
  return "mcp" in entry ? "server" : "package";
}

function nameOf(entry: ToolEntry): string {
  if (typeof entry === "string") return entry;
  if (isDataTool(entry)) return entry.name;
  return "mcp" in entry ? entry.mcp.name : entry.community.tool;
}

async function offeredBy(
  entry: ToolEntry,
  { tools, servers, communityTool, httpAllow }: ToolServices,
): Promise<{ readonly tools: readonly AgentTool[]; readonly problems: readonly string[] }> {
  if (typeof entry === "string") return { tools: tools.resolve([entry]), problems: [] };
  if ("mcp" in entry) {
    if (servers === undefined) throw new NoToolServersError(entry.mcp.name);
    return servers.connect(entry.mcp);
  }
  if (isDataTool(entry)) {
    return { tools: [await createHttpTool(entry, { httpAllow })], problems: [] };
  }
  if (communityTool === undefined) throw new NoToolServersError(entry.community.tool);
  return { tools: [await communityTool(entry.community)], problems: [] };
}

function merged(sources: readonly ToolSource[]): Pick<FoundTools, "tools" | "clashes"> {
  const tools = new Map<string, FoundTool>();
  const clashes: ToolClashError[] = [];
  for (const source of sources) {
    for (const tool of source.tools) {
      const { name } = tool.definition;
      const first = tools.get(name);
      if (first === undefined) tools.set(name, { tool, source });
      else clashes.push(new ToolClashError(name, [first.source, source].flatMap(serverOf)));
    }
  }
  return { tools, clashes };
}

function serverOf({ kind, name }: ToolSource): readonly string[] {
  return kind === "server" ? [name] : [];
}

/** A tool as `stratagraph tools list` prints it. */
export interface ListedTool {
  readonly name: string;
  /** For people; null if the tool has no other name. */
  readonly display_name: string | null;
  /** `builtin`, `function`, `stdio SERVER`, `http SERVER`, `sse SERVER`, `community MODULE`, `GET HOST`. */
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
      display_name: tool.definition.display_name ?? null,
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
  if ("method" in transport)
    return `${transport.method} ${new URL(withSampleInputs(transport.endpoint)).host}`;
  return "server" in transport ? `${transport.type} ${transport.server}` : transport.type;
}

/** How well tools suit a task. */
export interface ToolRanking {
  readonly task: string;
  /** Best first, all of them; `offered` says which a step would be offered. */
  readonly ranked: readonly (SelectedTool & { readonly offered: boolean })[];
  /** Names of the tools that the agent lacks a permission for. */
  readonly refused: readonly string[];
  /** With more tools than `above`, a step is offered `topK` at most, and none under `minScore`. */
  readonly above: number;
  readonly topK: number;
  readonly minScore: number;
}

/**
 * Scores the tools that the agent may call as a run without history does.
 *
 * @param definition null for the tools of the runtime, all of whose permissions count as granted
 * @throws EmbeddingError
 */
export async function rankTools(
  task: string,
  { tools }: Pick<FoundTools, "tools">,
  of: {
    readonly definition: AgentDefinition | null;
    readonly services: Pick<CompileServices, "embeddings" | "clock">;
    readonly signal: AbortSignal;
  },
): Promise<ToolRanking> {
  const { definition, services, signal } = of;
  const spec = definition?.spec;
  const { above, top_k, min_score, weights } =
    spec?.tool_selection ?? toolSelectionSchema.parse({});
  const allowed = spec?.guardrail_config.tool_rails.allowed_tools ?? "all";
  const candidates = [...tools.values()]
    .map(({ tool }) => tool)
    .filter((tool) => allowed === "all" || allowed.includes(tool.definition.name));
  const { selectTools } = await import("../../tools/selection/select-tools.ts");
  const { selected, considered, refused } = await selectTools({
    task,
    tools: candidates,
    permissions: spec?.permissions ?? ["*"],
    topK: Math.max(1, candidates.length),
    minScore: 0,
    weights,
    embeddings: services.embeddings,
    now: services.clock.now(),
    signal,
  });
  const isAll = considered + refused.length <= above;
  const ranked = selected.map((tool, rank) => {
    return { ...tool, offered: isAll || (rank < top_k && tool.score >= min_score) };
  });
  return { task, ranked, refused, above, topK: top_k, minScore: min_score };
}
