import { extname, resolve } from "node:path";
import type { AgentTool } from "../definition/tool.ts";
import { existingFile } from "./existing-file.ts";
import { loadModule, moduleExtensions } from "./load-module.ts";
import { UsageError } from "./usage-error.ts";

/**
 * Loads the tools of a module that exports them as the array `tools`, or as its default.
 *
 * @param path relative to `cwd`
 * @throws UsageError, ModuleLoadError
 */
export async function loadTools(path: string, cwd: string): Promise<readonly AgentTool[]> {
  if (!moduleExtensions.includes(extname(path).toLowerCase())) {
    throw new UsageError(
      `${path} is no module of tools: expected ${moduleExtensions.join(", ")}.`,
      "unknown_file_type",
    );
  }
  const module = await loadModule(await existingFile(resolve(cwd, path), path));
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
