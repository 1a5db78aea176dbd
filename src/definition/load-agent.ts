import { open } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { errorMessage } from "../errors.ts";
import type { AgentDefinition } from "./agent-definition.ts";
import { AgentFiles } from "./agent-files.ts";
import { DefinitionFileError } from "./parse-definition.ts";
import { InvalidDefinitionError } from "./problems.ts";

/** Bytes of a definition file. */
const maxDefinitionBytes = 1_048_576;

/**
 * Loads and checks an agent definition from a `.yaml`, `.yml` or `.json` file, and with it the agents that its agent
 * nodes name by path, relative to the file that names them.
 *
 * @throws DefinitionFileError for a file that is missing, too large or no YAML; InvalidDefinitionError with every
 * problem of the definition and of those it names, each with file, line, column and path
 */
export async function loadAgent(path: string): Promise<AgentDefinition> {
  const loaded = await new AgentFiles(readText).load({ file: path, source: resolve(path) });
  if (loaded.ok) return loaded.definition;
  if (loaded.unread !== undefined) throw loaded.unread;
  throw new InvalidDefinitionError(loaded.problems);
}

async function readText(path: string): Promise<string> {
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
