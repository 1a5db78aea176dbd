import { canonicalHash } from "../state/canonical-json.ts";
import { deepFreeze } from "../state/freeze.ts";
import type { AgentBehaviour, AgentDefinition } from "./agent-definition.ts";
import { hashedSpec } from "./hashed-spec.ts";
import { hashedTool } from "./hashed-tool.ts";
import { checkFromJsonSchema, type SchemaCheck } from "./json-schema.ts";
import type { Rail } from "./rail.ts";
import type { AgentSpec } from "./schema.ts";
import type { AgentTool } from "./tool.ts";
import { describedWorkers, type CodeWorker } from "./worker.ts";

/** Puts a checked spec and the code beside it together, frozen. */
export function buildDefinition(parts: {
  spec: AgentSpec;
  source?: string;
  input?: SchemaCheck;
  output?: SchemaCheck;
  tools?: readonly AgentTool[];
  agents?: ReadonlyMap<string, AgentDefinition>;
  workers?: readonly CodeWorker[];
  rails?: readonly Rail[];
  behaviour?: AgentBehaviour<unknown, unknown, unknown, unknown>;
}): AgentDefinition {
  const { spec, source, tools = [], agents = new Map(), workers = [], behaviour = {} } = parts;
  const inline = tools.map((tool) => hashedTool(tool.definition));
  const hashes = Object.fromEntries([...agents].map(([key, { hash }]) => [key, hash]));
  const hashed = {
    spec: hashedSpec(spec),
    inline,
    ...(agents.size > 0 && { agents: hashes }),
    ...(workers.length > 0 && { workers: describedWorkers(workers) }),
  };
  return Object.freeze({
    spec: deepFreeze(spec),
    hash: canonicalHash(hashed),
    ...(source !== undefined && { source }),
    input: parts.input ?? checkFromJsonSchema(spec.input_schema),
    output: parts.output ?? checkFromJsonSchema(spec.output_schema),
    tools: Object.freeze([...tools]),
    agents: new Map(agents),
    workers: Object.freeze([...workers]),
    rails: Object.freeze([...(parts.rails ?? [])]),
    behaviour: Object.freeze(behaviour),
  });
}
