import type { Document, LineCounter, ParsedNode } from "yaml";
import { errorMessage, StratagraphError } from "../errors.ts";
import type { AgentDefinition } from "./agent-definition.ts";
import { buildDefinition } from "./build-definition.ts";
import { checkDefinition } from "./check-definition.ts";
import { InvalidDefinitionError, type DefinitionPath, type DefinitionProblem } from "./problems.ts";

/** A definition file cannot be read as what it should be. */
export class DefinitionFileError extends StratagraphError {
  readonly code = "definition_file";

  constructor(
    readonly file: string,
    problem: string,
    options?: { cause?: unknown },
  ) {
    super(`${file}: ${problem}`, options);
  }
}

/**
 * Checks a definition given as YAML or JSON text (JSON is YAML).
 *
 * @param file named in problems
 * @param source absolute path, kept in the definition
 * @throws DefinitionFileError for text that is no YAML, InvalidDefinitionError with every problem and its line
 */
export async function parseDefinition(
  text: string,
  file: string,
  source?: string,
): Promise<AgentDefinition> {
  const yaml = await import("yaml");
  const lines = new yaml.LineCounter();
  let document: Document.Parsed;
  try {
    document = yaml.parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      uniqueKeys: true,
    });
  } catch (cause) {
    throw new DefinitionFileError(file, `not readable as YAML: ${errorMessage(cause)}`, { cause });
  }
  if (document.errors.length > 0) {
    throw new InvalidDefinitionError(
      document.errors.map((error) => {
        const { line, col } = lines.linePos(error.pos[0]);
        return { path: [], message: `YAML: ${error.message}`, file, line, column: col };
      }),
    );
  }
  const checked = checkDefinition(toPlain(document, file));
  if (checked.ok) {
    return buildDefinition({ spec: checked.spec, ...(source !== undefined && { source }) });
  }
  const placed = checked.problems.map((problem) => ({
    ...problem,
    file,
    ...positionOf(document, lines, problem),
  }));
  throw new InvalidDefinitionError(
    placed.toSorted((a, b) => a.line - b.line || a.column - b.column),
  );
}

/** Aliases are few in a definition; a file that multiplies them is an attack. */
const maxAliases = 100;

function toPlain(document: Document.Parsed, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: maxAliases });
  } catch (cause) {
    throw new DefinitionFileError(file, `not readable as YAML: ${errorMessage(cause)}`, { cause });
  }
}

/** Where a problem stands: its key for an unknown key, its value otherwise, or the nearest part of its path. */
function positionOf(
  document: Document.Parsed,
  lines: LineCounter,
  { path, message }: DefinitionProblem,
): { line: number; column: number } {
  const offset =
    (message === "unknown key" ? keyOffset(document, path) : undefined) ??
    nearestOffset(document, path);
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function nearestOffset(document: Document.Parsed, path: DefinitionPath): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true) as ParsedNode | undefined;
    if (node?.range) return node.range[0];
    const key = keyOffset(document, path.slice(0, length));
    if (key !== undefined) return key;
  }
  return document.contents?.range?.[0] ?? 0;
}

function keyOffset(document: Document.Parsed, path: DefinitionPath): number | undefined {
  const parent = (
    path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true)
  ) as
    | { items?: { key?: { value?: unknown; range?: [number, number, number] } }[] }
    | null
    | undefined;
  const pair = parent?.items?.find(({ key }) => String(key?.value) === String(path.at(-1)));
  return pair?.key?.range?.[0];
}
