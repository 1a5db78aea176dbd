import { StratagraphError } from "../../errors.ts";

/** A path in a definition: object keys and list indexes from the top level. */
export type DefinitionPath = readonly (string | number)[];

/** One problem of a definition. */
export interface DefinitionProblem {
  readonly path: DefinitionPath;
  /** The expectation, as a sentence without its full stop. */
  readonly message: string;
  /** The value found, truncated. */
  readonly found?: string | undefined;
  readonly allowed?: readonly string[] | undefined;
  /** The nearest valid name. */
  readonly suggestion?: string | undefined;
  readonly file?: string | undefined;
  /** 1-based, as is `column`. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

/** Maximum number of problems in a message; `problems` contains all. */
const maxShown = 50;

/** A definition is not valid. The message lists the problems, one per line. */
export class InvalidDefinitionError extends StratagraphError {
  readonly code = "invalid_definition";

  constructor(readonly problems: readonly DefinitionProblem[]) {
    super(problemsMessage("The agent definition", problems));
  }
}

/** Renders `The agent definition has 2 problems:` and the problems, one per line. */
export function problemsMessage(what: string, problems: readonly DefinitionProblem[]): string {
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  return [`${what} has ${count}:`, ...problemLines(problems).map((line) => `  ${line}`)].join("\n");
}

/** Renders the first 50 problems, one per line, and the number of further ones. */
export function problemLines(problems: readonly DefinitionProblem[]): string[] {
  const lines = problems.slice(0, maxShown).map(describeProblem);
  const more = problems.length - lines.length;
  return more === 0 ? lines : [...lines, `… and ${more} more`];
}

/** Renders a path: `workflow_graph.edges[2].to`, unusual keys as `["a b"]`, the definition itself as `(top level)`. */
export function formatPath(path: DefinitionPath): string {
  const text = path
    .map((part) => {
      if (typeof part === "number") return `[${part}]`;
      return /^[\w$-]{1,64}$/.test(part) ? `.${part}` : `[${quote(part)}]`;
    })
    .join("")
    .replace(/^\./, "");
  return text === "" ? "(top level)" : text;
}

/** Maximum number of `allowed` values in a message. */
const maxAllowedShown = 32;

/**
 * Renders `file:line:column path: message (found …; allowed: …; did you mean "…"?)`. The path is omitted for problems
 * of a whole file.
 */
export function describeProblem(problem: DefinitionProblem): string {
  const { file, line, column, found, allowed, suggestion } = problem;
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  const facts = [
    found === undefined ? "" : `found ${found}`,
    allowed === undefined || allowed.length === 0 ? "" : `allowed: ${listNames(allowed)}`,
    suggestion === undefined ? "" : `did you mean "${suggestion}"?`,
  ].filter((fact) => fact !== "");
  const whole = problem.path.length === 0 && place !== "";
  const subject = `${place === "" ? "" : `${place} `}${whole ? "" : `${formatPath(problem.path)}: `}`;
  return `${subject}${problem.message}` + (facts.length === 0 ? "" : ` (${facts.join("; ")})`);
}

function listNames(names: readonly string[]): string {
  const more = names.length - maxAllowedShown;
  if (more <= 0) return names.join(", ");
  return `${names.slice(0, maxAllowedShown).join(", ")} and ${more} more`;
}

/** Renders a value for a problem: at most 60 characters of its JSON, or its type. */
export function showFound(value: unknown): string {
  switch (typeof value) {
    case "undefined":
      return "nothing";
    case "function":
      return "a function";
    case "symbol":
      return "a symbol";
    case "object":
      return showObject(value);
    case "string":
      return quote(value);
    default:
      return String(value);
  }
}

/** Escapes control characters and direction marks, which could change how a terminal displays a message. */
function quote(text: string): string {
  const short = text.length > 58 ? `${text.slice(0, 57)}…` : text;
  return JSON.stringify(short).replaceAll(
    /\p{C}/gu,
    (mark) => `\\u{${mark.codePointAt(0)?.toString(16) ?? ""}}`,
  );
}

function showObject(value: object | null): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  return Object.keys(value).length === 0 ? "an empty map" : "a map";
}

/** Returns the value at a path, or undefined if the path does not exist. Follows own properties only. */
export function getAtPath(value: unknown, path: DefinitionPath): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, part)) {
      return undefined;
    }
    current = (current as Record<string | number, unknown>)[part];
  }
  return current;
}
