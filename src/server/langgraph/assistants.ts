import { z } from "zod";
import { InvalidDefinitionError } from "../../definition/check/problems.ts";
import type { AgentFilter, FoundAgent } from "../../storage/platform/agent-search.ts";
import type { Agents } from "../../storage/platform/agents.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import { isRecord } from "../../values/json.ts";
import { HttpProblem } from "../problems.ts";

const empty = z.strictObject({});

const version = {
  assistant_id: z.string(),
  graph_id: z.string().describe("Name of the agent."),
  version: z.int().describe("Place of the version among those of the agent, from 1."),
  name: z.string().describe("Name of the agent."),
  description: z.string().nullable(),
  config: empty.describe("Always empty: an agent has its settings in its definition."),
  context: empty.describe("Always empty."),
  metadata: z.strictObject({
    created_by: z.literal("system"),
    agent_version: z.string().describe("Semantic version of the definition."),
  }),
  created_at: z.iso.datetime(),
};
const assistant = { ...version, updated_at: z.iso.datetime() };

export const assistantSchema = z.strictObject(assistant).meta({ id: "Assistant" });
/** Search answers with the keys that the caller selects. */
export const selectedSchema = z.strictObject(assistant).partial().meta({ id: "SelectedAssistant" });
export const versionSchema = z.strictObject(version).meta({ id: "AssistantVersion" });

type Version = z.output<typeof versionSchema>;

/** Returns a version of an agent as a version of an assistant. */
export function versionOf(agent: FoundAgent): Version {
  return {
    assistant_id: agent.agentId,
    graph_id: agent.name,
    version: agent.number,
    name: agent.name,
    description: agent.description,
    config: {},
    context: {},
    metadata: { created_by: "system", agent_version: agent.version },
    created_at: agent.createdAt,
  };
}

/** Returns the active version of an agent as an assistant. */
export function assistantOf(agent: FoundAgent): z.output<typeof assistantSchema> {
  return { ...versionOf(agent), created_at: agent.agentCreatedAt, updated_at: agent.updatedAt };
}

/** Finds an active agent by its id or its name. @throws NotFoundError */
export async function findAssistant(
  agents: Pick<Agents, "searches">,
  tenantId: string,
  idOrName: string,
): Promise<FoundAgent> {
  const found = await agents.searches.find(tenantId, { idOrName });
  if (found === undefined) throw new NotFoundError("assistant", idOrName);
  return found;
}

export const metadataSchema = z.record(z.string().max(200), z.unknown());

const filter = {
  metadata: metadataSchema.optional(),
  graph_id: z.string().max(1000).optional().describe("Assistants of this graph."),
  name: z.string().max(1000).optional().describe("Part of the name, in letters of either case."),
};
export const countSchema = z.object(filter);
export const searchSchema = z.object({
  ...filter,
  limit: z.int().min(1).max(1000).default(10),
  offset: z.int().min(0).max(1_000_000_000).default(0),
  sort_by: z.enum(["assistant_id", "graph_id", "name", "created_at", "updated_at"]).optional(),
  sort_order: z.enum(["asc", "desc"]).optional().describe("Default desc."),
  select: z.array(z.string().max(100)).max(50).optional().describe("Keys of the answer."),
});

/** Returns the filter of a search; null if no assistant fits. */
export function filterOf(body: z.output<typeof countSchema>): AgentFilter | null {
  const { metadata = {}, graph_id: graphId, name } = body;
  const ofMetadata = metadataFilter(metadata);
  if (ofMetadata === null) return null;
  return {
    ...ofMetadata,
    ...(graphId !== undefined && { name: graphId }),
    ...(name !== undefined && { namePart: name }),
  };
}

/** Returns the version that a filter of metadata asks for; null if no assistant has such metadata. */
export function metadataFilter(
  metadata: Readonly<Record<string, unknown>>,
): Pick<AgentFilter, "version"> | null {
  const { created_by: by = "system", agent_version: wanted, ...others } = metadata;
  if (by !== "system" || Object.keys(others).length > 0) return null;
  if (wanted === undefined) return {};
  return typeof wanted === "string" ? { version: wanted } : null;
}

const configSchema = z.looseObject({ configurable: metadataSchema.optional() });

const change = {
  config: configSchema
    .optional()
    .describe(
      "`configurable.definition` is the definition of an agent; no other setting is taken.",
    ),
  context: z.unknown().optional(),
  metadata: metadataSchema.optional(),
  name: z.string().max(1000).optional(),
  description: z.string().max(4000).optional(),
};
export const createSchema = z.object({
  ...change,
  graph_id: z.string().min(1).max(1000).describe("Name of the agent."),
  assistant_id: z.string().max(100).optional(),
  if_exists: z.enum(["raise", "do_nothing"]).default("raise"),
});
export const patchSchema = z.object({ ...change, graph_id: z.string().max(1000).optional() });

/** Returns the definition in the settings of an assistant; undefined if there is none. */
export function definitionIn(body: z.output<typeof patchSchema>): unknown {
  return body.config?.configurable?.["definition"];
}

/**
 * Refuses settings that belong to an assistant of its own over the graph of an agent: each agent has one assistant.
 *
 * @throws HttpProblem `invalid_input` with a pointer for each setting
 */
export function refuseOwnSettings(
  body: z.output<typeof patchSchema>,
  agent: { readonly name: string; readonly metadata: Readonly<Record<string, unknown>> },
): void {
  const { config: { configurable = {}, ...config } = {}, context, metadata = {}, name } = body;
  const { definition: _definition, ...configured } = configurable;
  const hasContext = isRecord(context) ? Object.keys(context).length > 0 : context != null;
  const isOther = Object.entries(metadata).some(([key, value]) => agent.metadata[key] !== value);
  const pointers = [
    ...Object.keys(configured).map((key) => ["config", "configurable", key]),
    ...Object.keys(config).map((key) => ["config", key]),
    ...(hasContext ? [["context"]] : []),
    ...(isOther ? [["metadata"]] : []),
    ...(name !== undefined && name !== agent.name ? [["name"]] : []),
  ];
  if (pointers.length === 0) return;
  throw ownSettings(pointers);
}

/** The problem of settings for an assistant of its own. */
export function ownSettings(paths: readonly (readonly string[])[]): HttpProblem {
  return new HttpProblem("invalid_input", {
    detail:
      "Each agent is one assistant, with the settings of its definition. Create another agent, or pass config and context with each run.",
    errors: paths.map((path) => ({
      pointer: path
        .map((key) => `/${key.slice(0, 100).replaceAll("~", "~0").replaceAll("/", "~1")}`)
        .join(""),
      detail: "not a setting of an assistant here",
    })),
  });
}

/** Runs `work`, whose problems of a definition get the place of the definition in the body. */
export async function withDefinitionPath<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof InvalidDefinitionError)) throw thrown;
    const at = ["config", "configurable", "definition"];
    throw new InvalidDefinitionError(
      thrown.problems.map((problem) => ({ ...problem, path: [...at, ...problem.path] })),
    );
  }
}
