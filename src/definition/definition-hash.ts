import { diffValues, type ValueChange } from "../values/diff.ts";
import { canonicalHash, isRecord } from "../values/json.ts";
import type { AgentDefinition } from "./agent-definition.ts";
import { hashedSpec, type HashedSpec, normalizeTool } from "./build-definition.ts";
import { type AgentSpec, agentSpecSchema } from "./schema/agent.ts";
import type { JsonSchema } from "./schema/json-schema.ts";
import type { AgentTool, ToolDefinition } from "./tool/tool.ts";
import { describedWorkers } from "./worker.ts";

/**
 * All of an agent that is data, with what its names stand for: what a run was made under. JSON Schemas in it have no
 * `default`s. Code (handlers, initialisers,
 * `validate`) cannot be compared and is not in it; the version of a tool says that its handler has changed.
 */
export interface DefinitionDocument {
  readonly spec: HashedSpec;
  /** Those of the registry too, by name. */
  readonly tools: Readonly<Record<string, ToolDefinition>>;
  /** The schemas of the tiers, where there are any. */
  readonly state: { readonly execution?: JsonSchema; readonly attempt?: JsonSchema };
  /** The agents of nodes, by the name or path that the nodes give. */
  readonly agents: Readonly<Record<string, DefinitionDocument>>;
  /** What its workers of code are good at, by name; absent where there are none. */
  readonly workers?: Readonly<Record<string, string>>;
}

/** A definition as it was compiled. */
export interface DefinitionStamp {
  /** SHA-256 (hex) of the document's canonical JSON: the same for all documents that hold the same. */
  readonly hash: string;
  readonly document: DefinitionDocument;
}

/** @param resolved what the definition's names were found to stand for */
export function stampDefinition(
  { spec, behaviour, workers }: AgentDefinition,
  resolved: {
    readonly tools: Iterable<AgentTool>;
    readonly agents: ReadonlyMap<string, DefinitionStamp>;
  },
): DefinitionStamp {
  const { executionSchema, attemptSchema } = behaviour;
  const document: DefinitionDocument = {
    spec: specShape(spec),
    tools: Object.fromEntries(
      [...resolved.tools].map(({ definition }) => [definition.name, toolShape(definition)]),
    ),
    state: {
      ...(executionSchema && { execution: withoutDefaults(executionSchema.jsonSchema) }),
      ...(attemptSchema && { attempt: withoutDefaults(attemptSchema.jsonSchema) }),
    },
    agents: Object.fromEntries([...resolved.agents].map(([name, stamp]) => [name, stamp.document])),
    ...(workers.length > 0 && { workers: describedWorkers(workers) }),
  };
  return { document, hash: canonicalHash(document) };
}

/**
 * A document that was stored, as it would be made today: what a spec or a tool lacks has its default, agents inside
 * included. A spec that is none today stays as it is.
 */
export function normalizeDocument(stored: unknown): unknown {
  if (!isRecord(stored)) return stored;
  const spec = agentSpecSchema.safeParse(stored["spec"]);
  const { tools, state, agents } = stored;
  return {
    ...stored,
    ...(spec.success && { spec: specShape(spec.data) }),
    ...(isRecord(tools) && {
      tools: mapValues(tools, (tool) => toolShape(isRecord(tool) ? normalizeTool(tool) : tool)),
    }),
    ...(isRecord(state) && { state: mapValues(state, withoutDefaults) }),
    ...(isRecord(agents) && { agents: mapValues(agents, normalizeDocument) }),
  };
}

/** Whether a document is the one that was stamped. */
export function isStamped(document: unknown, { hash }: DefinitionStamp): boolean {
  return canonicalHash(document) === hash;
}

function specShape(spec: AgentSpec): HashedSpec {
  const { workflow_graph: graph } = spec;
  return {
    ...hashedSpec(spec),
    input_schema: withoutDefaults(spec.input_schema),
    output_schema: withoutDefaults(spec.output_schema),
    ...(graph && { workflow_graph: { ...graph, nodes: graph.nodes.map(nodeShape) } }),
  };
}

