import { toolExecution } from "../../definition/tool-execution.ts";
import {
  fromLangChainTool,
  isLangChainTool,
  type LangChainTool,
} from "../../definition/langchain-tool.ts";
import type { CommunitySpec } from "../../definition/server-schema.ts";
import type { AgentTool, ToolDefinition } from "../../definition/tool.ts";
import { errorMessage } from "../../errors.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { importCommunityModule } from "./community-package.ts";
import { constructorArguments } from "./constructor-arguments.ts";
import { CommunityToolError } from "./errors.ts";

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
  return toolExecution({
    ...(timeout_ms !== undefined && { timeout_ms }),
    ...(retry !== undefined && { retry }),
    ...(idempotent !== undefined && { idempotent }),
    ...(repeatable !== undefined && { repeatable }),
    ...(max_result_bytes !== undefined && { max_result_bytes }),
  });
}
