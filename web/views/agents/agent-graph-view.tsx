import { useEffect, useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import type { GraphContent } from "../../components/graph-layout.ts";
import { Show } from "../../components/states.tsx";

/** The graph of an agent's active version. */
export function AgentGraphView({ agentId }: { agentId: string }) {
  const graph = useQuery(`agent graph ${agentId}`, (signal) =>
    bodyOf(
      api.GET("/v1/agents/{agent_id}/graph", {
        params: { path: { agent_id: agentId }, query: { format: "json" } },
        signal,
      }),
    ),
  );
  return (
    <div class="agent-graph">
      <Show loaded={graph}>
        {(body) => <DrawnGraph graph={body.format === "json" ? body.graph : null} />}
      </Show>
    </div>
  );
}

type GraphComponent = typeof import("../../components/graph.tsx").Graph;

/** Draws a graph of the API; null draws nothing. What places the nodes is loaded with the first graph. */
export function DrawnGraph({ graph }: { graph: unknown }) {
  const [Graph, setGraph] = useState<GraphComponent | null>(null);
  useEffect(() => {
    void import("../../components/graph.tsx").then((module) => setGraph(() => module.Graph));
  }, []);
  if (graph === null || Graph === null) return null;
  return <Graph label="Graph of the agent" {...graphContent(graph)} />;
}

/** Reads a graph as the API draws it; what is no node and no edge is left out. */
function graphContent(graph: unknown): GraphContent {
  const { nodes, edges } = Object(graph) as Record<string, unknown>;
  return {
    nodes: list(nodes).flatMap((node) => {
      const { id, data, metadata } = node;
      if (typeof id !== "string" && typeof id !== "number") return [];
      const { name } = Object(data) as Record<string, unknown>;
      const { type } = Object(metadata) as Record<string, unknown>;
      const isEnd = id === "__start__" || id === "__end__";
      const label = isEnd ? id.replaceAll("_", "") : typeof name === "string" ? name : String(id);
      return [
        {
          id: String(id),
          label,
          ...(isEnd ? { shape: "end" as const } : typeof type === "string" && { detail: type }),
        },
      ];
    }),
    edges: list(edges).map(({ source, target, data, conditional }) => ({
      from: String(source),
      to: String(target),
      isConditional: conditional === true,
      ...(typeof data === "string" && { label: data }),
    })),
  };
}

function list(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.map((one) => Object(one) as Record<string, unknown>) : [];
}
