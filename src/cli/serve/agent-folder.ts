import { readdir } from "node:fs/promises";
import { dirname, extname, isAbsolute, join, posix, relative, resolve, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { agentReferences, isAgentPath } from "../../definition/check/agents.ts";
import { type DefinitionProblem, InvalidDefinitionError } from "../../definition/check/problems.ts";
import { loadAgent } from "../../definition/load/load-agent.ts";
import {
  DefinitionFileError,
  type ReadDefinition,
  readDefinition,
  readDefinitionFile,
} from "../../definition/load/parse-definition.ts";
import { agentSpecSchema } from "../../definition/schema/agent.ts";
import type { Agents } from "../../storage/platform/agents.ts";
import { ConflictError } from "../../storage/platform/errors.ts";
import { isRecord } from "../../values/json.ts";

/** A valid definition of a folder. */
export interface FolderAgent {
  readonly name: string;
  readonly version: string;
  /** As written, with names in place of the paths of other agents. */
  readonly document: Readonly<Record<string, unknown>>;
  /** Path from the folder, with `/`. */
  readonly file: string;
  /** Adds file and position to problems of the document. */
  readonly locateProblems: ReadDefinition["locateProblems"];
}

/** A file that is not served, and why. */
export interface LeftOutFile {
  readonly file: string;
  readonly reason: string;
}

/** What a folder has. Files are paths from it. */
export interface AgentFolder {
  /** In the order of their files. */
  readonly agents: readonly FolderAgent[];
  /** Of definitions that are not valid, and are not among `agents`. */
  readonly problems: readonly DefinitionProblem[];
  readonly leftOut: readonly LeftOutFile[];
  /** Folders with definitions, valid or not; the folder itself is `.`. */
  readonly folders: readonly string[];
}

const definitionExtensions = new Set([".yaml", ".yml", ".json"]);
const codeExtensions = new Set([".ts", ".mts", ".js", ".mjs"]);

/** Files of other programs, which lie in the folder of a project. */
const otherFiles =
  /^(?:package|package-lock|tsconfig.*|jsconfig.*|langgraph|stratagraph|(?:docker-)?compose.*|pnpm-.*)\.(?:json|ya?ml)$/;

/**
 * Reads and checks the definitions of a folder: its `.yaml`, `.yml` and `.json` files that are agents, `agent.*` of the
 * folders directly in it, and the files that these name by path. The paths become the names of those agents.
 *
 * @throws the errors of reading the folder itself
 */
export async function readAgentFolder(folder: string): Promise<AgentFolder> {
  const { files, code } = await listFiles(folder);
  const reader = new FolderReader(folder);
  for (const file of files) await reader.read(file, { isAgent: isAgentFile(file) });
  const read = [...reader.files.keys()];
  return {
    ...reader.finish(),
    leftOut: [
      ...reader.leftOut,
      ...code.map((file) => ({
        file,
        reason: "an agent in code; a server takes definitions that are data",
      })),
    ].toSorted((a, b) => byName(a.file, b.file)),
    folders: [...new Set(read.map((file) => posix.dirname(file)))],
  };
}

/** The files that may be agents. Folders whose names begin with a dot, and `node_modules`, are left alone. */
async function listFiles(folder: string) {
  const files: string[] = [];
  const code: string[] = [];
  const add = (file: string) => {
    const extension = extname(file);
    if (definitionExtensions.has(extension)) files.push(file);
    else if (isAgentFile(file) && codeExtensions.has(extension)) code.push(file);
  };
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => byName(a.name, b.name))) {
    const { name } = entry;
    if (name.startsWith(".") || name === "node_modules") continue;
    if (!entry.isDirectory()) {
      if (!otherFiles.test(name)) add(name);
      continue;
    }
    // A folder may be gone by now, or may not be readable.
    const inside = await readdir(join(folder, name)).catch((): string[] => []);
    for (const file of inside.toSorted(byName)) if (isAgentFile(file)) add(`${name}/${file}`);
  }
  return { files, code };
}

