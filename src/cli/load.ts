import { stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { extname, isAbsolute, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import { loadAgent } from "../definition/load/load-agent.ts";
import type { AgentTool } from "../definition/tool/tool.ts";
import { errorMessage, StratagraphError } from "../errors.ts";
import { UsageError } from "./io.ts";

/**
 * Returns `file`.
 * @param shown the path as it was given, for the message
 * @throws UsageError when it is not a file
 */
export async function existingFile(file: string, shown: string): Promise<string> {
  const found = await stat(file).catch((cause: unknown) => {
    throw new UsageError(`There is no file ${shown}.`, "file_not_found", { cause });
  });
  if (!found.isFile()) throw new UsageError(`${shown} is not a file.`, "file_not_found");
  return file;
}

/** As {@link existingFile}, for folders. */
export async function existingFolder(folder: string, shown: string): Promise<string> {
  const found = await stat(folder).catch((cause: unknown) => {
    throw new UsageError(`There is no folder ${shown}.`, "folder_not_found", { cause });
  });
  if (!found.isDirectory()) throw new UsageError(`${shown} is not a folder.`, "folder_not_found");
  return folder;
}

const moduleExtensions: readonly string[] = [".js", ".mjs", ".ts", ".mts"];

const typescriptExtensions: readonly string[] = [".ts", ".mts"];

/** A module of the user's threw while it was loaded, or cannot be read as code. */
class ModuleLoadError extends StratagraphError {
  readonly code = "module_load";

  constructor(
    readonly file: string,
    cause: unknown,
  ) {
    const place = placeIn(file, cause);
    super(`Cannot load ${file}: ${errorMessage(cause)}${place === "" ? "" : ` (${place})`}`, {
      cause,
    });
  }
}

/**
 * Imports a module of the user's. As an ES module it shares this package with the command line, so that errors made there
 * are known here.
 *
 * @param file absolute path of a file that exists
 * @throws ModuleLoadError; UsageError when it is TypeScript and tsx is not installed; what it threw on purpose
 */
async function loadModule(file: string, version = 0): Promise<Record<string, unknown>> {
  if (typescriptExtensions.includes(extname(file))) await ensureTypeScript(file);
  try {
    const { href } = pathToFileURL(file);
    const url = version === 0 ? href : `${href}?version=${version}`;
    // A CommonJS module is known by its file alone.
    if (version > 0) delete createRequire(import.meta.url).cache[file];
    const module = (await import(url)) as Record<string, unknown>;
    return isCommonJs(module) ? module["default"] : module;
  } catch (thrown) {
    if (thrown instanceof StratagraphError) throw thrown;
    throw new ModuleLoadError(file, thrown);
  }
}

/** A module that was compiled to CommonJS comes as one default export that holds all of its own. */
function isCommonJs(
  module: Record<string, unknown>,
): module is { default: Record<string, unknown> } {
  const exported = module["default"];
  return typeof exported === "object" && exported !== null && "__esModule" in exported;
}

let typescript: Promise<void> | undefined;

/** Lets this process import TypeScript, unless it does already, as this file being one shows. */
function ensureTypeScript(file: string): Promise<void> {
  if (extname(fileURLToPath(import.meta.url)) === ".ts") return Promise.resolve();
  typescript ??= registerTsx(file);
  return typescript;
}

async function registerTsx(file: string): Promise<void> {
  try {
    // Not tsImport: that gives the module copies of its own of all it imports, this package included.
    const [modules, commonJs] = [await import("tsx/esm/api"), await import("tsx/cjs/api")];
    modules.register();
    // For files in a package whose package.json does not say `"type": "module"`.
    commonJs.register();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new UsageError(
      `${file} is TypeScript, which needs tsx to load. Install it: npm install --save-dev tsx`,
      "missing_tsx",
      { cause },
    );
  }
}

/** `line:column` inside the file where it went wrong, as the stack has it; for a syntax error the line alone. */
function placeIn(file: string, thrown: unknown): string {
  const stack = thrown instanceof Error ? (thrown.stack ?? "") : "";
  for (const name of [pathToFileURL(file).href, file]) {
    const start = stack.indexOf(name);
    const place = /^(?:\?version=\d+)?:(\d+(?::\d+)?)/.exec(stack.slice(start + name.length));
    if (start >= 0 && place?.[1] !== undefined) return place[1];
  }
  return "";
}

const dataExtensions = [".yaml", ".yml", ".json"];

/**
 * Loads an agent from a definition file, or from a module that exports one: by default, or as its only agent.
 *
 * @param path relative to `cwd`
 * @throws UsageError, InvalidDefinitionError, ModuleLoadError
 */
export async function loadDefinition(path: string, cwd: string): Promise<AgentDefinition> {
  const extension = extname(path).toLowerCase();
  if (![...dataExtensions, ...moduleExtensions].includes(extension)) {
    throw new UsageError(
      `${path} is not an agent: expected a definition (${dataExtensions.join(", ")}) or a module (${moduleExtensions.join(", ")}).`,
      "unknown_file_type",
    );
  }
  const file = await existingFile(resolve(cwd, path), path);
  // Problems name the file as it was given.
  if (dataExtensions.includes(extension)) return loadAgent(resolve(path) === file ? path : file);
  return pickAgent(await loadModule(file), path);
}

function pickAgent(module: Record<string, unknown>, path: string): AgentDefinition {
  if (isDefinition(module["default"])) return module["default"];
  const agents = Object.entries(module).filter(([, value]) => isDefinition(value));
  const [only] = agents;
  if (agents.length === 1 && only !== undefined) return only[1] as AgentDefinition;
  const found =
    agents.length === 0
      ? `${path} exports no agent`
      : `${path} exports ${agents.length} agents (${agents.map(([name]) => name).join(", ")})`;
  throw new UsageError(
    `${found}. Export one by default: export default defineAgent({ name: "…" });`,
    "no_agent_export",
  );
}

/** By its shape: a module may have got `defineAgent` from another copy of this package. */
function isDefinition(value: unknown): value is AgentDefinition {
  if (typeof value !== "object" || value === null) return false;
  const { spec, hash, input, behaviour } = value as Partial<Record<keyof AgentDefinition, unknown>>;
  return (
    typeof spec === "object" &&
    spec !== null &&
    typeof hash === "string" &&
    typeof input === "object" &&
    typeof behaviour === "object"
  );
}

/**
 * Loads the tools of a module that exports them as the array `tools`, or as its default.
 *
 * @param path relative to `cwd`
 * @param version loads the module anew for each number; modules that it imports stay as they are
 * @throws UsageError, ModuleLoadError
 */
export async function loadTools(
  path: string,
  { cwd, version = 0 }: { readonly cwd: string; readonly version?: number },
): Promise<readonly AgentTool[]> {
  if (!moduleExtensions.includes(extname(path).toLowerCase())) {
    throw new UsageError(
      `${path} is not a tools module: expected ${moduleExtensions.join(", ")}.`,
      "unknown_file_type",
    );
  }
  const module = await loadModule(await existingFile(resolve(cwd, path), path), version);
  const tools = module["tools"] ?? module["default"];
  if (Array.isArray(tools) && tools.every(isTool)) return tools;
  throw new UsageError(
    `${path} exports no tools. Export an array of them: export const tools = [defineTool({ name: "…" })];`,
    "no_tools_export",
  );
}

/** By its shape: a module may have got `defineTool` from another copy of this package. */
function isTool(value: unknown): value is AgentTool {
  if (typeof value !== "object" || value === null) return false;
  const { kind, definition } = value as Partial<AgentTool>;
  return (kind === "stateless" || kind === "stateful") && typeof definition?.name === "string";
}

/** A path as people read it: from the working folder where the file is in it, else whole. */
export function displayPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  const isOutside = short === "" || short === ".." || short.startsWith(`..${sep}`);
  return isOutside || isAbsolute(short) ? path : short;
}
