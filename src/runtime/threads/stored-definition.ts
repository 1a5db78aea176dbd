import { buildDefinition } from "../../definition/build-definition.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { documentOfToday, type DefinitionDocument } from "../../definition/definition-hash.ts";
import { checkFromJsonSchema } from "../../definition/json-schema.ts";
import { passed, type Rail } from "../../definition/rail.ts";
import { agentSpecSchema, type AgentSpec } from "../../definition/schema.ts";
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
  const parsed = agentSpecSchema.parse(spec);
  return {
    ...buildDefinition({
      spec: parsed,
      tools: Object.values(tools).map(toolWithoutCode),
      agents: new Map(Object.entries(agents).map(([name, agent]) => [name, definitionOf(agent)])),
      rails: railsWithoutCode(parsed),
    }),
    hasAllTools: true,
  };
}

/** Nothing is checked where a run is only looked at. */
function railsWithoutCode({ guardrail_config: config }: AgentSpec): readonly Rail[] {
  const named = (entries: readonly { readonly type: string; readonly name?: string }[]) =>
    entries.flatMap(({ type, name }) => (type === "custom" && name !== undefined ? [name] : []));
  const sides = { input: named(config.input_rails), output: named(config.output_rails) } as const;
  return (["input", "output"] as const).flatMap((side) =>
    sides[side].map((name): Rail => ({
      name,
      on: new Set([side]),
      onError: "pass",
      check: () => passed,
    })),
  );
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