/** Orders names by their characters, independent of the locale. */
function byName(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** Whether a file has the name of the agent of its folder. */
function isAgentFile(file: string): boolean {
  return posix.basename(file, extname(file)) === "agent";
}

interface ReadFile extends ReadDefinition {
  /** Files by the paths with which nodes name them. */
  readonly named: ReadonlyMap<string, string>;
  readonly problems: readonly DefinitionProblem[];
}

/** Reads files and those that they name, each once. */
class FolderReader {
  /** By path from the folder; null for a file that cannot be read as a document. */
  readonly files = new Map<string, ReadFile | null>();
  readonly leftOut: LeftOutFile[] = [];
  readonly #problems: DefinitionProblem[] = [];

  constructor(private readonly folder: string) {}

  /** @param given.isAgent whether the file is an agent by its name or since another names it */
  async read(file: string, { isAgent }: { readonly isAgent: boolean }): Promise<void> {
    if (this.files.has(file)) return;
    try {
      const text = await readDefinitionFile(join(this.folder, file));
      const read = await readDefinition(text, file);
      if (!isAgent && !isAgentLike(read.document)) {
        this.leftOut.push({ file, reason: "not an agent: it has few keys of a definition" });
        return;
      }
      const named = new Map<string, string>();
      const outside: DefinitionProblem[] = [];
      for (const { agent, at } of agentReferences(read.document)) {
        if (!isAgentPath(agent)) continue;
        const path = relative(this.folder, resolve(this.folder, dirname(file), agent));
        if (path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path)) {
          const message = "expected a file of the folder that is served";
          outside.push({ path: at, message, found: JSON.stringify(agent) });
        } else named.set(agent, path.replaceAll(sep, "/"));
      }
      // Problems between agents are those of the file with all that it names.
      const problems =
        outside.length === 0 && named.size > 0
          ? await this.#checkWhole(file)
          : read.locateProblems([...(read.checked.ok ? [] : read.checked.problems), ...outside]);
      this.files.set(file, { ...read, named, problems });
      for (const path of named.values()) await this.read(path, { isAgent: true });
    } catch (thrown) {
      this.files.set(file, null);
      if (thrown instanceof InvalidDefinitionError) this.#problems.push(...thrown.problems);
      else if (thrown instanceof DefinitionFileError)
        this.#problems.push({ path: [], message: thrown.problem, file });
      else throw thrown;
    }
  }

  finish(): Pick<AgentFolder, "agents" | "problems"> {
    const agents: FolderAgent[] = [];
    const problems = [...this.#problems];
    const files = new Map<string, string>();
    for (const [file, read] of [...this.files].toSorted(([a], [b]) => byName(a, b))) {
      if (read === null) continue;
      problems.push(...read.problems);
      if (!read.checked.ok || read.problems.length > 0) continue;
      const { name, version } = read.checked.spec;
      const other = files.get(name);
      if (other !== undefined) {
        const message = `${other} has an agent of this name too`;
        problems.push(...read.locateProblems([{ path: ["name"], message }]));
        continue;
      }
      files.set(name, file);
      const { locateProblems } = read;
      agents.push({ name, version, document: this.#compose(read), file, locateProblems });
    }
    return { agents, problems: unique(problems) };
  }

  async #checkWhole(file: string): Promise<readonly DefinitionProblem[]> {
    const start = join(this.folder, file).slice(0, -file.length);
    const shown = (text: string) => text.replaceAll(start, "");
    try {
      await loadAgent(join(this.folder, file));
      return [];
    } catch (thrown) {
      if (!(thrown instanceof InvalidDefinitionError)) throw thrown;
      return thrown.problems.map((problem) => ({
        ...problem,
        message: shown(problem.message),
        ...(problem.file !== undefined && { file: shown(problem.file).replaceAll(sep, "/") }),
      }));
    }
  }

  /** Replaces the paths of agents by their names. */
  #compose({ document, named }: ReadFile): FolderAgent["document"] {
    const composed = structuredClone(document) as Record<string, unknown>;
    for (const { agent, at } of agentReferences(document)) {
      const inside = this.files.get(named.get(agent) ?? "");
      if (!inside?.checked.ok) continue;
      let parent: unknown = composed;
      for (const key of at.slice(0, -1)) parent = (parent as Record<string | number, unknown>)[key];
      (parent as Record<string | number, unknown>)[at.at(-1) ?? ""] = inside.checked.spec.name;
    }
    return composed;
  }
}

/** Whether a document is an agent, perhaps with mistakes, rather than a file of another program. */
function isAgentLike(document: unknown): boolean {
  if (!isRecord(document)) return false;
  const keys = Object.keys(document);
  const known = keys.filter((key) => Object.hasOwn(agentSpecSchema.shape, key));
  return known.length > 0 && known.length * 2 >= keys.length;
}

/** A file that several name has its problems once. */
function unique(problems: readonly DefinitionProblem[]): readonly DefinitionProblem[] {
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}

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
