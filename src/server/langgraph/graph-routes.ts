import { z } from "zod";
import type { Principal } from "../../storage/platform/platform.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, type Route } from "../route.ts";
import { assistantParams } from "./assistant-routes.ts";
import { AssistantGraphs, describeGraph } from "./assistant-graphs.ts";
import { findAssistant } from "./assistants.ts";

const jsonSchema = z.record(z.string(), z.unknown());
const schemas = {
  state: jsonSchema.optional(),
  input: jsonSchema.optional(),
  output: jsonSchema.optional(),
  config: jsonSchema.optional(),
};
const subgraphsSchema = z.record(z.string(), z.strictObject(schemas));

const flag = z.string().max(10);
const subgraphQuery = z.strictObject({
  recurse: flag.optional().describe("true: subgraphs of subgraphs too."),
});

/** Creates the routes that draw and describe the graphs of assistants. */
export function graphRoutes(base: ApiBase): readonly Route[] {
  const graphs = new AssistantGraphs(base);
  const graphOf = async ({ tenantId }: Principal, idOrName: string) => {
    const agent = await findAssistant(base.platform.agents, tenantId, idOrName);
    return { agent, graph: await graphs.get(tenantId, agent.id) };
  };
  const subgraphsOf = async (
    principal: Principal,
    of: { readonly id: string; readonly namespace?: string; readonly recurse: string | undefined },
  ) => {
    const { graph } = await graphOf(principal, of.id);
    const found = new Map<string, object>();
    for await (const [name, inside] of graph.getSubgraphsAsync(of.namespace, isSet(of.recurse)))
      found.set(name, describeGraph(inside));
    return { status: 200, body: Object.fromEntries(found) };
  };
  return [
    defineRoute({
      method: "get",
      path: "/assistants/{assistant_id}/graph",
      operationId: "getAssistantGraph",
      summary: "Draws the graph of an assistant.",
      tag: "langgraph",
      scopes: ["agents:read"],
      params: assistantParams,
      query: z.strictObject({
        xray: flag.optional().describe("true, or how many levels of subgraphs are drawn."),
      }),
      answers: {
        200: {
          description: "Nodes and edges.",
          schema: z
            .looseObject({
              nodes: z.array(z.looseObject({ id: z.string() })),
              edges: z.array(z.looseObject({ source: z.string(), target: z.string() })),
            })
            .meta({ id: "AssistantGraph" }),
        },
      },
      problems: ["invalid_definition", "invalid_input"],
      async handle({ params, query: { xray }, principal }) {
        const { graph } = await graphOf(principal, params.assistant_id);
        const levels = /^\d{1,3}$/.test(xray ?? "") ? Number(xray) : isSet(xray);
        const drawing = await graph.getGraphAsync({ xray: levels });
        return { status: 200, body: drawing.toJSON() };
      },
    }),
    defineRoute({
      method: "get",
      path: "/assistants/{assistant_id}/schemas",
      operationId: "getAssistantSchemas",
      summary: "Reads the JSON Schemas of an assistant's state, input, output and context.",
      tag: "langgraph",
      scopes: ["agents:read"],
      params: assistantParams,
      answers: {
        200: {
          description: "The schemas.",
          schema: z
            .strictObject({
              graph_id: z.string(),
              state_schema: jsonSchema.optional(),
              input_schema: jsonSchema.optional(),
              output_schema: jsonSchema.optional(),
              config_schema: jsonSchema.optional(),
              context_schema: jsonSchema.optional(),
            })
            .meta({ id: "AssistantSchemas" }),
        },
      },
      problems: ["invalid_definition", "invalid_input"],
      async handle({ params, principal }) {
        const { agent, graph } = await graphOf(principal, params.assistant_id);
        const { state, input, output, config } = describeGraph(graph);
        const described = {
          graph_id: agent.name,
          input_schema: input,
          output_schema: output,
          state_schema: state,
          config_schema: config,
          // A graph of LangGraph for JavaScript has one schema for both.
          context_schema: config,
        };
        return { status: 200, body: described };
      },
    }),
    defineRoute({
      method: "get",
      path: "/assistants/{assistant_id}/subgraphs",
      operationId: "listAssistantSubgraphs",
      summary: "Reads the schemas of an assistant's subgraphs, by node.",
      tag: "langgraph",
      scopes: ["agents:read"],
      params: assistantParams,
      query: subgraphQuery,
      answers: { 200: { description: "The schemas.", schema: subgraphsSchema } },
      problems: ["invalid_definition", "invalid_input"],
      handle: async ({ params, query: { recurse }, principal }) =>
        subgraphsOf(principal, { id: params.assistant_id, recurse }),
    }),
    defineRoute({
      method: "get",
      path: "/assistants/{assistant_id}/subgraphs/{namespace}",
      operationId: "getAssistantSubgraphs",
      summary: "Reads the schemas of the subgraph at a namespace.",
      tag: "langgraph",
      scopes: ["agents:read"],
      params: assistantParams.extend({
        namespace: z.string().min(1).max(1000).describe("Nodes, as in `outer|inner`."),
      }),
      query: subgraphQuery,
      answers: { 200: { description: "The schemas.", schema: subgraphsSchema } },
      problems: ["invalid_definition", "invalid_input"],
      handle: async ({ params: { assistant_id: id, namespace }, query: { recurse }, principal }) =>
        subgraphsOf(principal, { id, namespace, recurse }),
    }),
  ];
}

/** Whether a flag of a query is on, in the forms that LangGraph's server reads. */
function isSet(text: string | undefined): boolean {
  return /^(?:true|1|yes)$/i.test(text ?? "");
}
