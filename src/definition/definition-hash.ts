import { diffValues, type ValueChange } from "../values/diff.ts";
import { canonicalHash, isRecord } from "../values/json.ts";
import type { AgentDefinition } from "./agent-definition.ts";
import { toHashedSpec, type HashedSpec, normalizeTool } from "./build-definition.ts";
import { type AgentSpec, agentSpecSchema, splitClientTools } from "./schema/agent.ts";
import { toolEntryName } from "./schema/data-tools.ts";
import type { JsonSchema } from "./schema/json-schema.ts";
import type { AgentTool, ToolDefinition } from "./tool/tool.ts";
import { workerDescriptions } from "./worker.ts";

/**
 * The data of an agent with all names resolved, which is stored with its runs. JSON Schemas in it have no `default`s.
 * Code (handlers, initialisers, `validate`) cannot be compared and is left out; a tool's version indicates changes to
 * its handler.
 */
export interface DefinitionDocument {
  readonly spec: HashedSpec;
  /** All tools by name, including those of the registry. */
  readonly tools: Readonly<Record<string, ToolDefinition>>;
  /** The state tiers' schemas, if any. */
  readonly state: { readonly execution?: JsonSchema; readonly attempt?: JsonSchema };
  /** The agents of nodes, by the name or path in the node. */
  readonly agents: Readonly<Record<string, DefinitionDocument>>;
  /** Descriptions of its code workers by name; absent if there are none. */
  readonly workers?: Readonly<Record<string, string>>;
}

/** The document of a compiled definition and its hash. */
export interface DefinitionStamp {
  /** SHA-256 (hex) of the document's canonical JSON: equal for equal documents. */
  readonly hash: string;
  readonly document: DefinitionDocument;
}

/** @param resolved the tools and agents that the definition's names resolve to */
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
    ...(workers.length > 0 && { workers: workerDescriptions(workers) }),
  };
  return { document, hash: canonicalHash(document) };
}

/**
 * Returns a stored document in the format of this version: keys missing from specs and tools get their defaults, in
 * nested agents too. A spec that this version no longer accepts stays unchanged.
 */
export function normalizeDocument(stored: unknown): unknown {
  if (!isRecord(stored)) return stored;
  const spec = agentSpecSchema.safeParse(stored["spec"]);
  const { tools, state, agents } = stored;
  return {
    ...stored,
    ...(spec.success && { spec: specShape(splitClientTools(spec.data).spec) }),
    ...(isRecord(tools) && {
      tools: mapValues(tools, (tool) => toolShape(isRecord(tool) ? normalizeTool(tool) : tool)),
    }),
    ...(isRecord(state) && { state: mapValues(state, withoutDefaults) }),
    ...(isRecord(agents) && { agents: mapValues(agents, normalizeDocument) }),
  };
}

/** Whether a document has the hash of a stamp. */
export function isStamped(document: unknown, { hash }: DefinitionStamp): boolean {
  return canonicalHash(document) === hash;
}

function specShape(spec: AgentSpec): HashedSpec {
  const { workflow_graph: graph } = spec;
  return {
    ...toHashedSpec(spec),
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
    case "wait": {
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

/** Keywords whose value is a schema or a list of schemas. */
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

/** Keywords whose value maps arbitrary names to schemas. */
const ofNamedSchemas = new Set([
  "$defs",
  "definitions",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);

/**
 * Returns a JSON Schema without its `default` keywords. Defaults do not affect validity, and a zod schema may compute a
 * new one on every read, such as the current time. Properties named `default` and plain data are kept. A value that is
 * not an object is returned unchanged.
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

/** Maximum number of differences listed. */
const maxListed = 100;

/**
 * Returns the differences between two definitions, such as `tools.send: removed {…}` or
 * `workflow_graph.nodes[ask].config.prompt: "May I?" → "Go on?"`. Changes to the spec come first, with paths relative
 * to it. Equal definitions have none.
 *
 * @param before a stored document; a value that is not a document counts as one change
 */
export function definitionChanges(before: unknown, after: unknown): readonly DefinitionChange[] {
  const { changes } = diffValues(flat(before), flat(after), { limit: maxListed });
  return changes;
}

/** Flattens a document to the spec's keys, `agents` and `state`; tool definitions replace the tools that have names. */
function flat(document: unknown): unknown {
  if (!isRecord(document) || !isRecord(document["spec"])) return document;
  const { spec, tools, state, agents, workers } = document;
  const { tools: listed, ...rest } = spec;
  const servers = (Array.isArray(listed) ? listed : []).filter(
    (tool) => toolEntryName(tool) === undefined,
  );
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
