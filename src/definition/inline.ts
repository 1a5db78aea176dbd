import { nearestName } from "../nearest-name.ts";
import { isRecord } from "../values/json.ts";
import type { AgentDefinition } from "./agent-definition.ts";
import { agentInputProblems, agentReferences, isAgentPath } from "./check/agents.ts";
import { type DefinitionProblem, showFound, getAtPath } from "./check/problems.ts";
import { railNamePattern } from "./rail.ts";
import type { AgentSpec } from "./schema/agent.ts";
import {
  type ClientToolOptions,
  defineInlineTool,
  defineTool,
  type InlineToolOptions,
  InvalidToolError,
  isZod,
} from "./tool/define-tool.ts";
import { fromLangChainTool, isLangChainTool } from "./tool/langchain-tool.ts";
import type { AgentTool } from "./tool/tool.ts";
import { isClientTransport } from "./tool/tool-options.ts";
import { workerProblem } from "./worker.ts";

/** Returns the agents of a TypeScript definition by name. */
export function agentsByName(
  agents: readonly AgentDefinition[],
): ReadonlyMap<string, AgentDefinition> {
  return new Map(agents.map((agent) => [agent.spec.name, agent]));
}

/**
 * Returns the problems of a TypeScript definition's `agents`, and of the nodes that refer to them.
 * @param spec null if the rest of the definition is invalid
 */
export function inlineAgentProblems(
  written: unknown,
  { spec, agents }: { readonly spec: AgentSpec | null; readonly agents: unknown },
): readonly DefinitionProblem[] {
  if (!Array.isArray(agents)) {
    return [{ path: ["agents"], message: "expected a list of agents", found: showFound(agents) }];
  }
  const given: readonly unknown[] = agents;
  const known = agentsByName(given.filter(isAgentDefinition));
  const references = spec === null ? [] : agentReferences(spec, known.keys());
  const inputs = references.flatMap((reference) => {
    const named = known.get(reference.agent);
    return spec === null || named === undefined ? [] : agentInputProblems(reference, spec, named);
  });
  return [
    ...listProblems(getAtPath(written, ["name"]), given),
    ...pathProblems(written),
    ...inputs,
  ];
}

/** Whether a value was created by defineAgent or loadAgent. */
export function isAgentDefinition(value: unknown): value is AgentDefinition {
  return isRecord(value) && isRecord(value["spec"]) && typeof value["hash"] === "string";
}

function listProblems(own: unknown, agents: readonly unknown[]): readonly DefinitionProblem[] {
  const first = new Map<string, number>();
  return agents.flatMap((agent, index): DefinitionProblem[] => {
    const path = ["agents", index];
    if (!isAgentDefinition(agent)) {
      const message = "expected an agent of defineAgent or loadAgent";
      return [{ path, message, found: showFound(agent) }];
    }
    const { name } = agent.spec;
    if (name === own) {
      return [{ path, message: `agents do not contain themselves: ${name} → ${name}` }];
    }
    const earlier = first.get(name);
    if (earlier !== undefined) {
      return [{ path, message: `"${name}" is already the name of agents[${earlier}]` }];
    }
    first.set(name, index);
    return [];
  });
}

function pathProblems(written: unknown): readonly DefinitionProblem[] {
  return agentReferences(written)
    .filter(({ agent }) => isAgentPath(agent))
    .map(({ agent, at }) => ({
      path: at,
      message:
        "a path is read from files only; load the agent with loadAgent, pass it in agents and name it here",
      found: JSON.stringify(agent),
    }));
}

/**
 * Returns the problems of a TypeScript definition's `rails`. A rail that no entry names would never run.
 */
export function inlineRailProblems(written: unknown, rails: unknown): readonly DefinitionProblem[] {
  if (!Array.isArray(rails)) {
    return [{ path: ["rails"], message: "expected a list of rails", found: showFound(rails) }];
  }
  const named = customRailNames(written);
  const first = new Map<string, number>();
  return (rails as readonly unknown[]).flatMap((rail, index): DefinitionProblem[] => {
    const path = ["rails", index];
    if (!isRail(rail)) {
      return [{ path, message: "expected a rail of defineRail", found: showFound(rail) }];
    }
    const { name } = rail;
    const earlier = first.get(name);
    if (earlier !== undefined) {
      return [{ path, message: `"${name}" is already the name of rails[${earlier}]` }];
    }
    first.set(name, index);
    if (named.includes(name)) return [];
    const message = `no entry { type: custom, name: ${name} } of guardrail_config names it`;
    return [{ path, message, allowed: named, suggestion: nearestName(name, named) }];
  });
}

