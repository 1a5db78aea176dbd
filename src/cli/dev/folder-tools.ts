import { stat } from "node:fs/promises";
import { join, posix } from "node:path";
import { systemClock } from "../../clock.ts";
import type { DefinitionProblem } from "../../definition/check/problems.ts";
import type { AgentTool } from "../../definition/tool/tool.ts";
import { StratagraphError } from "../../errors.ts";
import { createBuiltinTools } from "../../tools/builtins/create-builtin-tools.ts";
import { isRecord } from "../../values/json.ts";
import type { FolderAgent } from "../serve/agent-folder.ts";
import { loadTools } from "../load.ts";

/** The tools of a folder: a server has one tool of a name for all of its agents. */
export interface FolderTools {
  readonly tools: readonly AgentTool[];
  readonly problems: readonly DefinitionProblem[];
  /** Where the tool is that has the name of one in a folder's module: by folder, then by name. */
  readonly hidden: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

interface LoadedModule {
  /** Changes with the file. */
  readonly state: string;
  readonly tools: readonly AgentTool[];
  /** Why it could not be loaded. */
  readonly problem?: string;
}

const names = ["tools.ts", "tools.mts", "tools.mjs", "tools.js"];
/** The tools that a server has without modules. */
const builtIn = "a built-in tool";

/** The modules `tools.*` in folders with definitions. A module is loaded anew when its file changes. */
export class ToolModules {
  readonly #loaded = new Map<string, LoadedModule>();
  #version = 0;

  /** @param shared tools of all agents, which come before those of the folder */
  constructor(
    private readonly folder: string,
    private readonly shared: { readonly file: string; readonly tools: readonly AgentTool[] },
  ) {}

  /** Loads the modules of these folders, which are paths from the folder. */
  async read(folders: readonly string[]): Promise<FolderTools> {
    const owners = new Map(builtinNames().map((name) => [name, builtIn]));
    const tools = this.shared.tools.filter(({ definition }) => !owners.has(definition.name));
    for (const { definition } of tools) owners.set(definition.name, this.shared.file);
    const problems: DefinitionProblem[] = [];
    const hidden = new Map<string, Map<string, string>>();
    for (const folder of [...new Set(folders)].toSorted()) {
      const file = await this.#find(folder);
      if (file === undefined) continue;
      const loaded = await this.#load(file);
      if (loaded.problem !== undefined) problems.push({ path: [], message: loaded.problem, file });
      const ofFolder = new Map<string, string>();
      for (const tool of loaded.tools) {
        const { name } = tool.definition;
        const owner = owners.get(name);
        if (owner === undefined) {
          owners.set(name, file);
          tools.push(tool);
          continue;
        }
        ofFolder.set(name, owner);
        problems.push({ path: [], message: clash(name, owner), file });
      }
      hidden.set(folder, ofFolder);
    }
    return { tools, problems, hidden };
  }

  /** The module of a folder. Where one was compiled from another, the source is taken. */
  async #find(folder: string): Promise<string | undefined> {
    for (const name of names) {
      const file = posix.join(folder, name);
      if ((await this.#stateOf(file)) !== undefined) return file;
    }
    return undefined;
  }

  async #stateOf(file: string): Promise<string | undefined> {
    const found = await stat(join(this.folder, file)).catch(() => undefined);
    return found?.isFile() === true ? `${found.mtimeMs} ${found.size}` : undefined;
  }

  async #load(file: string): Promise<LoadedModule> {
    const state = (await this.#stateOf(file)) ?? "";
    const known = this.#loaded.get(file);
    // A module that failed may succeed later, when one that it imports was mended.
    if (known?.state === state && known.problem === undefined) return known;
    const version = known === undefined ? 0 : (this.#version += 1);
    const loaded = await loadTools(file, { cwd: this.folder, version }).then(
      (tools): LoadedModule => ({ state, tools }),
      (thrown: unknown): LoadedModule => {
        if (!(thrown instanceof StratagraphError)) throw thrown;
        const problem = thrown.message.replaceAll(join(this.folder, file), file);
        // The last good tools stay.
        return { state, tools: known?.tools ?? [], problem };
      },
    );
    this.#loaded.set(file, loaded);
    return loaded;
  }
}

/** Problems of an agent that names a tool of its own module, where another tool of that name is served. */
export function hiddenToolProblems(
  { document, file }: Pick<FolderAgent, "document" | "file">,
  { hidden }: FolderTools,
): readonly DefinitionProblem[] {
  const own = hidden.get(posix.dirname(file));
  const { tools } = document;
  if (own === undefined || !Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown, index) => {
    const name = isRecord(tool) ? tool["name"] : tool;
    const owner = typeof name === "string" ? own.get(name) : undefined;
    if (owner === undefined) return [];
    return [{ path: ["tools", index], message: clash(String(name), owner) }];
  });
}

function clash(name: string, owner: string): string {
  const other =
    owner === builtIn ? `there is ${builtIn} "${name}"` : `${owner} has a tool "${name}"`;
  return `${other} too, and the tools of a server are shared by name; rename one of them`;
}

function builtinNames(): readonly string[] {
  const sandbox = {
    run: () => Promise.reject(new TypeError("only the names are used")),
    close: () => Promise.resolve(),
  };
  return createBuiltinTools({ root: ".", clock: systemClock, sandbox }).map(
    ({ definition }) => definition.name,
  );
}
