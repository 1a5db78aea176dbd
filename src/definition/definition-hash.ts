import { createHash } from "node:crypto";
import { canonicalJson } from "../state/canonical-json.ts";
import type { AgentDefinition } from "./agent-definition.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { AgentSpec } from "./schema.ts";
import type { AgentTool, ToolDefinition } from "./tool.ts";

/**
 * All of an agent that is data, with what its names stand for: what a run was made under. Code (handlers, initialisers,
 * `validate`) cannot be compared and is not in it; the version of a tool says that its handler has changed.
 */
export interface DefinitionDocument {
  readonly spec: AgentSpec;
  /** Those of the registry too, by name. */
  readonly tools: Readonly<Record<string, ToolDefinition>>;
  /** The schemas of the tiers, where there are any. */
  readonly state: { readonly execution?: JsonSchema; readonly attempt?: JsonSchema };
  /** The agents of agent nodes, by the name or path that the nodes give. */
  readonly agents: Readonly<Record<string, DefinitionDocument>>;
}

/** A definition as it was compiled. */
export interface DefinitionStamp {
  /** SHA-256 (hex) of the document's canonical JSON: the same for all documents that hold the same. */
  readonly hash: string;
  readonly document: DefinitionDocument;
}

/** @param resolved what the definition's names were found to stand for */
export function stampDefinition(
  { spec, behaviour }: AgentDefinition,
  resolved: {
    readonly tools: Iterable<AgentTool>;
    readonly agents: ReadonlyMap<string, DefinitionStamp>;
  },
): DefinitionStamp {
  const { executionSchema, attemptSchema } = behaviour;
  const document: DefinitionDocument = {
    spec,
    tools: Object.fromEntries(
      [...resolved.tools].map(({ definition }) => [definition.name, definition]),
    ),
    state: {
      ...(executionSchema && { execution: executionSchema.jsonSchema }),
      ...(attemptSchema && { attempt: attemptSchema.jsonSchema }),
    },
    agents: Object.fromEntries([...resolved.agents].map(([name, stamp]) => [name, stamp.document])),
  };
  return {
    document,
    hash: createHash("sha256").update(canonicalJson(document)).digest("hex"),
  };
}
