import { isDeepStrictEqual } from "node:util";
import { agentReferences, isAgentPath } from "../../definition/check/agents.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { buildDefinition } from "../../definition/build-definition.ts";
import { checkDefinition } from "../../definition/check/check-definition.ts";
import {
  type DefinitionProblem,
  InvalidDefinitionError,
  showFound,
} from "../../definition/check/problems.ts";
import { impliedTools } from "../../definition/check/tools.ts";
import { nearestName } from "../../nearest-name.ts";
import { isRecord } from "../../values/json.ts";
import { type TenantAllowance, tenantProblems } from "./tenant-rules.ts";

/** A definition that a client wrote: its document, and what was made of it. */
export interface WrittenDefinition {
  readonly document: Readonly<Record<string, unknown>>;
  readonly definition: AgentDefinition;
}

/** The tools and agents that a definition names. */
export interface WrittenNames {
  /** Names and ids. */
  readonly tools: readonly string[];
  readonly agents: readonly string[];
}

/** Those of them that a tenant has. */
export interface KnownNames {
  /** Names by name and by id; of all built-in tools as well. */
  readonly tools: ReadonlyMap<string, string>;
  readonly agents: ReadonlySet<string>;
}

/** Returns the names in a written definition, which may be invalid. */
export function writtenNames(written: unknown): WrittenNames {
  const tools: unknown = isRecord(written) ? written["tools"] : undefined;
  const names = (Array.isArray(tools) ? tools : []).filter((tool) => typeof tool === "string");
  const agents = agentReferences(written).map(({ agent }) => agent);
  return { tools: [...new Set(names)], agents: [...new Set(agents)] };
}

/** Replaces ids of registered tools by their names, which nodes and rails use too. */
function withToolNames(written: unknown, { tools }: KnownNames): unknown {
  if (!isRecord(written) || !Array.isArray(written["tools"])) return written;
  const named = written["tools"].map((tool: unknown) =>
    typeof tool === "string" ? (tools.get(tool) ?? tool) : tool,
  );
  return { ...written, tools: named };
}

/** Returns the problems of names that a tenant does not have. */
export function unknownNames(written: unknown, known: KnownNames): readonly DefinitionProblem[] {
  const tools: unknown = isRecord(written) ? written["tools"] : undefined;
  return [
    ...(Array.isArray(tools) ? tools : []).flatMap((tool: unknown, index) => {
      if (typeof tool !== "string" || tool === "" || known.tools.has(tool)) return [];
      if (Object.hasOwn(impliedTools, tool)) return [];
      const suggestion = nearestName(tool, known.tools.values());
      const message = "expected the name or the id of a tool";
      return [{ path: ["tools", index], message, found: showFound(tool), suggestion }];
    }),
    ...agentReferences(written).flatMap(({ agent, at }) => {
      if (agent === "" || isAgentPath(agent) || known.agents.has(agent)) return [];
      const suggestion = nearestName(agent, known.agents);
      const message = "expected the name of an active agent";
      return [{ path: at, message, found: showFound(agent), suggestion }];
    }),
  ];
}

/** Keys of the row of an agent, which a document does not have. */
const rowKeys = ["id", "tenant_id", "created_at", "updated_at"];

/**
 * Checks a definition as files are checked, and by the rules for tenants.
 *
 * @param by.known what the tenant has of {@link writtenNames}; left out, names are not checked
 * @throws InvalidDefinitionError with every problem
 */
