import { z } from "zod";
import { toolEntryName } from "../../definition/schema/data-tools.ts";
import { InvalidDefinitionError } from "../../definition/check/problems.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import { isRecord } from "../../values/json.ts";
import { readStoredDefinition } from "../agents/read-definition.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";
import { overridesSchema, toolEntry, toRegistered } from "./tool-entry.ts";

const agentParams = z.strictObject({
  agent_id: z.string().min(1).max(100).describe("Id of the agent."),
});
const bindingParams = agentParams.extend({
  tool_id: z.string().min(1).max(100).describe("Id of a registered tool."),
});

const bodySchema = z
  .strictObject({
    is_enabled: z
      .boolean()
      .default(true)
      .describe("False takes the tool from the agent, also where its definition names the tool."),
    config_overrides: overridesSchema
      .default({})
      .describe("Replace what the tool says, for this agent."),
  })
  .meta({ id: "ToolBindingChange" });

const bindingSchema = z
  .strictObject({
    tool_id: z.string(),
    name: z.string(),
    description: z.string().describe("That the agent's model reads."),
    is_enabled: z.boolean(),
    config_overrides: z.record(z.string(), z.unknown()),
    in_definition: z.boolean().describe("Whether the active version names the tool."),
  })
  .meta({ id: "ToolBinding" });

/** Creates the routes of the tools that agents use. */
export function bindingRoutes({ platform }: ApiBase): readonly Route[] {
  const { tools, agents, audit } = platform;
  /** Registered tools that the agent uses: bound ones, and those that its active version names. */
  const bindingsOf = async (tenantId: string, agentId: string) => {
    const { definition } = await agents.get(tenantId, agentId);
    const listed: unknown = definition["tools"];
    const names = (Array.isArray(listed) ? listed : []).filter((one) => typeof one === "string");
    const bindings = await tools.bindings(tenantId, agentId);
    const bound = new Set(bindings.map(({ tool }) => tool.name));
    const named = await tools.named(
      tenantId,
      names.filter((name) => !bound.has(name)),
    );
    return [...bindings, ...named.map((tool) => ({ tool, overrides: {}, isEnabled: true }))].map(
      ({ tool, overrides, isEnabled }) => {
        const { description } = { ...toRegistered(tool), ...overrides };
        return {
          tool_id: tool.id,
          name: tool.name,
          description,
          is_enabled: isEnabled,
          config_overrides: overrides,
          in_definition: names.includes(tool.name),
        };
      },
    );
  };
  return [
    defineRoute({
      method: "get",
      path: "/v1/agents/{agent_id}/tools",
      operationId: "listAgentTools",
      summary: "Lists the registered tools that an agent uses, by its definition or by a binding.",
      tag: "tools",
      scopes: ["agents:read"],
      params: agentParams,
      answers: {
        200: {
          description: "The tools, at most 200 bound ones.",
          schema: z.strictObject({ tools: z.array(bindingSchema) }).meta({ id: "AgentTools" }),
        },
      },
      async handle({ params, principal }) {
        const found = await bindingsOf(principal.tenantId, params.agent_id);
        return { status: 200, body: { tools: found } };
      },
    }),
    defineRoute({
      method: "put",
      path: "/v1/agents/{agent_id}/tools/{tool_id}",
      operationId: "bindTool",
      summary: "Lets an agent use a registered tool, or replaces how it does.",
      description:
        "Takes effect with the next turn of all versions of the agent. A turn that waits was begun with other tools: its answer is refused as `definition_changed` until they are as before.",
      tag: "tools",
      scopes: ["agents:write"],
      params: bindingParams,
      body: bodySchema,
      answers: { 200: { description: "The binding.", schema: bindingSchema } },
      problems: ["invalid_definition", "conflict"],
      async handle({ params, body, principal }) {
        const { tenantId, keyId } = principal;
        const { agent_id: agentId, tool_id: toolId } = params;
        const [agent, tool] = [
          await agents.get(tenantId, agentId),
          await tools.get(tenantId, toolId),
        ];
        const { config_overrides: overrides, is_enabled: isEnabled } = body;
        checkOverrides(toRegistered(tool), overrides);
        const listed: unknown = agent.definition["tools"];
        const own = (Array.isArray(listed) ? listed : []).filter(isRecord);
        if (own.some((entry) => toolEntryName(entry) === tool.name)) {
          throw new HttpProblem("conflict", {
            detail: `The agent's definition describes a tool ${JSON.stringify(tool.name)} itself.`,
          });
        }
        const given = { agentId, toolId, overrides, isEnabled };
        await tools.bind(tenantId, given);
        await audit.append(tenantId, {
          actor: `key:${keyId}`,
          action: "tool.bind",
          subject: agentId,
          after: given,
        });
        const bound = (await bindingsOf(tenantId, agentId)).find((one) => one.tool_id === toolId);
        if (bound === undefined) throw new NotFoundError("tool", toolId);
        return { status: 200, body: bound };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/v1/agents/{agent_id}/tools/{tool_id}",
      operationId: "unbindTool",
      summary: "Removes a binding. A tool that the definition names stays, as it was registered.",
      tag: "tools",
      scopes: ["agents:write"],
      params: bindingParams,
      answers: { 204: { description: "Removed." } },
      async handle({ params, principal }) {
        const { tenantId, keyId } = principal;
        const { agent_id: agentId, tool_id: toolId } = params;
        if (!(await tools.unbind(tenantId, { agentId, toolId })))
          throw new NotFoundError("binding", toolId);
        await audit.append(tenantId, {
          actor: `key:${keyId}`,
          action: "tool.unbind",
          subject: agentId,
          before: { toolId },
        });
        return { status: 204 };
      },
    }),
  ];
}

/** @throws InvalidDefinitionError for settings that tools of this kind do not take */
function checkOverrides(
  tool: Parameters<typeof toolEntry>[0],
  overrides: Parameters<typeof toolEntry>[1],
): void {
  try {
    readStoredDefinition({ name: "tools", tools: [toolEntry(tool, overrides)] });
  } catch (thrown) {
    if (!(thrown instanceof InvalidDefinitionError)) throw thrown;
    throw new InvalidDefinitionError(
      thrown.problems.map(({ path, ...problem }) => {
        return { ...problem, path: ["config_overrides", ...path.slice(2)] };
      }),
    );
  }
}
