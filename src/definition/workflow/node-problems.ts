import { quoteExpression } from "../../expression/problem.ts";
import { findComparedTexts } from "../../expression/references.ts";
import { nearestName } from "../../nearest-name.ts";
import { endOfWorkflow } from "../../state/branch.ts";
import { isRecord } from "../../values/json.ts";
import { jsonSchemaProblems } from "../check/json-schema-problems.ts";
import { type DefinitionPath, type DefinitionProblem, showFound } from "../check/problems.ts";
import type { WrittenTools } from "../check/tools.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { NodeOfType } from "../schema/workflow.ts";
import type { WorkflowFlow } from "./flow.ts";
import { nodesOfType, type ReadNode, type ReadWorkflow } from "./read-workflow.ts";

/** Returns the problems of single workflow nodes, apart from their shape. */
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
      case "wait":
        return waitRules(node, path);
      case "planner":
        return plannerRules(node, path, hasWorkers);
      case "agent":
      case undefined:
        return [];
    }
  });
}

function waitRules({ config }: NodeOfType<"wait">, path: DefinitionPath): DefinitionProblem[] {
  const ends = (["until", "for", "event"] as const).filter((key) => config[key] !== undefined);
  const ofEvents = (["schema", "timeout", "default", "writes"] as const).filter(
    (key) => config[key] !== undefined,
  );
  const unused = (key: string, message: string) => ({ path: [...path, key], message });
  return [
    ...(ends.length === 0 ? [{ path, message: "a wait needs until, for or event" }] : []),
    ...ends.slice(1).map((key) => unused(key, `of no use next to ${ends[0] ?? ""}; leave it out`)),
    ...(config.event === undefined
      ? ofEvents.map((key) => unused(key, "of no use without event; leave it out"))
      : []),
    ...(config.event !== undefined && config.default !== undefined && config.timeout === undefined
      ? [unused("default", "of no use without timeout; leave it out")]
      : []),
    ...schemaRule(config.schema, [...path, "schema"]),
  ];
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
  const message = "of no use next to tool, which makes one call; leave it out";
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

/**
 * Checks that the calls that models request reach a tool node that runs them, at the latest before the next llm node.
 *
 * @param graph a workflow whose nodes could all be read
 */
export function callProblems(
  graph: ReadWorkflow,
  flow: Pick<WorkflowFlow, "successors">,
  { names }: WrittenTools,
): readonly DefinitionProblem[] {
  if (names === undefined) return [];
  const thinking = nodesOfType(graph, "llm");
  const thinkers = new Set(thinking.map(({ node }) => node.name));
  const running = nodesOfType(graph, "tool").filter(({ node }) => node.config.tool === undefined);
  const runners = new Set(running.map(({ node }) => node.name));
  const offers = ({ name, config: { tools } }: NodeOfType<"llm">) => {
    if (tools === undefined) return flow.successors(name).some((next) => runners.has(next));
    return Array.isArray(tools) ? tools.length > 0 : tools === "all";
  };
  const offering = names.length === 0 ? [] : thinking.filter(({ node }) => offers(node));
  const stops = (name: string) => thinkers.has(name) || runners.has(name);
  const fed = reached(
    offering.map(({ node }) => node.name),
    flow.successors,
    stops,
  );
  const served = reached([...runners], sources(graph), stops);
  return [
    ...offering.flatMap(({ index, node }) => {
      if (served.has(node.name)) return [];
      const message = `no way leads from "${node.name}" to a tool node that runs the calls it asks for, before the next llm node; add one without config.tool`;
      return [{ path: ["workflow_graph", "nodes", index, "config", "tools"], message }];
    }),
    ...running.flatMap(({ index, node }) => {
      if (fed.has(node.name)) return [];
      const message =
        names.length === 0
          ? `"${node.name}" runs calls of llm nodes, but the definition names no tools`
          : `"${node.name}" runs calls of llm nodes, but none that offers tools leads to it; offer tools there, or name one in config.tool`;
      return [{ path: ["workflow_graph", "nodes", index], message }];
    }),
  ];
}

function sources({ edges }: ReadWorkflow): (name: string) => readonly string[] {
  const from = new Map<string, string[]>();
  for (const edge of edges) {
    for (const to of [edge.to].flat()) {
      const list = from.get(to);
      if (list === undefined) from.set(to, [edge.from]);
      else list.push(edge.from);
    }
  }
  return (name) => from.get(name) ?? [];
}

/** Returns the nodes after (or before) the given ones, up to and including those that `stops` matches. */
function reached(
  starts: readonly string[],
  next: (name: string) => readonly string[],
  stops: (name: string) => boolean,
): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = starts.flatMap(next);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    if (!stops(name)) open.push(...next(name));
  }
  return seen;
}

/** Reports edge conditions that compare a router's choice with one that it never makes. */
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
    return findComparedTexts(condition).flatMap(({ path, text, offset }) => {
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

/** Reports conflicts between parallel branches. */
export function parallelProblems(
  graph: ReadWorkflow,
  flow: Pick<WorkflowFlow, "successors" | "isParallel">,
  /** Keys of the tiers that have a merge. */
  merged: ReadonlySet<string>,
): readonly DefinitionProblem[] {
  return [...writeProblems(graph, flow, merged), ...endProblems(graph, flow)];
}

/** Reports parallel nodes that write the same key without a merge. Sequential nodes may share a key. */
function writeProblems(
  { nodes }: ReadWorkflow,
  { isParallel: areParallel }: Pick<WorkflowFlow, "isParallel">,
  merged: ReadonlySet<string>,
): readonly DefinitionProblem[] {
  const writers = new Map<string, ReadNode[]>();
  return nodes.flatMap((later) => {
    const { node, name, index } = later;
    const target = node !== undefined && "writes" in node.config ? node.config.writes : undefined;
    if (target === undefined || merged.has(target)) return [];
    const earlier = writers.get(target) ?? [];
    writers.set(target, [...earlier, later]);
    const other = earlier.find((one) => areParallel(one.name, name));
    if (other === undefined) return [];
    const message = `"${name}" and "${other.name}" may run in parallel and both write ${target}; give each a key of its own, or name a merge for it in state_config.merge`;
    return [{ path: ["workflow_graph", "nodes", index, "config", "writes"], message }];
  });
}

/** Requires an `output` for workflows that end on several branches, where no single node is the last. */
function endProblems(
  { nodes, output }: ReadWorkflow,
  { successors: targets, isParallel: areParallel }: Pick<WorkflowFlow, "successors" | "isParallel">,
): readonly DefinitionProblem[] {
  if (output !== undefined) return [];
  const names = nodes.map(({ name }) => name);
  const open = names.find((name) => areParallel(name, endOfWorkflow));
  if (open === undefined) return [];
  const last = names.filter((name) => targets(name).includes(endOfWorkflow));
  const pair = firstPair(last, areParallel);
  const what =
    pair === undefined
      ? `a branch may come to END while "${open}" is under way on another`
      : `"${pair[0]}" and "${pair[1]}" may both come to END, on branches of their own`;
  const message = `${what}; write workflow_graph.output to say what the output is`;
  return [{ path: ["workflow_graph"], message }];
}

function firstPair(
  names: readonly string[],
  areParallel: (a: string, b: string) => boolean,
): readonly [string, string] | undefined {
  for (const [index, one] of names.entries()) {
    const other = names.slice(index + 1).find((name) => areParallel(one, name));
    if (other !== undefined) return [one, other];
  }
  return undefined;
}
