import { StratagraphError } from "../errors.ts";
import type { AgentDefinition } from "./agent-definition.ts";
import { buildDefinition } from "./build-definition.ts";
import { checkDefinition } from "./check-definition.ts";
import { jsonSyntaxProblem } from "./json-text.ts";
import { PositionFinder } from "./position.ts";
import { InvalidDefinitionError } from "./problems.ts";
import { toPlain, yamlFaults, type YamlFault } from "./yaml-faults.ts";

/** A definition file cannot be read: it is not there, too large, or no file of the kind. */
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
 * Checks a definition given as YAML or JSON text.
 *
 * @param file named in problems; one that ends in `.json` has to be JSON
 * @param source absolute path, kept in the definition
 * @throws InvalidDefinitionError with every problem and its line; those of text that is neither begin with
 * "YAML:" or "JSON syntax:"
 */
export async function parseDefinition(
  text: string,
  file: string,
  source?: string,
): Promise<AgentDefinition> {
  const syntax = file.toLowerCase().endsWith(".json") ? jsonSyntaxProblem(text) : undefined;
  if (syntax !== undefined) throw new InvalidDefinitionError([{ ...syntax, file }]);
  const yaml = await import("yaml");
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
  });
  const positions = new PositionFinder(document, lines);
  const refuse = (faults: readonly YamlFault[]) =>
    new InvalidDefinitionError(
      faults.map(({ what, offset }) => {
        return { path: [], message: `YAML: ${what}`, file, ...positions.at(offset) };
      }),
    );
  const faults = yamlFaults(document, yaml.visit);
  if (faults.length > 0) throw refuse(faults);
  if (document.contents === null) {
    const message = "expected a definition, but the file is empty";
    throw new InvalidDefinitionError([{ path: [], message, file, ...positions.at(0) }]);
  }
  const plain = toPlain(document);
  if ("fault" in plain) throw refuse([plain.fault]);
  const checked = checkDefinition(plain.value);
  if (checked.ok) {
    return buildDefinition({ spec: checked.spec, ...(source !== undefined && { source }) });
  }
  const placed = checked.problems.map((problem) => {
    return { ...problem, file, ...positions.of(problem) };
  });
  throw new InvalidDefinitionError(
    placed.toSorted((a, b) => a.line - b.line || a.column - b.column),
  );
}
