import { buildDefinition } from "../../definition/build-definition.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { documentOfToday, type DefinitionDocument } from "../../definition/definition-hash.ts";
import { checkFromJsonSchema } from "../../definition/json-schema.ts";
import { agentSpecSchema } from "../../definition/schema.ts";
import type { AgentTool, ToolDefinition } from "../../definition/tool.ts";
import { isRecord } from "../../state/is-record.ts";

/**
 * An agent from what is kept of it with its threads: enough to look at what it reads. Its tools cannot be called, it has
 * no code of its own, and its schemas have lost their `default`s and the order of their keys.
 *
 * @returns null for what is no definition today
 */
export function storedDefinition(stored: unknown): AgentDefinition | null {
  const document = documentOfToday(stored);
  if (!isRecord(document) || !agentSpecSchema.safeParse(document["spec"]).success) return null;
  return definitionOf(document as unknown as DefinitionDocument);
}

function definitionOf({ spec, tools, agents }: DefinitionDocument): AgentDefinition {
  return buildDefinition({
    spec: agentSpecSchema.parse(spec),
    tools: Object.values(tools).map(toolWithoutCode),
    agents: new Map(Object.entries(agents).map(([name, agent]) => [name, definitionOf(agent)])),
  });
}

function toolWithoutCode(definition: ToolDefinition): AgentTool {
  return {
    kind: "stateless",
    definition,
    input: checkFromJsonSchema(definition.input_schema),
    run() {
      throw new TypeError(`the code of ${definition.name} is not kept with the thread`);
    },
  };
}
