import { extname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { errorMessage, StratagraphError } from "../errors.ts";
import { UsageError } from "./usage-error.ts";

export const moduleExtensions: readonly string[] = [".js", ".mjs", ".ts", ".mts"];

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
export async function loadModule(file: string): Promise<Record<string, unknown>> {
  if (typescriptExtensions.includes(extname(file))) await ensureTypeScript(file);
  try {
    const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
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
      `${file} is TypeScript, and tsx, which loads it, is not installed. Install it: npm install --save-dev tsx`,
      "missing_tsx",
      { cause },
    );
  }
}

/** `line:column` inside the file where it went wrong, as the stack has it; for a syntax error the line alone. */
function placeIn(file: string, thrown: unknown): string {
  const stack = thrown instanceof Error ? (thrown.stack ?? "") : "";
  for (const name of [pathToFileURL(file).href, file]) {
    const start = stack.indexOf(`${name}:`);
    if (start >= 0) return /^\d+(?::\d+)?/.exec(stack.slice(start + name.length + 1))?.[0] ?? "";
  }
  return "";
}
