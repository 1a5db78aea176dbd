import { nearestName } from "../nearest-name.ts";
import { showFound, type DefinitionPath, type DefinitionProblem } from "./problems.ts";
import { nodesOfType, type ReadWorkflow } from "./read-workflow.ts";
import { valueAt } from "./value-at.ts";

/** The tools that a definition names, as it was written. */
export interface WrittenTools {
  /** Undefined where they are not known: something is wrong with the list, or servers and packages name tools of their own. */
  readonly names: readonly string[] | undefined;
  /** `tool_rails.allowed_tools`; undefined where all are allowed. */
  readonly allowed: readonly string[] | undefined;
}

export function writtenTools(written: unknown): WrittenTools {
  return {
    names: listOfNames(valueAt(written, ["tools"]) ?? []),
    allowed: listOfNames(valueAt(written, [...rails, "allowed_tools"])),
  };
}

function listOfNames(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((name) => typeof name === "string")
    ? value
    : undefined;
}

const rails = ["guardrail_config", "tool_rails"];

/**
 * Names in tool rails that are tools neither of the definition nor of an agent inside, whose calls the rails bound too.
 * @param inside names of the tools of agents inside; undefined where not all are known
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
  // Whether an agent inside is stuck its own rails say.
  const checkOwn = checkIn(names);
  const listed = (key: string): readonly unknown[] => {
    const list: unknown = valueAt(written, [...rails, key]);
    return Array.isArray(list) ? list : [];
  };
  return [
    ...["allowed_tools", "require_approval"].flatMap((key) =>
      listed(key).flatMap((name, index) => check(name, [...rails, key, index])),
    ),
    ...listed("repeatable").flatMap((name, index) =>
      checkOwn(name, [...rails, "repeatable", index]),
    ),
    ...listed("rules").flatMap((rule, index) =>
      check(valueAt(rule, ["tool"]), [...rails, "rules", index, "tool"]),
    ),
  ];
}

/** Names in a workflow's nodes that are no tools of the definition, or that its rails do not allow. */
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
