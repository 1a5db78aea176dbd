import { toJsonSchema } from "@langchain/core/utils/json_schema";
import { z } from "zod";
import type { AgentGraph } from "../../compile/agent-graph.ts";
import type { CompileServices } from "../../compile/compile-agent.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { RecentMap } from "../../values/recent-map.ts";
import type { ApiBase } from "../ports.ts";

/** Graphs that stay in memory. */
const maxGraphs = 50;

/** The JSON Schemas of a graph's channels. */
export interface GraphSchemas {
  readonly state: object | undefined;
  readonly input: object | undefined;
  readonly output: object | undefined;
  readonly config: object | undefined;
}

interface Described {
  readonly services: CompileServices;
  readonly graph: Promise<AgentGraph>;
}

/**
 * Compiles agents into graphs that are only drawn and described: they need no database, no keys and no models. Those that
 * were used last are held. A change of a tool or of an agent that a node names makes another graph.
 */
export class AssistantGraphs {
  readonly #graphs = new RecentMap<AgentDefinition, Described>(maxGraphs);

  constructor(private readonly base: Pick<ApiBase, "runtimes" | "loadAgent" | "compileDrawing">) {}

  /** @throws NotFoundError, and the errors of compiling */
  async get(tenantId: string, definitionId: string): Promise<AgentGraph> {
    // The loader gives the same objects for the same rows.
    const { definition, services } = await this.base.runtimes.use(tenantId, ({ runtime }) =>
      this.base.loadAgent(runtime, { tenantId, definitionId }),
    );
    const known = this.#graphs.get(definition);
    const agents = services.agents ?? new Map();
    const described =
      known?.services === services
        ? known
        : { services, graph: this.base.compileDrawing(definition, agents) };
    this.#graphs.set(definition, described);
    described.graph.catch(() => this.#graphs.delete(definition));
    return described.graph;
  }
}

/** Where a graph has the schemas of its channels. */
const schemaKeys = {
  state: "_schemaRuntimeDefinition",
  input: "_inputRuntimeDefinition",
  output: "_outputRuntimeDefinition",
  config: "_configRuntimeSchema",
} as const;

/**
 * Returns the schemas of a graph as `langgraph dev` reads them: LangGraph's own functions for schemas refuse graphs whose
 * nodes check the state that they write.
 */
export function describeGraph(graph: object): GraphSchemas {
  const { builder = {} } = graph as { readonly builder?: Readonly<Record<string, unknown>> };
  const read = (key: string): object | undefined => {
    const schema = builder[key];
    return schema instanceof z.ZodType ? toJsonSchema(schema) : undefined;
  };
  return {
    state: read(schemaKeys.state),
    input: read(schemaKeys.input),
    output: read(schemaKeys.output),
    config: read(schemaKeys.config),
  };
}
