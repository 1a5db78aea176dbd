import { nearestName } from "../nearest-name.ts";
import { quoteExpression } from "../expression/quote-expression.ts";
import { comparedTexts } from "../expression/compared-texts.ts";
import type { DefinitionProblem } from "./problems.ts";
import { nodesOfType, type ReadWorkflow } from "./read-workflow.ts";

/** Conditions of edges that compare a router's choice with one that it never makes. */
export function choiceProblems(graph: ReadWorkflow): readonly DefinitionProblem[] {
  const choices = new Map(
    nodesOfType(graph, "router").map(({ node: { name, config } }) => {
      const { rules = [], choices: described = [], default: fallback } = config;
      const all = [
        ...rules.map(({ choice }) => choice),
        ...described.map((choice) => choice.name),
        ...(fallback === undefined ? [] : [fallback]),
      ];
      return [name, [...new Set(all)]] as const;
    }),
  );
  return graph.edges.flatMap(({ index, condition }) => {
    if (condition?.includes("choice") !== true) return [];
    return comparedTexts(condition).flatMap(({ path, text, offset }) => {
      const [variable, router = "", field] = path;
      const made = choices.get(router);
      if (variable !== "nodes" || field !== "choice" || path.length > 3) return [];
      if (made === undefined || made.length === 0 || made.includes(text)) return [];
      const message = `condition ${quoteExpression(condition, offset)}: "${router}" never makes this choice`;
      return [
        {
          path: ["workflow_graph", "edges", index, "condition"],
          message,
          found: JSON.stringify(text),
          allowed: made,
          suggestion: nearestName(text, made),
        },
      ];
    });
  });
}
