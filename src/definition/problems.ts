import { StratagraphError } from "../errors.ts";

/** Where something stands in a definition: object keys and list indexes from the top. */
export type DefinitionPath = readonly (string | number)[];

/** One thing that is wrong with a definition. */
export interface DefinitionProblem {
  readonly path: DefinitionPath;
  /** What was expected, as a sentence without its full stop. */
  readonly message: string;
  /** What stands there, shortened. */
  readonly found?: string | undefined;
  readonly allowed?: readonly string[] | undefined;
  /** The nearest valid name. */
  readonly suggestion?: string | undefined;
  readonly file?: string | undefined;
  /** 1-based, as is `column`. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

/** A definition is not valid. The message lists every problem, one a line. */
export class InvalidDefinitionError extends StratagraphError {
  readonly code = "invalid_definition";

  constructor(readonly problems: readonly DefinitionProblem[]) {
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    super(
      `The agent definition has ${count}:\n${problems.map((p) => `  ${describeProblem(p)}`).join("\n")}`,
    );
  }
}

/** `workflow_graph.edges[2].to`; the definition itself is `(top level)`. */
export function formatPath(path: DefinitionPath): string {
  const text = path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`))
    .join("")
    .replace(/^\./, "");
  return text === "" ? "(top level)" : text;
}

/** `file:line:column path: message (found …; allowed: …; did you mean "…"?)` */
export function describeProblem(problem: DefinitionProblem): string {
  const { file, line, column, found, allowed, suggestion } = problem;
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  const facts = [
    found === undefined ? "" : `found ${found}`,
    allowed === undefined || allowed.length === 0 ? "" : `allowed: ${allowed.join(", ")}`,
    suggestion === undefined ? "" : `did you mean "${suggestion}"?`,
  ].filter((fact) => fact !== "");
  const path = formatPath(problem.path);
  return (
    `${place === "" ? "" : `${place} `}${path}: ${problem.message}` +
    (facts.length === 0 ? "" : ` (${facts.join("; ")})`)
  );
}

/** A value as a problem shows it: its JSON, at most 60 characters. */
export function showFound(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "a list" : "a map";
  const json = JSON.stringify(value) ?? typeof value;
  return json.length > 60 ? `${json.slice(0, 57)}…` : json;
}
