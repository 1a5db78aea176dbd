import { nearestName } from "../../nearest-name.ts";
import { clientExecutionKeys, isGranted } from "../tool/tool.ts";
import { isRecord } from "../../values/json.ts";
import { toolEntryName } from "../schema/data-tools.ts";
import { hasMalformedReference, findSecretNames } from "../schema/servers.ts";
import { nodesOfType, type ReadWorkflow } from "../workflow/read-workflow.ts";
import { type DefinitionPath, type DefinitionProblem, showFound, getAtPath } from "./problems.ts";

/** The tools that a written definition names. */
export interface WrittenTools {
  /**
   * Undefined if unknown: the list is invalid, or includes servers or packages that define their own tools.
   */
  readonly names: readonly string[] | undefined;
  /** `tool_rails.allowed_tools`; undefined if all are allowed. */
  readonly allowed: readonly string[] | undefined;
}

export function writtenTools(written: unknown): WrittenTools {
  return {
    names: withImplied(written, entryNames(getAtPath(written, ["tools"]) ?? [])),
    allowed: listOfNames(getAtPath(written, [...railKeys, "allowed_tools"])),
  };
}

/** Tools that an agent with long-term memory has without naming them, if it is granted the permission. */
export const impliedTools: Readonly<Record<string, string>> = {
  recall: "memory:read",
  remember: "memory:write",
};

/** Returns the names of the tools that a written definition has without naming them. */
export function impliedToolNames(written: unknown): readonly string[] {
  if (getAtPath(written, ["memory_config", "long_term", "enabled"]) !== true) return [];
  const grants = listOfNames(getAtPath(written, ["permissions"])) ?? [];
  return Object.entries(impliedTools).flatMap(([name, permission]) =>
    isGranted(permission, grants) ? [name] : [],
  );
}

function withImplied(
  written: unknown,
  names: readonly string[] | undefined,
): readonly string[] | undefined {
  return names && [...new Set([...names, ...impliedToolNames(written)])];
}

/** Undefined if an entry does not say the names of its tools. */
function entryNames(entries: unknown): readonly string[] | undefined {
  return Array.isArray(entries) ? listOfNames(entries.map(toolEntryName)) : undefined;
}

function listOfNames(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((name) => typeof name === "string")
    ? value
    : undefined;
}

const railKeys = ["guardrail_config", "tool_rails"];

/** Reports execution settings that are for tools whose calls the runtime makes. */
export function clientExecutionProblems(
  execution: unknown,
  path: DefinitionPath,
): readonly DefinitionProblem[] {
  return ["retry", "idempotent"]
    .filter((key) => isRecord(execution) && execution[key] !== undefined)
    .map((key) => ({
      path: [...path, key],
      message: "unknown key for a client tool, whose calls the caller makes",
      allowed: clientExecutionKeys,
    }));
}

/**
 * Reports tool rails that name tools neither of the definition nor of its nested agents, whose calls they restrict too.
 * @param inside tool names of nested agents; undefined if not all are known
 */
export function railProblems(
  written: unknown,
  { names }: Pick<WrittenTools, "names">,
  inside: readonly string[] | undefined,
): readonly DefinitionProblem[] {
  if (names === undefined) return [];
  const all = inside && [...new Set([...names, ...inside])];
  const checkIn = (known: readonly string[] | undefined) => (name: unknown, path: DefinitionPath) =>
    typeof name === "string" && name !== "" && known !== undefined
      ? unknownTool(name, known, path)
      : [];
  const check = checkIn(all);
  // Nested agents detect repeated calls with their own rails.
  const checkOwn = checkIn(names);
  const listed = (key: string): readonly unknown[] => {
    const list: unknown = getAtPath(written, [...railKeys, key]);
    return Array.isArray(list) ? list : [];
  };
  return [
    ...["allowed_tools", "require_approval"].flatMap((key) =>
      listed(key).flatMap((name, index) => check(name, [...railKeys, key, index])),
    ),
    ...listed("repeatable").flatMap((name, index) =>
      checkOwn(name, [...railKeys, "repeatable", index]),
    ),
    ...listed("rules").flatMap((rule, index) =>
      check(getAtPath(rule, ["tool"]), [...railKeys, "rules", index, "tool"]),
    ),
  ];
}

