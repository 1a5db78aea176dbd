import { nearestName } from "../nearest-name.ts";
import { isRecord } from "../state/is-record.ts";
import { jsonSchemaProblems } from "./json-schema-problems.ts";
import type { JsonSchema } from "./json-schema.ts";
import { showFound, type DefinitionPath, type DefinitionProblem } from "./problems.ts";
import type { ReadWorkflow } from "./read-workflow.ts";
import type { NodeOfType } from "./workflow-schema.ts";

/** What is wrong within single nodes of a workflow, beside their shape. */
export function nodeProblems(
  { nodes }: ReadWorkflow,
  { hasWorkers }: { readonly hasWorkers: boolean },
): readonly DefinitionProblem[] {
  return nodes.flatMap(({ node, index }) => {
    const path = ["workflow_graph", "nodes", index, "config"];
    switch (node?.type) {
      case "llm":
        return schemaRule(node.config.output_schema, [...path, "output_schema"]);
      case "tool":
        return toolRules(node, path);
      case "router":
        return routerRules(node, path);
      case "human":
        return humanRules(node, path);
      case "planner":
        return plannerRules(node, path, hasWorkers);
      case "agent":
      case undefined:
        return [];
    }
  });
}

function plannerRules(
  { config }: NodeOfType<"planner">,
  path: DefinitionPath,
  hasWorkers: boolean,
): DefinitionProblem[] {
  const { workers, plan } = config;
  const lists = workers !== undefined || hasWorkers;
  return [
    ...(lists
      ? []
      : [{ path, message: "a planner needs workers: name agents or code workers in workers" }]),
    ...(workers ?? []).flatMap((name, index, all) => {
      const earlier = all.indexOf(name);
      if (earlier === index) return [];
      const message = `${showFound(name)} is already named by workers[${earlier}]`;
      return [{ path: [...path, "workers", index], message }];
    }),
    ...(plan === undefined || isRecord(plan) || isTemplate(plan)
      ? []
      : [
          {
            path: [...path, "plan"],
            message: "expected a map with subtasks, or a template that gives one",
            found: showFound(plan),
          },
        ]),
  ];
}

function isTemplate(value: unknown): boolean {
  return typeof value === "string" && value.includes("${");
}

function schemaRule(
  schema: JsonSchema | undefined,
  path: DefinitionPath,
): readonly DefinitionProblem[] {
  return schema === undefined ? [] : jsonSchemaProblems(schema, path);
}

function toolRules({ config }: NodeOfType<"tool">, path: DefinitionPath): DefinitionProblem[] {
  const { tool, args, concurrency } = config;
  if (tool === undefined && args !== undefined) {
    return [{ path: [...path, "args"], message: "args need the tool that they are for in tool" }];
  }
  if (tool === undefined || concurrency === undefined) return [];
  const message = "of no use beside tool, which makes one call; leave it out";
  return [{ path: [...path, "concurrency"], message }];
}

function routerRules({ config }: NodeOfType<"router">, path: DefinitionPath): DefinitionProblem[] {
  const { rules, choices, default: fallback } = config;
  if (rules === undefined && choices === undefined) {
    return [{ path, message: "a router needs rules, or choices for a model" }];
  }
  if (choices === undefined) {
    return (["prompt", "model"] as const).flatMap((key) =>
      config[key] === undefined
        ? []
        : [{ path: [...path, key], message: "of no use without choices; leave it out" }],
    );
  }
  const names = choices.map(({ name }) => name);
  const first = new Map<string, number>();
  const problems = names.flatMap((name, index): DefinitionProblem[] => {
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, index);
      return [];
    }
    const message = `${showFound(name)} is already the name of choices[${earlier}]`;
    return [{ path: [...path, "choices", index, "name"], message }];
  });
  if (fallback === undefined || first.has(fallback)) return problems;
  const allowed = [...first.keys()];
  const unknown = {
    path: [...path, "default"],
    message: "not one of the choices",
    found: showFound(fallback),
    allowed,
    suggestion: nearestName(fallback, allowed),
  };
  return [...problems, unknown];
}

function humanRules({ config }: NodeOfType<"human">, path: DefinitionPath): DefinitionProblem[] {
  const { kind, proposed, schema, timeout_seconds, on_timeout } = config;
  const isInput = kind === "input";
  const rules = [
    isInput && proposed !== undefined
      ? [{ path: [...path, "proposed"], message: "of no use with kind input; use kind edit" }]
      : [],
    schemaRule(schema, [...path, "schema"]),
    on_timeout !== undefined && timeout_seconds === undefined
      ? [{ path: [...path, "on_timeout"], message: "of no use without timeout_seconds" }]
      : [],
    on_timeout === "approve" && isInput
      ? [
          {
            path: [...path, "on_timeout"],
            message: "kind input has nothing to approve; use reject or fail",
          },
        ]
      : [],
  ];
  return rules.flat();
}
