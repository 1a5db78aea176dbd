import { isDeepStrictEqual } from "node:util";
import { InvalidDefinitionError } from "../../definition/check/problems.ts";
import type { Agents } from "../../storage/platform/agents.ts";
import { ConflictError } from "../../storage/platform/errors.ts";
import type { FolderAgent } from "./agent-folder.ts";

/** A definition of a folder as an agent of a tenant. */
export interface StoredFolderAgent {
  readonly name: string;
  readonly version: string;
  readonly change: "created" | "updated" | "unchanged";
}

/**
 * Stores a definition as an agent of a tenant: a changed one becomes a new version.
 *
 * @throws InvalidDefinitionError if the agent was deactivated; the errors of `Agents.newVersion`
 */
export async function storeFolderAgent(
  store: Pick<Agents, "create" | "get" | "list" | "newVersion">,
  tenantId: string,
  {
    name,
    version,
    document,
    locateProblems,
  }: Pick<FolderAgent, "name" | "version" | "document" | "locateProblems">,
): Promise<StoredFolderAgent> {
  const { items } = await store.list(tenantId, { name });
  const [listed] = items;
  if (listed === undefined) {
    const made = await store
      .create(tenantId, { name, definition: document, version })
      .catch((thrown: unknown) => {
        if (!(thrown instanceof ConflictError)) throw thrown;
        const message = "an agent of this name was deactivated; give the definition another name";
        const problem = { path: ["name"], message, found: name };
        throw new InvalidDefinitionError(locateProblems([problem]));
      });
    return { name, version: made.version, change: "created" };
  }
  const active = await store.get(tenantId, listed.agentId);
  if (isDeepStrictEqual(active.definition, document)) {
    return { name, version: active.version, change: "unchanged" };
  }
  const isNewer = document["version"] !== active.definition["version"];
  const made = await store.newVersion(tenantId, {
    agentId: active.agentId,
    base: active.version,
    definition: document,
    ...(isNewer && document["version"] !== undefined && { version }),
  });
  return { name, version: made.version, change: "updated" };
}
