import { callProblems } from "./call-problems.ts";
import { choiceProblems } from "./choice-problems.ts";
import { expressionProblems } from "./expression-problems.ts";
import { expressionScope } from "./expression-scope.ts";
import { graphProblems } from "./graph-problems.ts";
import type { JsonSchema } from "./json-schema.ts";
import { loopProblems } from "./loop-problems.ts";
import { nodeProblems } from "./node-problems.ts";
import { parallelProblems } from "./parallel-problems.ts";
import type { DefinitionProblem } from "./problems.ts";
import { readWorkflow } from "./read-workflow.ts";
import { toolNameProblems, type WrittenTools } from "./tool-name-problems.ts";
import { workflowFlow } from "./workflow-flow.ts";

/** What the rules of a workflow need of the rest of its definition. */
export interface AroundWorkflow {
  readonly tools: WrittenTools;
  /** An empty one where nothing can be said of inputs. */
  readonly inputSchema: JsonSchema;
  /** `execution_config.max_iterations` as written. */
  readonly maxIterations: unknown;
  /** Whether a planner that lists no workers has any. */
  readonly hasWorkers: boolean;
  /** Keys of the tiers that have a merge. */
  readonly merged: ReadonlySet<string>;
}

/**
 * Everything that is wrong with a workflow beside its shape. What agents there are is not known here: that is checked
 * where they are looked up.
 *
 * @param written what stands in `workflow_graph`
 */
export function workflowProblems(
  written: unknown,
  { tools, inputSchema, maxIterations, hasWorkers, merged }: AroundWorkflow,
): readonly DefinitionProblem[] {
  const graph = readWorkflow(written);
  const { problems, isSound } = graphProblems(graph);
  const single = [
    ...problems,
    ...nodeProblems(graph, { hasWorkers }),
    ...toolNameProblems(graph, tools),
  ];
  const named = graph.isNamed ? [...expressions(graph, inputSchema), ...choiceProblems(graph)] : [];
  if (!isSound) return [...single, ...named];
  const flow = workflowFlow({ entry_point: graph.entry ?? "", edges: [...graph.edges] });
  const isRead = graph.nodes.every(({ node }) => node !== undefined);
  return [
    ...single,
    ...named,
    ...loopProblems(flow, maxIterations),
    ...(isRead ? callProblems(graph, flow, tools) : []),
    ...parallelProblems(graph, flow, merged),
  ];
}

function expressions(
  graph: ReturnType<typeof readWorkflow>,
  input_schema: JsonSchema,
): readonly DefinitionProblem[] {
  const nodes = graph.nodes.map(({ name, node }) => node ?? { name, type: "unknown" as const });
  return expressionProblems(graph, expressionScope({ input_schema }, { nodes }));
}
