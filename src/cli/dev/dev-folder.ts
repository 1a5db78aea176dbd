import { basename, dirname, extname, join, relative, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { watch } from "chokidar";
import { type DefinitionProblem, InvalidDefinitionError } from "../../definition/check/problems.ts";
import type { AgentTool } from "../../definition/tool/tool.ts";
import { StratagraphError } from "../../errors.ts";
import { unknownNames, writtenNames } from "../../server/agents/read-definition.ts";
import type { ServerBase } from "../../create-server.ts";
import {
  type FolderAgent,
  type LeftOutFile,
  readAgentFolder,
  storeFolderAgent,
} from "../serve/agent-folder.ts";
import { hiddenToolProblems, type ToolModules } from "./folder-tools.ts";

/** An agent that is served. */
export interface DevAgent {
  readonly name: string;
  readonly version: string;
  readonly file: string;
}

/** The outcome of the newest check of a folder. */
export interface FolderCheck {
  /** Increases when the outcome differs from the one before. */
  readonly revision: number;
  /** ISO time. */
  readonly checkedAt: string;
  /** Agents with a file, in the version that new runs take: the last good one, if the file has problems now. */
  readonly agents: readonly DevAgent[];
  readonly problems: readonly DefinitionProblem[];
  readonly leftOut: readonly LeftOutFile[];
}

/** The parts of a server that a folder is served by. */
export type FolderServer = Pick<ServerBase, "platform" | "runtimes" | "known" | "clock">;

/**
 * The agents of a folder on a server. A check reads all files and stores each valid definition that has changed as a new
 * version. Other definitions keep their last good version.
 */
export class DevFolder {
  /** Tools of new runtimes. */
  tools: readonly AgentTool[] = [];
  #check: FolderCheck = { revision: 0, checkedAt: "", agents: [], problems: [], leftOut: [] };

  constructor(
    private readonly folder: string,
    private readonly modules: ToolModules,
  ) {}

  get lastCheck(): FolderCheck {
    return this.#check;
  }

  /** The folder of an agent's file, which its file tools are confined to; that of all, if the agent has no file. */
  folderOf(agent: string | undefined): string {
    const found = this.#check.agents.find(({ name }) => name === agent);
    return join(this.folder, dirname(found?.file ?? ""));
  }

  /** Checks the folder, and stores what has changed. Call it again after it has ended, not before. */
  async check(server: FolderServer, tenantId: string): Promise<FolderCheck> {
    const read = await readAgentFolder(this.folder);
    const tools = await this.modules.read(read.folders);
    if (!isSameList(this.tools, tools.tools)) {
      this.tools = tools.tools;
      // Runs under way keep the runtime with the tools that they began with.
      server.runtimes.renew();
    }
    const problems = [...read.problems, ...tools.problems];
    const agents = new Map(
      this.#check.agents.filter(({ file }) => isListed(file, read)).map((one) => [one.file, one]),
    );
    const names = new Set([
      ...read.agents.map(({ name }) => name),
      ...[...agents.values()].map(({ name }) => name),
    ]);
    for (const agent of read.agents) {
      const { name, file } = agent;
      const known = await server.known(tenantId, writtenNames(agent.document));
      const own = [
        ...unknownNames(agent.document, { ...known, agents: new Set([...known.agents, ...names]) }),
        ...hiddenToolProblems(agent, tools),
      ];
      const stored = own.length > 0 ? null : await store(agent, server, tenantId);
      if (stored !== null && "version" in stored)
        agents.set(file, { name, version: stored.version, file });
      else problems.push(...(stored?.problems ?? agent.locateProblems(own)));
    }
    const found = {
      agents: [...agents.values()].toSorted((a, b) => (a.file < b.file ? -1 : 1)),
      problems: problems.toSorted(byPlace),
      leftOut: read.leftOut,
    };
    const { revision, checkedAt: _, ...before } = this.#check;
    const isSame = revision > 0 && isDeepStrictEqual(before, found);
    const checkedAt = server.clock.now().toISOString();
    this.#check = { revision: isSame ? revision : revision + 1, checkedAt, ...found };
    return this.#check;
  }
}

async function store(
  agent: FolderAgent,
  server: FolderServer,
  tenantId: string,
): Promise<{ readonly version: string } | { readonly problems: readonly DefinitionProblem[] }> {
  try {
    return await storeFolderAgent(server.platform.agents, tenantId, agent);
  } catch (thrown) {
    if (thrown instanceof InvalidDefinitionError) return { problems: thrown.problems };
    // As for a version that does not follow those before it.
    if (!(thrown instanceof StratagraphError) || thrown.kind !== "usage") throw thrown;
    return { problems: [{ path: [], message: thrown.message, file: agent.file }] };
  }
}

/** Whether a file is still there, valid or not. */
function isListed(
  file: string,
  {
    agents,
    problems,
  }: { readonly agents: readonly FolderAgent[]; readonly problems: readonly DefinitionProblem[] },
): boolean {
  return agents.some((one) => one.file === file) || problems.some((one) => one.file === file);
}

function isSameList<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}

function byPlace(a: DefinitionProblem, b: DefinitionProblem): number {
  const { file: fileA = "", line: lineA = 0, column: columnA = 0 } = a;
  const { file: fileB = "", line: lineB = 0, column: columnB = 0 } = b;
  if (fileA !== fileB) return fileA < fileB ? -1 : 1;
  return lineA - lineB || columnA - columnB;
}

/** Milliseconds without a further change after which a folder is read again. */
const quietMs = 100;

const extensions = new Set([".yaml", ".yml", ".json", ".ts", ".mts", ".js", ".mjs"]);

/**
 * Calls `reload` when definitions or modules of a folder or of folders inside have changed, one call at a time. Folders
 * whose names begin with a dot, and `node_modules`, are left alone.
 *
 * @param onError called with what `reload` or the system throws
 * @returns a function that stops watching, and waits for a call under way; once the watch has begun
 */
export async function watchFolder(
  folder: string,
  reload: () => Promise<void>,
  onError: (thrown: unknown) => void,
): Promise<() => Promise<void>> {
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const watcher = watch(folder, {
    ignoreInitial: true,
    followSymlinks: false,
    ignored: (path, stats) => {
      const parts = relative(folder, path).split(sep);
      if (parts.some((part) => part === "node_modules" || /^\.[^.]/.test(part))) return true;
      // Editors write files of other names, which they then move onto the definition.
      return stats?.isFile() === true && !extensions.has(extname(basename(path)));
    },
  });
  watcher.on("all", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      running = running.then(reload).catch(onError);
    }, quietMs);
  });
  watcher.on("error", onError);
  await new Promise<void>((ready) => {
    watcher.once("ready", ready);
  });
  return async () => {
    clearTimeout(timer);
    await watcher.close();
    await running;
  };
}
