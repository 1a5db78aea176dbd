import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { CommunitySpec } from "../definition/schema/servers.ts";
import {
  fromLangChainTool,
  isLangChainTool,
  type LangChainTool,
} from "../definition/tool/langchain-tool.ts";
import {
  type AgentTool,
  type ToolDefinition,
  resolveToolExecution,
} from "../definition/tool/tool.ts";
import { errorMessage } from "../errors.ts";
import { nearestName } from "../nearest-name.ts";
import { CommunityPackageError, CommunityToolError } from "./registry.ts";
import type { Secrets } from "./secrets.ts";

const packageName = "@langchain/community";

/** The oldest version whose tools are known to fit. */
const wantedVersion = "^1.1.29";

/**
 * What a module below `@langchain/community/tools/` exports. `from` is the file whose packages are used.
 * @throws CommunityPackageError; CommunityToolError with near names where there is no such module
 */
async function importCommunityModule(
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

/** Parameters of the constructors of `@langchain/community` that take values one by one instead of an object. */
const positional: Readonly<Record<string, readonly string[]>> = {
  BingSerpAPI: ["apiKey", "params"],
  IFTTTWebhook: ["url", "name", "description"],
  SearchApi: ["apiKey", "params"],
  SerpAPI: ["apiKey", "params", "baseUrl"],
  Serper: ["apiKey", "params"],
};

/**
 * What a class is constructed with, of the options that a definition gives it.
 * @throws TypeError for an option that its constructor has no place for
 */
function constructorArguments(
  className: string,
  options: Readonly<Record<string, unknown>>,
): readonly unknown[] {
  const names = Object.hasOwn(positional, className) ? positional[className] : undefined;
  if (names === undefined) return [options];
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return names.map((name) => options[name]);
  throw new TypeError(`${className} takes ${names.join(", ")}, and no "${unknown}"`);
}

export interface CommunityToolOptions {
  readonly secrets: Secrets;
  /** The file, as a path or file URL, whose packages are used. Default: this package's. */
  readonly from?: string;
}

type Constructor = new (...args: unknown[]) => unknown;

/**
 * A tool of `@langchain/community` by the name of its module. Secrets in its options are resolved here, since its
 * constructor needs them: what it holds must never be written down. Only its definition is, which has no options.
 * @throws CommunityPackageError, CommunityToolError, MissingSecretError, InvalidToolError
 */
export async function loadCommunityTool(
  spec: CommunitySpec,
  { secrets, from = import.meta.url }: CommunityToolOptions,
): Promise<AgentTool> {
  const [className, Class] = classOf(spec, await importCommunityModule(spec.tool, from));
  const options = (await resolved(spec.options, secrets)) as Readonly<Record<string, unknown>>;
  const tool = construct(
    spec,
    () => new Class(...constructorArguments(className, options)),
    secrets,
  );
  const made = fromLangChainTool(named(spec, tool));
  const definition: ToolDefinition = Object.freeze({
    ...made.definition,
    display_name: className,
    execution: executionOf(spec),
    permissions: (spec.permissions ?? []).map((name) => Object.freeze({ name, required: true })),
    requires_approval: spec.requires_approval ?? false,
  });
  return Object.freeze({ ...made, definition });
}

function classOf(
  spec: CommunitySpec,
  exports: Readonly<Record<string, unknown>>,
): readonly [name: string, Class: Constructor] {
  const classes = Object.entries(exports).filter((entry): entry is [string, Constructor] =>
    isToolClass(entry[1]),
  );
  const names = classes.map(([name]) => name).join(", ");
  if (spec.class !== undefined) {
    const found = classes.find(([name]) => name === spec.class);
    if (found !== undefined) return found;
    throw new CommunityToolError(
      spec.tool,
      `its module has no tool class "${spec.class}". It has: ${names || "none"}.`,
    );
  }
  const [only, ...others] = classes;
  if (only === undefined) throw new CommunityToolError(spec.tool, "its module has no tool class.");
  if (others.length === 0) return only;
  throw new CommunityToolError(
    spec.tool,
    `its module has several tool classes; name one with "class": ${names}.`,
  );
}

function isToolClass(value: unknown): boolean {
  if (typeof value !== "function") return false;
  const prototype: unknown = value.prototype;
  return typeof (prototype as { invoke?: unknown } | null | undefined)?.invoke === "function";
}

/** Options with the secrets in their texts, however deep. */
async function resolved(value: unknown, secrets: Secrets): Promise<unknown> {
  if (typeof value === "string") return secrets.resolve(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Promise.all(value.map((item) => resolved(item, secrets)));
  const entries = Object.entries(value).map(
    async ([key, item]) => [key, await resolved(item, secrets)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

function construct({ tool }: CommunitySpec, make: () => unknown, secrets: Secrets): LangChainTool {
  let made: unknown;
  try {
    made = make();
  } catch (thrown) {
    // Not kept as the cause: it may hold what it was given.
    throw new CommunityToolError(
      tool,
      `it cannot be made with these options: ${secrets.scrub(errorMessage(thrown))}`,
    );
  }
  if (isLangChainTool(made)) return made;
  throw new CommunityToolError(tool, "its class makes something that is no tool.");
}

/** Under a name that models take, with a description. */
function named({ tool: module }: CommunitySpec, tool: LangChainTool): LangChainTool {
  const name = tool.name.replaceAll(/[^A-Za-z0-9_-]+/g, "_").slice(0, 64);
  return {
    name: name === "" ? module.replaceAll("/", "_").slice(0, 64) : name,
    description: tool.description.trim() || `The tool ${module} of @langchain/community.`,
    schema: tool.schema,
    invoke: (input, config) => tool.invoke(input, config),
  };
}

function executionOf({ execution = {} }: CommunitySpec): ToolDefinition["execution"] {
  const { timeout_ms, retry, idempotent, repeatable, max_result_bytes } = execution;
  return resolveToolExecution({
    ...(timeout_ms !== undefined && { timeout_ms }),
    ...(retry !== undefined && { retry }),
    ...(idempotent !== undefined && { idempotent }),
    ...(repeatable !== undefined && { repeatable }),
    ...(max_result_bytes !== undefined && { max_result_bytes }),
  });
}
