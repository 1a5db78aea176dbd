import { canonicalHash } from "../state/canonical-json.ts";
import { isRecord } from "../state/is-record.ts";
import type { AgentDefinition } from "./agent-definition.ts";
import { hashedSpec, type HashedSpec } from "./hashed-spec.ts";
import { toolOfToday } from "./hashed-tool.ts";
import type { JsonSchema } from "./json-schema.ts";
import { withoutDefaults } from "./schema-shape.ts";
import { agentSpecSchema, type AgentSpec } from "./schema.ts";
import type { AgentTool, ToolDefinition } from "./tool.ts";
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
export function documentOfToday(stored: unknown): unknown {
  if (!isRecord(stored)) return stored;
  const spec = agentSpecSchema.safeParse(stored["spec"]);
  const { tools, state, agents } = stored;
  return {
    ...stored,
    ...(spec.success && { spec: specShape(spec.data) }),
    ...(isRecord(tools) && {
      tools: mapValues(tools, (tool) => toolShape(isRecord(tool) ? toolOfToday(tool) : tool)),
    }),
    ...(isRecord(state) && { state: mapValues(state, withoutDefaults) }),
    ...(isRecord(agents) && { agents: mapValues(agents, documentOfToday) }),
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
  if (node.type === "llm" && node.config.output_schema) {
    const output_schema = withoutDefaults(node.config.output_schema);
    return { ...node, config: { ...node.config, output_schema } };
  }
  if (node.type === "human" && node.config.schema) {
    const schema = withoutDefaults(node.config.schema);
    return { ...node, config: { ...node.config, schema } };
  }
  return node;
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
