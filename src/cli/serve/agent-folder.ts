import { readdir } from "node:fs/promises";
import { extname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type DefinitionProblem, InvalidDefinitionError } from "../../definition/check/problems.ts";
import {
  DefinitionFileError,
  readDefinition,
  readDefinitionFile,
} from "../../definition/load/parse-definition.ts";
import { agentReferences, isAgentPath } from "../../definition/check/agents.ts";
import type { Agents } from "../../storage/platform/agents.ts";
import { ConflictError } from "../../storage/platform/errors.ts";

/** A definition of a folder. */
export interface FolderAgent {
  readonly name: string;
  readonly version: string;
  readonly document: Readonly<Record<string, unknown>>;
}

/** What became of a definition. */
export interface StoredFolderAgent {
  readonly name: string;
  readonly version: string;
  readonly change: "created" | "updated" | "unchanged";
}

const extensions = new Set([".yaml", ".yml", ".json"]);

/**
 * Reads and checks all definitions of a folder, not those of folders inside it.
 *
 * @throws InvalidDefinitionError with every problem of every file
 */
export async function readAgentFolder(folder: string): Promise<readonly FolderAgent[]> {
  const names = (await readdir(folder)).filter((name) => extensions.has(extname(name))).toSorted();
  const problems: DefinitionProblem[] = [];
  const agents: FolderAgent[] = [];
  const files = new Map<string, string>();
  for (const file of names) {
    try {
      const text = await readDefinitionFile(join(folder, file));
      const { document, checked, locateProblems } = await readDefinition(text, file);
      const paths = agentReferences(document)
        .filter(({ agent }) => isAgentPath(agent))
        .map(({ at }) => ({
          path: at,
          message: "a served agent names other agents by name, not by path",
        }));
      problems.push(...locateProblems([...(checked.ok ? [] : checked.problems), ...paths]));
      if (!checked.ok) continue;
      const { name, version } = checked.spec;
      const other = files.get(name);
      if (other !== undefined) {
        problems.push({ path: ["name"], message: `${other} has an agent of this name too`, file });
      }
      files.set(name, file);
      agents.push({ name, version, document: document as FolderAgent["document"] });
    } catch (thrown) {
      if (thrown instanceof InvalidDefinitionError) problems.push(...thrown.problems);
      else if (thrown instanceof DefinitionFileError)
        problems.push({ path: [], message: thrown.problem, file });
      else throw thrown;
    }
  }
  if (problems.length > 0) throw new InvalidDefinitionError(problems);
  return agents;
}

/** Stores definitions as the agents of a tenant: a changed one becomes a new version. Agents without a file stay. */
export async function storeFolderAgents(
  store: Pick<Agents, "create" | "get" | "list" | "newVersion">,
  tenantId: string,
  agents: readonly FolderAgent[],
): Promise<readonly StoredFolderAgent[]> {
  const stored: StoredFolderAgent[] = [];
  for (const { name, version, document } of agents) {
    const { items } = await store.list(tenantId, { name });
    const [listed] = items;
    if (listed === undefined) {
      const made = await store
        .create(tenantId, { name, definition: document, version })
        .catch((thrown: unknown) => {
          if (!(thrown instanceof ConflictError)) throw thrown;
          const message = "an agent of this name was deactivated; give the definition another name";
          throw new InvalidDefinitionError([{ path: ["name"], message, found: name }]);
        });
      stored.push({ name, version: made.version, change: "created" });
      continue;
    }
    const active = await store.get(tenantId, listed.agentId);
    if (isDeepStrictEqual(active.definition, document)) {
      stored.push({ name, version: active.version, change: "unchanged" });
    } else {
      const isNewer = document["version"] !== active.definition["version"];
      const made = await store.newVersion(tenantId, {
        agentId: active.agentId,
        base: active.version,
        definition: document,
        ...(isNewer && document["version"] !== undefined && { version }),
      });
      stored.push({ name, version: made.version, change: "updated" });
    }
  }
  return stored;
}
