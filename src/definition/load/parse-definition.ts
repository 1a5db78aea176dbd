import { open } from "node:fs/promises";
import { extname } from "node:path";
import { errorMessage, StratagraphError } from "../../errors.ts";
import type { AgentDefinition } from "../agent-definition.ts";
import { buildDefinition } from "../build-definition.ts";
import { checkDefinition, type CheckedDefinition } from "../check/check-definition.ts";
import { type DefinitionProblem, InvalidDefinitionError } from "../check/problems.ts";
import { readDocument } from "./read-document.ts";

/** A definition file cannot be read: it is missing, too large or not of a supported type. */
export class DefinitionFileError extends StratagraphError {
  readonly code = "definition_file";

  constructor(
    readonly file: string,
    readonly problem: string,
    options?: { cause?: unknown },
  ) {
    super(`${file}: ${problem}`, options);
  }
}

/**
 * Checks a definition given as YAML or JSON text. Agents that it names by path are not loaded.
 *
 * @param file file name for problems; a name that ends in `.json` requires JSON
 * @param source absolute path, stored in the definition
 * @throws InvalidDefinitionError with every problem and its line; syntax errors begin with "YAML:" or "JSON syntax:"
 */
export async function parseDefinition(
  text: string,
  file: string,
  source?: string,
): Promise<AgentDefinition> {
  const { checked, locateProblems: placed } = await readDefinition(text, file);
  if (!checked.ok) throw new InvalidDefinitionError(placed(checked.problems));
  return buildDefinition({
    spec: checked.spec,
    clientTools: checked.clientTools,
    ...(source !== undefined && { source }),
  });
}

/** A definition read from text. */
export interface ReadDefinition {
  /** The document as plain JSON, unchecked. */
  readonly document: unknown;
  readonly checked: CheckedDefinition;
  /** Adds file and position to problems and sorts them by position. */
  readonly locateProblems: (problems: readonly DefinitionProblem[]) => readonly DefinitionProblem[];
}

/** @throws InvalidDefinitionError for text that is not a YAML or JSON document; see {@link parseDefinition} */
export async function readDefinition(text: string, file: string): Promise<ReadDefinition> {
  const read = await readDocument(text, { file, what: "definition" });
  if (!read.ok) throw new InvalidDefinitionError(read.problems);
  const { document: written, locateProblems: placed } = read;
  return { document: written, checked: checkDefinition(written), locateProblems: placed };
}

/** Maximum bytes of a definition file. */
const maxDefinitionBytes = 1_048_576;

/**
 * Reads the text of a `.yaml`, `.yml` or `.json` file.
 *
 * @throws DefinitionFileError
 */
export async function readDefinitionFile(path: string): Promise<string> {
  const extension = extname(path).toLowerCase();
  if (![".yaml", ".yml", ".json"].includes(extension)) {
    throw new DefinitionFileError(path, "expected a .yaml, .yml or .json file");
  }
  const handle = await open(path, "r").catch((cause: NodeJS.ErrnoException) => {
    const problem = cause.code === "ENOENT" ? "there is no such file" : errorMessage(cause);
    throw new DefinitionFileError(path, problem, { cause });
  });
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new DefinitionFileError(path, "expected a file, found a folder");
    if (stat.size > maxDefinitionBytes) {
      throw new DefinitionFileError(
        path,
        `the file has ${stat.size.toLocaleString("en")} bytes, the limit is ${maxDefinitionBytes.toLocaleString("en")}`,
      );
    }
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}