type WorkflowNode = NonNullable<AgentSpec["workflow_graph"]>["nodes"][number];

function nodeShape(node: WorkflowNode): WorkflowNode {
  switch (node.type) {
    case "llm": {
      if (!node.config.output_schema) return node;
      const output_schema = withoutDefaults(node.config.output_schema);
      return { ...node, config: { ...node.config, output_schema } };
    }
    case "human": {
      if (!node.config.schema) return node;
      const schema = withoutDefaults(node.config.schema);
      return { ...node, config: { ...node.config, schema } };
    }
    case "tool":
    case "router":
    case "agent":
    case "planner":
      return node;
  }
}

function toolShape<Tool>(tool: Tool): Tool {
  if (!isRecord(tool)) return tool;
  const { input_schema, output_schema } = tool;
  return {
    ...tool,
    input_schema: withoutDefaults(input_schema),
    ...(output_schema !== undefined && { output_schema: withoutDefaults(output_schema) }),
  };
}

function mapValues(
  values: Readonly<Record<string, unknown>>,
  map: (value: unknown) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}

/** Keywords whose value is a schema, or a list of schemas. */
const ofSchemas = new Set([
  "additionalItems",
  "additionalProperties",
  "allOf",
  "anyOf",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "oneOf",
  "prefixItems",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** Keywords whose value maps free names to schemas. */
const ofNamedSchemas = new Set([
  "$defs",
  "definitions",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);

/**
 * A JSON Schema without its `default`s. They may be made anew whenever a zod schema is read, as the time of day is, and
 * they say nothing of what is valid. What only looks like one stays: a property of that name, and data.
 * What is no object is returned as it is.
 */
export function withoutDefaults<Schema>(schema: Schema): Schema {
  if (!isRecord(schema)) return schema;
  const kept = Object.entries(schema).filter(([keyword]) => keyword !== "default");
  return Object.fromEntries(
    kept.map(([keyword, value]) => [keyword, withoutDefaultsIn(keyword, value)]),
  ) as Schema;
}

function withoutDefaultsIn(keyword: string, value: unknown): unknown {
  if (ofSchemas.has(keyword)) {
    return Array.isArray(value)
      ? value.map((one: unknown) => withoutDefaults(one))
      : withoutDefaults(value);
  }
  if (!ofNamedSchemas.has(keyword) || !isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, schema]) => [name, withoutDefaults(schema)]),
  );
}

/** One difference between two definitions. */
export type DefinitionChange = ValueChange;

/** Differences that are listed. */
const maxListed = 100;

/**
 * How a definition differs from an earlier one, part by part: `tools.send: removed {…}`,
 * `workflow_graph.nodes[ask].config.prompt: "May I?" → "Go on?"`. What the spec says comes first, without a path in
 * front of it. Equal definitions have no difference.
 *
 * @param before a document that was stored; anything that is none is one change
 */
export function definitionChanges(before: unknown, after: unknown): readonly DefinitionChange[] {
  const { changes } = diffValues(flat(before), flat(after), { limit: maxListed });
  return changes;
}

/** The spec's keys, `agents` and `state`; the tools' definitions replace their names. */
function flat(document: unknown): unknown {
  if (!isRecord(document) || !isRecord(document["spec"])) return document;
  const { spec, tools, state, agents, workers } = document;
  const { tools: listed, ...rest } = spec;
  const servers = (Array.isArray(listed) ? listed : []).filter((tool) => typeof tool !== "string");
  return {
    ...rest,
    tools,
    ...(servers.length > 0 && { servers }),
    state,
    agents: isRecord(agents)
      ? Object.fromEntries(Object.entries(agents).map(([name, inner]) => [name, flat(inner)]))
      : agents,
    ...(workers !== undefined && { workers }),
  };
}
