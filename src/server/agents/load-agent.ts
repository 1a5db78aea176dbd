import type { CompileServices } from "../../compile/compile-agent.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { agentReferences } from "../../definition/check/agents.ts";
import { toolEntryName } from "../../definition/schema/data-tools.ts";
import type { LoadedAgent } from "../../engine/run-executor.ts";
import type { Agents, StoredAgent } from "../../storage/platform/agents.ts";
import type { StoredTool, ToolBinding, Tools } from "../../storage/platform/tools/tools.ts";
import type { ToolRegistry } from "../../tools/registry.ts";
import { RecentMap } from "../../values/recent-map.ts";
import { joinServers, toolEntry, toRegistered } from "../tools/tool-entry.ts";
import { type KnownNames, readStoredDefinition, type WrittenNames } from "./read-definition.ts";

/** Definitions that stay in memory with their compiled graphs, and versions of agents. */
const maxDefinitions = 500;
/** Characters of JSON of these definitions, and of these versions. */
const maxCharacters = 33_554_432;
/** Sets of agents that stay in memory for a runtime. */
const maxRegistries = 50;
/** The most agents that an agent reaches through its nodes. */
const maxAgents = 100;

export interface AgentStores {
  readonly agents: Pick<Agents, "getVersion" | "activeNamed">;
  readonly tools: Pick<Tools, "bindingsOf" | "named">;
}

/**
 * Loads versions of agents from their rows, with the tools that are bound to them and the agents that they name. The
 * rows of tools and agents are read for each run, so that a change takes effect at once in all processes. The same rows
 * give the same objects, which are compiled once.
 */
export class AgentLoader {
  readonly #versions = new RecentMap<string, StoredAgent>(maxDefinitions, maxCharacters);
  readonly #definitions = new RecentMap<string, AgentDefinition>(maxDefinitions, maxCharacters);
  readonly #services = new WeakMap<CompileServices, RecentMap<string, CompileServices>>();

  constructor(private readonly stores: AgentStores) {}

  /** @throws NotFoundError; InvalidDefinitionError if this version of the package no longer accepts it */
  readonly load = async (
    services: CompileServices,
    { tenantId, definitionId }: { readonly tenantId: string; readonly definitionId: string },
  ): Promise<LoadedAgent> => {
    const key = `${tenantId} ${definitionId}`;
    const root = this.#versions.get(key) ?? (await this.#version(tenantId, definitionId));
    const inside = await this.#agentsInside(tenantId, root);
    const tools = await this.#toolsOf(tenantId, [root, ...inside], services.tools);
    const { definition } = this.#assemble(tenantId, root, tools);
    if (inside.length === 0) return { definition, services };
    const agents = inside.map((agent) => this.#assemble(tenantId, agent, tools));
    return { definition, services: this.#servicesWith(services, agents) };
  };

  /** Which of the names in a written definition a tenant has. */
  async known(tenantId: string, names: WrittenNames, registry: ToolRegistry): Promise<KnownNames> {
    const others = names.tools.filter((name) => registry.get(name) === undefined);
    const [tools, agents] = await Promise.all([
      this.stores.tools.named(tenantId, others),
      this.stores.agents.activeNamed(tenantId, names.agents),
    ]);
    return {
      tools: new Map([
        ...tools.map(({ id, name }) => [id, name] as const),
        ...[...registry.names(), ...tools.map(({ name }) => name)].map(
          (name) => [name, name] as const,
        ),
      ]),
      agents: new Set(agents.map(({ name }) => name)),
    };
  }

  async #version(tenantId: string, definitionId: string): Promise<StoredAgent> {
    const version = await this.stores.agents.getVersion(tenantId, definitionId);
    const { length } = JSON.stringify(version.definition);
    this.#versions.set(`${tenantId} ${definitionId}`, version, length);
    return version;
  }

  /** The active versions of the agents that nodes name, and that those name. Unknown names are left to the compiler. */
  async #agentsInside(tenantId: string, root: StoredAgent): Promise<readonly StoredAgent[]> {
    const found = new Map<string, StoredAgent>();
    const asked = new Set<string>();
    let level: readonly StoredAgent[] = [root];
    while (level.length > 0 && found.size < maxAgents) {
      const names = level
        .flatMap(({ definition }) => agentReferences(definition).map(({ agent }) => agent))
        .filter((name) => !asked.has(name));
      if (names.length === 0) break;
      const wanted = [...new Set(names)].slice(0, maxAgents);
      for (const name of wanted) asked.add(name);
      level = await this.stores.agents.activeNamed(tenantId, wanted);
      for (const agent of level) found.set(agent.name, agent);
    }
    return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  async #toolsOf(
    tenantId: string,
    agents: readonly StoredAgent[],
    registry: ToolRegistry,
  ): Promise<TenantTools> {
    const names = agents
      .flatMap(({ definition }) => listedTools(definition))
      .filter((tool) => typeof tool === "string" && registry.get(tool) === undefined) as string[];
    const [bindings, named] = await Promise.all([
      this.stores.tools.bindingsOf(
        tenantId,
        agents.map(({ agentId }) => agentId),
      ),
      this.stores.tools.named(tenantId, [...new Set(names)]),
    ]);
    return { bindings, named: new Map(named.map((tool) => [tool.name, tool])), registry };
  }

