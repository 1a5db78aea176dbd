import { Graph } from "@langchain/core/runnables/graph";

/** What is said of a node beside its name. */
export interface NodeMetadata {
  /** A type of workflow node, or `lifecycle` for the nodes that begin and end turns and attempts. */
  readonly type: string;
  readonly description?: string;
}

/**
 * LangChain's drawable graph, with what its JSON leaves out (metadata, as the Python library has it) and Mermaid text
 * that no label can break.
 */
export class Drawing extends Graph {
  override toJSON(): ReturnType<Graph["toJSON"]> {
    const json = super.toJSON() as { nodes: { id: string }[]; edges: unknown[] };
    const nodes = json.nodes.map((node) => {
      const metadata = this.nodes[node.id]?.metadata;
      return metadata === undefined ? node : { ...node, metadata };
    });
    return { ...json, nodes };
  }

  override drawMermaid(params?: Parameters<Graph["drawMermaid"]>[0]): string {
    const nodes = Object.entries(this.nodes).map(([id, node]) => {
      const metadata = Object.entries(node.metadata ?? {}).map(([key, value]) => {
        return [key, withStandIns(String(value))];
      });
      return [id, { ...node, metadata: Object.fromEntries(metadata) }];
    });
    const edges = this.edges.map((edge) => {
      return edge.data === undefined ? edge : { ...edge, data: withStandIns(edge.data) };
    });
    const drawn = new Graph({ nodes: Object.fromEntries(nodes), edges }).drawMermaid(params);
    return drawn.replaceAll(standIns, (found) => `#${found.charCodeAt(0) - firstStandIn};`);
  }
}

/** In Unicode's area for private use. */
const firstStandIn = 0xe000;
const standIns = /[\ue021-\ue07e]/g;

/**
 * Text for a label that is not in quotes, as LangChain writes them: there a full stop ends the label of a dashed edge,
 * and a bracket that of a node. LangChain escapes brackets and quotes in nodes alone, and would escape entities again: so
 * characters that mean nothing stand in for the marks until the drawing is written.
 */
function withStandIns(text: string): string {
  return text
    .replaceAll(/\s+/g, " ")
    .replaceAll(standIns, "\ufffd")
    .replaceAll(/[!-/:-@[-`{-~]/g, (mark) =>
      String.fromCharCode(firstStandIn + mark.charCodeAt(0)),
    );
}
