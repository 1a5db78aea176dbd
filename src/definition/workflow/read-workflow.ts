import { isRecord } from "../../values/json.ts";
import { getAtPath } from "../check/problems.ts";
import {
  workflowGraphSchema,
  type NodeOfType,
  type WorkflowGraph,
  type WorkflowNode,
} from "../schema/workflow.ts";

/** The readable parts of a written workflow, so that a fault in one part does not prevent checking the others. */
export interface ReadWorkflow {
  readonly entry: string | undefined;
  /** The nodes that have a name. */
  readonly nodes: readonly ReadNode[];
  readonly edges: readonly ReadEdge[];
  readonly output: WorkflowGraph["output"];
  /** Whether every node has a name. */
  readonly hasAllNames: boolean;
  /** Whether entry point, names and edges were all read. */
  readonly isComplete: boolean;
}

export interface ReadNode {
  /** Its index in `nodes`. */
  readonly index: number;
  readonly name: string;
  /** Undefined if invalid. */
  readonly node: WorkflowNode | undefined;
}

export interface ReadEdge {
  readonly index: number;
  readonly from: string;
  readonly to: string | string[];
  readonly condition?: string | undefined;
}

const parts = workflowGraphSchema.shape;

export function readWorkflow(written: unknown): ReadWorkflow {
  const whole = workflowGraphSchema.safeParse(written);
  if (whole.success) {
    const { entry_point, nodes, edges, output } = whole.data;
    return {
      entry: entry_point,
      nodes: nodes.map((node, index) => ({ index, name: node.name, node })),
      edges: edges.map((edge, index) => ({ index, ...edge })),
      output,
      hasAllNames: true,
      isComplete: true,
    };
  }
  const entry = parts.entry_point.safeParse(getAtPath(written, ["entry_point"])).data;
  const writtenNodes = listAt(written, "nodes");
  const nodes = (writtenNodes ?? []).flatMap((node, index): ReadNode[] => {
    const name = getAtPath(node, ["name"]);
    if (typeof name !== "string" || ["START", "END"].includes(name)) return [];
    return [{ index, name, node: readNode(node) }];
  });
  const writtenEdges = listAt(written, "edges");
  const edges = (writtenEdges ?? []).flatMap((edge, index): ReadEdge[] => {
    const { data } = parts.edges.element.safeParse(edge);
    return data === undefined ? [] : [{ index, ...data }];
  });
  const isNamed = nodes.length > 0 && nodes.length === writtenNodes?.length;
  return {
    entry,
    nodes,
    edges,
    output: parts.output.safeParse(getAtPath(written, ["output"])).data,
    hasAllNames: isNamed,
    isComplete: isNamed && entry !== undefined && edges.length === writtenEdges?.length,
  };
}

/** Keys that no rule combines with others, so that the rest of a node is checked even if they are invalid. */
const loneKeys: readonly unknown[] = ["description", "mode", "model", "writes"];

function readNode(written: unknown): WorkflowNode | undefined {
  const node = parts.nodes.element.safeParse(written);
  if (node.success) return node.data;
  const faults = node.error.issues.flatMap(({ path: [first, second] }) => {
    const key = first === "config" ? second : first;
    return loneKeys.includes(key) ? [key] : [];
  });
  if (faults.length === 0 || !isRecord(written)) return undefined;
  const sound = (part: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.entries(part).filter(([key]) => !faults.includes(key)));
  const { config } = written;
  const rest = { ...sound(written), ...(isRecord(config) && { config: sound(config) }) };
  return parts.nodes.element.safeParse(rest).data;
}

function listAt(written: unknown, key: string): readonly unknown[] | undefined {
  const value = getAtPath(written, [key]);
  return Array.isArray(value) ? value : undefined;
}

/** Returns the valid nodes of a type. */
export function nodesOfType<Type extends WorkflowNode["type"]>(
  { nodes }: Pick<ReadWorkflow, "nodes">,
  type: Type,
): readonly { readonly index: number; readonly node: NodeOfType<Type> }[] {
  return nodes.flatMap(({ index, node }) =>
    node?.type === type ? [{ index, node: node as NodeOfType<Type> }] : [],
  );
}