export function readWrittenDefinition(
  given: unknown,
  by: { readonly allow: TenantAllowance | undefined; readonly known?: KnownNames | undefined },
): WrittenDefinition {
  const { allow, known } = by;
  const large = largeLists(given);
  if (large.length > 0) throw new InvalidDefinitionError(large);
  const written = known === undefined ? given : withToolNames(given, known);
  const checked = checkDefinition(written);
  const refused = isRecord(written)
    ? rowKeys
        .filter((key) => key in written)
        .map((key): DefinitionProblem => {
          return { path: [key], message: "set by the server; leave it out" };
        })
    : [];
  const own = [
    ...refused,
    ...tenantProblems(written, allow),
    ...(known === undefined ? [] : unknownNames(written, known)),
  ];
  if (!checked.ok || !isRecord(written) || own.length > 0) {
    const schema = (checked.ok ? [] : checked.problems).filter(
      ({ path }) => !refused.some((problem) => isDeepStrictEqual(problem.path, path)),
    );
    throw new InvalidDefinitionError([...schema, ...own]);
  }
  return { document: written, definition: buildDefinition(checked) };
}

/** Entries that a definition may have. Checking more, most of them wrong, would hold up the requests of others. */
const maxEntries = {
  keys: 200,
  tools: 1_000,
  ownTools: 200,
  nodes: 1_000,
  edges: 2_000,
  rails: 100,
};
/** Characters of all expressions of a workflow: each takes more than a microsecond to compile. */
const maxExpressions = 200_000;

function largeLists(written: unknown): readonly DefinitionProblem[] {
  if (!isRecord(written)) return [];
  const { tools, workflow_graph: graph, guardrail_config: rails } = written;
  const { nodes, edges } = isRecord(graph) ? graph : {};
  const {
    input_rails: input,
    output_rails: output,
    tool_rails: limits,
  } = isRecord(rails) ? rails : {};
  const ownTools = Array.isArray(tools) ? tools.filter((tool) => typeof tool !== "string") : [];
  const counted = [
    [Object.keys(written), [], maxEntries.keys, "entries"],
    [tools, ["tools"], maxEntries.tools, "entries"],
    [ownTools, ["tools"], maxEntries.ownTools, "tools that are written out"],
    [nodes, ["workflow_graph", "nodes"], maxEntries.nodes, "entries"],
    [edges, ["workflow_graph", "edges"], maxEntries.edges, "entries"],
    [input, ["guardrail_config", "input_rails"], maxEntries.rails, "entries"],
    [output, ["guardrail_config", "output_rails"], maxEntries.rails, "entries"],
    [
      isRecord(limits) ? limits["rules"] : undefined,
      ["guardrail_config", "tool_rails", "rules"],
      maxEntries.rails,
      "entries",
    ],
  ] as const;
  const problems = counted.flatMap(([list, path, most, what]) => {
    const count = Array.isArray(list) ? list.length : 0;
    if (count <= most) return [];
    return [{ path: [...path], message: `at most ${most} ${what}`, found: `${count}` }];
  });
  const size = expressionSize(graph);
  if (size <= maxExpressions) return problems;
  const message = `at most ${maxExpressions} characters of expressions`;
  return [...problems, { path: ["workflow_graph"], message, found: `${size}` }];
}

/** Returns the characters of the conditions and of the templates in a value, which bodies bound in depth. */
function expressionSize(value: unknown, key = ""): number {
  if (typeof value === "string") return key === "condition" ? value.length : templateSize(value);
  if (typeof value !== "object" || value === null) return 0;
  let size = 0;
  for (const [name, inner] of Object.entries(value)) size += expressionSize(inner, name);
  return size;
}

/** Returns the characters of the templates of a text: up to the last brace before the next one, as braces may be nested. */
function templateSize(text: string): number {
  const [, ...parts] = text.split("${");
  return parts.reduce((size, part) => size + part.lastIndexOf("}") + "${}".length, 0);
}

/**
 * Reads a stored definition.
 *
 * @throws InvalidDefinitionError if this version no longer accepts it
 */
export function readStoredDefinition(document: unknown): AgentDefinition {
  const checked = checkDefinition(document);
  if (!checked.ok) throw new InvalidDefinitionError(checked.problems);
  return buildDefinition(checked);
}

/** Applies a merge patch (RFC 7396): null removes a key, maps are merged, all else is replaced. */
export function mergePatch(document: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged = new Map(Object.entries(isRecord(document) ? document : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}