/** Reports workflow nodes that name tools unknown to the definition or not allowed by its rails. */
export function toolNameProblems(
  graph: ReadWorkflow,
  { names, allowed }: WrittenTools,
): readonly DefinitionProblem[] {
  if (names === undefined) return [];
  const check = (name: string, path: DefinitionPath): readonly DefinitionProblem[] => {
    if (!names.includes(name)) return unknownTool(name, names, path);
    if (allowed === undefined || allowed.includes(name)) return [];
    const message = "guardrail_config.tool_rails.allowed_tools does not allow this tool";
    return [{ path, message, found: showFound(name), allowed }];
  };
  return [
    ...nodesOfType(graph, "tool").flatMap(({ index, node: { config } }) =>
      config.tool === undefined
        ? []
        : check(config.tool, ["workflow_graph", "nodes", index, "config", "tool"]),
    ),
    ...nodesOfType(graph, "llm").flatMap(({ index, node: { config } }) =>
      (Array.isArray(config.tools) ? config.tools : []).flatMap((name, place) =>
        check(name, ["workflow_graph", "nodes", index, "config", "tools", place]),
      ),
    ),
  ];
}

function unknownTool(
  name: string,
  names: readonly string[],
  path: DefinitionPath,
): readonly DefinitionProblem[] {
  if (names.includes(name)) return [];
  const message = "not one of the definition's tools";
  const suggestion = nearestName(name, names);
  return [{ path, message, found: showFound(name), allowed: names, suggestion }];
}

/** Reports servers that share a name, and secret references that would not be resolved. */
export function serverProblems(written: unknown): readonly DefinitionProblem[] {
  const tools = getAtPath(written, ["tools"]);
  const entries: readonly unknown[] = Array.isArray(tools) ? tools : [];
  return [...sameNames(entries), ...entries.flatMap(misplacedSecrets), ...brokenSecrets(written)];
}

function sameNames(entries: readonly unknown[]): readonly DefinitionProblem[] {
  const first = new Map<string, number>();
  return entries.flatMap((entry, index) => {
    const name = getAtPath(entry, ["mcp", "name"]);
    if (typeof name !== "string") return [];
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, index);
      return [];
    }
    const message = `"${name}" is already the name of the server in tools[${earlier}]`;
    return [{ path: ["tools", index, "mcp", "name"], message }];
  });
}

/** Server keys in which secret references are not resolved. */
const plainKeys = ["command", "cwd"] as const;

function misplacedSecrets(entry: unknown, index: number): readonly DefinitionProblem[] {
  return plainKeys.flatMap((key) => {
    const text = getAtPath(entry, ["mcp", key]);
    if (typeof text !== "string" || findSecretNames(text).length === 0) return [];
    const message = "a reference to a secret is not replaced here";
    return [{ path: ["tools", index, "mcp", key], message, allowed: ["args", "env"] }];
  });
}

/** Reports malformed secret references by path only, since the text may itself be a secret. */
function brokenSecrets(written: unknown): readonly DefinitionProblem[] {
  const rails = getAtPath(written, ["guardrail_config", "output_rails"]);
  const tools = getAtPath(written, ["tools"]);
  return [
    ...(Array.isArray(tools) ? tools : []).flatMap((entry: unknown, index) =>
      isRecord(entry) ? malformedReferences(entry, ["tools", index]) : [],
    ),
    ...(Array.isArray(rails) ? rails : []).flatMap((rail: unknown, index) =>
      malformedReferences(getAtPath(rail, ["config", "moderation"]), [
        "guardrail_config",
        "output_rails",
        index,
        "config",
        "moderation",
      ]),
    ),
  ];
}

/** Reports malformed secret references in all strings of a value. */
export function malformedReferences(
  value: unknown,
  path: DefinitionPath,
): readonly DefinitionProblem[] {
  if (typeof value === "string") {
    if (!hasMalformedReference(value)) return [];
    const message =
      "expected references to secrets such as {{secret:NAME}}, of letters, digits and _";
    return [{ path, message }];
  }
  if (Array.isArray(value)) {
    return value.flatMap((one: unknown, index) => malformedReferences(one, [...path, index]));
  }
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, one]) => malformedReferences(one, [...path, key]));
}