function isRail(value: unknown): value is { readonly name: string } {
  if (!isRecord(value)) return false;
  const { name, on, check } = value;
  return (
    typeof name === "string" &&
    railNamePattern.test(name) &&
    on instanceof Set &&
    typeof check === "function"
  );
}

function customRailNames(written: unknown): readonly string[] {
  return ["input_rails", "output_rails"].flatMap((side) => {
    const rails = getAtPath(written, ["guardrail_config", side]);
    return (Array.isArray(rails) ? rails : []).flatMap((rail: unknown) => {
      const name = getAtPath(rail, ["name"]);
      return getAtPath(rail, ["type"]) === "custom" && typeof name === "string" ? [name] : [];
    });
  });
}

/** Returns the problems of a TypeScript definition's `workers`, including clashes with its `agents`. */
export function inlineWorkerProblems(
  workers: unknown,
  agents: unknown,
): readonly DefinitionProblem[] {
  if (!Array.isArray(workers)) {
    return [
      { path: ["workers"], message: "expected a list of workers", found: showFound(workers) },
    ];
  }
  const first = new Map<string, string>();
  (Array.isArray(agents) ? agents : []).forEach((agent: unknown, index) => {
    const name = getAtPath(agent, ["spec", "name"]);
    if (typeof name === "string" && !first.has(name)) first.set(name, `agents[${index}]`);
  });
  return (workers as readonly unknown[]).flatMap((worker, index): DefinitionProblem[] => {
    const path = ["workers", index];
    if (!isRecord(worker)) {
      return [{ path, message: "expected a worker of defineWorker", found: showFound(worker) }];
    }
    const problem = workerProblem(worker);
    if (problem !== undefined) return [{ path, message: problem }];
    const name = String(worker["name"]);
    const earlier = first.get(name);
    if (earlier !== undefined) {
      return [{ path, message: `"${name}" is already the name of ${earlier}` }];
    }
    first.set(name, `workers[${index}]`);
    return [];
  });
}

/** Splits tools into the entries that the definition lists (names, servers, packages) and the tools passed as code. */
export function splitTools(given: unknown): {
  readonly names: readonly unknown[];
  readonly tools: readonly AgentTool[];
} {
  if (given === undefined) return { names: [], tools: [] };
  if (Array.isArray(given)) {
    const tools = (given as unknown[]).map((tool) => {
      if (isLangChainTool(tool)) return fromLangChainTool(tool);
      // With a JSON Schema it is data like that of a file, whose problems have paths.
      return isZodClientTool(tool) ? defineTool(tool) : tool;
    });
    return {
      names: tools.map((tool) => (isAgentTool(tool) ? tool.definition.name : tool)),
      tools: tools.filter(isAgentTool),
    };
  }
  if (typeof given !== "object" || given === null) return { names: [], tools: [] };
  const entries = Object.entries(given as Record<string, InlineToolOptions<never, never, never>>);
  return {
    names: entries.map(([name]) => name),
    tools: entries.map(([name, options]) => inlineTool(name, options)),
  };
}

function isZodClientTool(
  tool: unknown,
): tool is ClientToolOptions<unknown> & { readonly name: string } {
  if (!isRecord(tool) || !isClientTransport(tool["transport"])) return false;
  const schemas = [tool["input_schema"], tool["output_schema"]];
  return schemas.some((schema) => isRecord(schema) && isZod(schema));
}

function inlineTool(name: string, options: InlineToolOptions<never, never, never>): AgentTool {
  const given: unknown = options;
  const found =
    isAgentTool(given) || isLangChainTool(given)
      ? "a finished tool"
      : typeof given === "object" && given !== null && !Array.isArray(given)
        ? undefined
        : showFound(given);
  if (found === undefined) return defineInlineTool(name, options);
  throw new InvalidToolError(
    name,
    `expected its options, found ${found}; finished tools and names belong in otherTools or in a list`,
  );
}

function isAgentTool(value: unknown): value is AgentTool {
  const tool = value as Partial<AgentTool> | null;
  return (
    typeof tool === "object" &&
    tool !== null &&
    typeof tool.definition === "object" &&
    (tool.kind === "stateless" || tool.kind === "stateful")
  );
}
