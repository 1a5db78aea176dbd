import { resolve } from "node:path";
import type { AgentDefinition } from "./agent-definition.ts";
import { AgentFiles } from "./agent-files.ts";
import { readDefinitionFile } from "./read-definition-file.ts";
import { InvalidDefinitionError } from "./problems.ts";

/**
 * Loads and checks an agent definition from a `.yaml`, `.yml` or `.json` file, and with it the agents that its agent
 * nodes name by path, relative to the file that names them.
 *
 * @throws DefinitionFileError for a file that is missing, too large or no YAML; InvalidDefinitionError with every
 * problem of the definition and of those it names, each with file, line, column and path
 */
export async function loadAgent(path: string): Promise<AgentDefinition> {
  const loaded = await new AgentFiles(readDefinitionFile).load({
    file: path,
    source: resolve(path),
  });
  if (loaded.ok) return loaded.definition;
  if (loaded.unread !== undefined) throw loaded.unread;
  throw new InvalidDefinitionError(loaded.problems);
}
