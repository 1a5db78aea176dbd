import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { errorMessage } from "../../errors.ts";
import { nearestName } from "../../nearest-name.ts";
import { CommunityPackageError, CommunityToolError } from "./errors.ts";

const packageName = "@langchain/community";

/** The oldest version whose tools are known to fit. */
const wantedVersion = "^1.1.29";

/**
 * What a module below `@langchain/community/tools/` exports. `from` is the file whose packages are used.
 * @throws CommunityPackageError; CommunityToolError with near names where there is no such module
 */
export async function importCommunityModule(
  tool: string,
  from: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { folder, modules } = await findPackage(tool, from);
  const file = modules.get(tool);
  if (file === undefined) throw unknownModule(tool, [...modules.keys()]);
  try {
    const location = pathToFileURL(join(folder, file)).href;
    return (await import(/* @vite-ignore */ location)) as Record<string, unknown>;
  } catch (cause) {
    const missing = missingPackage(cause);
    if (missing !== undefined) throw new CommunityPackageError(tool, missing, { cause });
    throw new CommunityToolError(tool, `its module cannot be loaded: ${errorMessage(cause)}`);
  }
}

interface CommunityPackage {
  readonly folder: string;
  /** Files by the names of their modules. */
  readonly modules: ReadonlyMap<string, string>;
}

async function findPackage(tool: string, from: string): Promise<CommunityPackage> {
  let manifest: string;
  try {
    manifest = createRequire(from).resolve(`${packageName}/package.json`);
  } catch (cause) {
    throw new CommunityPackageError(tool, `${packageName}@${wantedVersion}`, { cause });
  }
  const { exports = {} } = JSON.parse(await readFile(manifest, "utf8")) as {
    exports?: Readonly<Record<string, { readonly import?: { readonly default?: string } }>>;
  };
  const modules = new Map<string, string>();
  for (const [name, { import: target }] of Object.entries(exports)) {
    if (!name.startsWith("./tools/") || target?.default === undefined) continue;
    modules.set(name.slice("./tools/".length), target.default);
  }
  return { folder: dirname(manifest), modules };
}

function unknownModule(tool: string, known: readonly string[]): CommunityToolError {
  const [first = tool] = tool.split("_");
  const near = new Set([
    ...[nearestName(tool, known)].filter((name) => name !== undefined),
    ...known.filter((name) => name.split("_")[0] === first),
  ]);
  const hint =
    near.size > 0 ? `Did you mean ${[...near].join(", ")}?` : `There are: ${known.join(", ")}.`;
  return new CommunityToolError(tool, `${packageName} has no module tools/${tool}. ${hint}`);
}

function missingPackage(thrown: unknown): string | undefined {
  if ((thrown as { code?: unknown } | null)?.code !== "ERR_MODULE_NOT_FOUND") return undefined;
  return /^Cannot find package '([^']+)'/.exec(errorMessage(thrown))?.[1];
}