  #assemble(tenantId: string, agent: StoredAgent, tools: TenantTools): Assembled {
    const used = usedTools(agent, tools);
    const ids = used.map((one) => ("tool" in one ? [one.tool.id, one.overrides] : null));
    const key = JSON.stringify([tenantId, agent.id, ...ids]);
    const known = this.#definitions.get(key);
    if (known !== undefined) return { key, definition: known };
    const document = withTools(agent.definition, used);
    const definition = readStoredDefinition(document);
    this.#definitions.set(key, definition, JSON.stringify(document).length);
    return { key, definition };
  }

  #servicesWith(services: CompileServices, agents: readonly Assembled[]): CompileServices {
    const known =
      this.#services.get(services) ?? new RecentMap<string, CompileServices>(maxRegistries);
    this.#services.set(services, known);
    const key = agents.map((agent) => agent.key).join(" ");
    const registry = new Map([
      ...(services.agents ?? []),
      ...agents.map(({ definition }) => [definition.spec.name, definition] as const),
    ]);
    const made = known.get(key) ?? { ...services, agents: registry };
    known.set(key, made);
    return made;
  }
}

interface TenantTools {
  /** Of all agents that are loaded. */
  readonly bindings: readonly ToolBinding[];
  /** Tools that the definitions name. */
  readonly named: ReadonlyMap<string, StoredTool>;
  /** Built-in tools and the operator's, which come before those of tenants. */
  readonly registry: ToolRegistry;
}

interface Assembled {
  /** The same for the same rows. */
  readonly key: string;
  readonly definition: AgentDefinition;
}

/** An entry of `tools`, or the registered tool that stands in its place. */
type UsedTool = { readonly entry: unknown } | Pick<ToolBinding, "tool" | "overrides">;

function listedTools(document: StoredAgent["definition"]): readonly unknown[] {
  const { tools } = document;
  return Array.isArray(tools) ? (tools as unknown[]) : [];
}

/** The entries of a definition, with registered tools for their names, and the bound tools that it does not name. */
function usedTools(
  { agentId, definition }: StoredAgent,
  { bindings, named, registry }: TenantTools,
): readonly UsedTool[] {
  const own = bindings.filter((binding) => binding.agentId === agentId);
  const bound = new Map(own.map((binding) => [binding.tool.name, binding]));
  const listed = listedTools(definition);
  const names = new Set(listed.map(toolEntryName));
  return [
    ...listed.flatMap((entry): readonly UsedTool[] => {
      if (typeof entry !== "string" || registry.get(entry) !== undefined) return [{ entry }];
      const binding = bound.get(entry);
      if (binding !== undefined) return binding.isEnabled ? [binding] : [];
      const tool = named.get(entry);
      return [tool === undefined ? { entry } : { tool, overrides: {} }];
    }),
    ...own.filter(({ tool, isEnabled }) => isEnabled && !names.has(tool.name)),
  ];
}

function withTools(
  document: StoredAgent["definition"],
  used: readonly UsedTool[],
): Readonly<Record<string, unknown>> {
  const registered = joinServers(
    used.flatMap((one) =>
      "tool" in one ? [toolEntry(toRegistered(one.tool), one.overrides)] : [],
    ),
  );
  if (registered.length === 0 && used.length === listedTools(document).length) return document;
  return {
    ...document,
    tools: [...used.flatMap((one) => ("entry" in one ? [one.entry] : [])), ...registered],
  };
}
