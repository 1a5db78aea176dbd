import { extname, resolve } from "node:path";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import { loadAgent } from "../definition/load-agent.ts";
import { existingFile } from "./existing-file.ts";
import { loadModule, moduleExtensions } from "./load-module.ts";
import { UsageError } from "./usage-error.ts";

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
      `${path} is no agent: expected a definition (${dataExtensions.join(", ")}) or a module (${moduleExtensions.join(", ")}).`,
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
