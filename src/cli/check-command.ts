import { compileAgent, type Runtime } from "../app.ts";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import { InvalidDefinitionError, problemLines } from "../definition/problems.ts";
import { StratagraphError } from "../errors.ts";
import { MissingApiKeyError } from "../models/errors.ts";
import { missingPermissions } from "../tools/admit-call.ts";
import { createToolRegistry } from "../tools/registry.ts";
import type { CliIo } from "./io.ts";
import { loadDefinition } from "./load-definition.ts";
import { loadTools } from "./load-tools.ts";
import { printLines } from "./print.ts";
import { errorJson, exitCodes } from "./report-error.ts";
import { runnable } from "./runnable.ts";
import { count } from "./view/figures.ts";
import { plainLine, plainText } from "./view/plain-text.ts";
import { labelledLines } from "./view/labelled-lines.ts";
import type { Style } from "./view/style.ts";
import { wrapText } from "./view/text-width.ts";
import { viewOf } from "./view/view-of.ts";
import { withRuntime } from "./with-runtime.ts";

export interface CheckCommandOptions {
  readonly tools?: string;
  readonly json?: boolean;
}

/** What was found of one file. */
interface Finding {
  /** As it was given. */
  readonly file: string;
  readonly definition: AgentDefinition | null;
  readonly problems: readonly StratagraphError[];
  /** What the agent runs with, and hardly as it is meant to. */
  readonly warnings: readonly string[];
  /** What is no fault of the definition and still keeps it from running here. */
  readonly notes: readonly string[];
}

/**
 * `stratagraph check`: finds what is wrong with agents without running them.
 * @throws what loading `--tools` throws
 */
export async function checkCommand(
  given: CheckCommandOptions & { readonly agents: readonly string[] },
  io: CliIo,
): Promise<number> {
  const tools = given.tools === undefined ? [] : await loadTools(given.tools, io.cwd);
  const findings: Finding[] = [];
  await withRuntime({ tools, root: io.cwd }, io, async (runtime) => {
    for (const file of given.agents) findings.push(await check(file, runtime, io.cwd));
  });
  const ok = findings.every(({ problems }) => problems.length === 0);
  if (given.json) {
    io.stdout.write(`${JSON.stringify({ ok, files: findings.map(findingJson) }, null, 2)}\n`);
  } else {
    const view = viewOf(io);
    printLines(
      findings.flatMap((finding) => findingLines(finding, view)),
      io,
    );
  }
  return ok ? exitCodes.done : exitCodes.wrongUse;
}

async function check(file: string, runtime: Runtime, cwd: string): Promise<Finding> {
  const problems: StratagraphError[] = [];
  const notes: string[] = [];
  const attempt = async <Value>(part: () => Value): Promise<Awaited<Value> | null> => {
    try {
      return await part();
    } catch (thrown) {
      if (!(thrown instanceof StratagraphError)) throw thrown;
      if (thrown instanceof MissingApiKeyError) notes.push(thrown.message);
      else problems.push(thrown);
      return null;
    }
  };
  const definition = await attempt(() => loadDefinition(file, cwd));
  if (definition === null) return { file, definition, problems, warnings: [], notes };
  const { spec } = definition;
  if (!spec.is_active) notes.push("It is not active: is_active is false.");
  // One by one, since compiling stops at the first that is missing.
  const inline = new Set(definition.tools.map((tool) => tool.definition.name));
  const named = spec.tools.filter((tool) => typeof tool === "string");
  for (const name of new Set(named)) {
    if (!inline.has(name)) await attempt(() => runtime.tools.resolve([name]));
  }
  await attempt(() => runtime.models.resolve(spec.llm_config));
  if (problems.length === 0) await attempt(() => compileAgent(runnable(definition), runtime));
  const warnings = permissionWarnings(definition, runtime);
  return { file, definition, problems, warnings, notes };
}

/** Tools whose calls would be refused. Those of servers are seen by `stratagraph doctor`. */
function permissionWarnings(
  { spec, tools }: AgentDefinition,
  { tools: registry }: Pick<Runtime, "tools">,
): readonly string[] {
  const { allowed_tools: allowed } = spec.guardrail_config.tool_rails;
  const inline = createToolRegistry(tools);
  const named = spec.tools.filter((tool) => typeof tool === "string");
  const names = new Set([...inline.names(), ...named]);
  return [...names].flatMap((name) => {
    const tool = inline.get(name) ?? registry.get(name);
    if (tool === undefined || (allowed !== "all" && !allowed.includes(name))) return [];
    const missing = missingPermissions(tool, spec.permissions).join(", ");
    if (missing === "") return [];
    return `Calls of "${name}" are refused: it requires ${missing}. Add it to the agent's permissions.`;
  });
}

function findingLines(
  finding: Finding,
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const { file, definition, problems, warnings, notes } = finding;
  const told = problems.flatMap(describe);
  const all = problems.reduce((sum, error) => sum + countOf(error), 0);
  const found = all === 0 ? style.green("ok") : style.red(count(all, "problem"));
  const name = definition === null ? "" : `${definition.spec.name}@${definition.spec.version} `;
  return [
    `${found} ${name}(${plainLine(file)})`,
    ...told.flatMap((text) => wrapText(`  ${plainText(text)}`, width)),
    ...warnings.flatMap((text) => {
      const options = { width, colour: style.yellow, indent: 2 };
      return labelledLines("warning:", plainText(text), options);
    }),
    ...notes.flatMap((text) => {
      return labelledLines("note:", plainText(text), { width, colour: style.dim, indent: 2 });
    }),
  ];
}

function describe(error: StratagraphError): string[] {
  if (error instanceof InvalidDefinitionError) return problemLines(error.problems);
  return [`${error.message} [${error.code}]`];
}

function countOf(error: StratagraphError): number {
  return error instanceof InvalidDefinitionError ? error.problems.length : 1;
}

function findingJson({ file, definition, problems, warnings, notes }: Finding) {
  return {
    file,
    ok: problems.length === 0,
    ...(definition && { agent: { name: definition.spec.name, version: definition.spec.version } }),
    problems: problems.flatMap((error) =>
      error instanceof InvalidDefinitionError
        ? error.problems.map((problem) => ({ code: error.code, ...problem }))
        : [errorJson(error)],
    ),
    warnings,
    notes,
  };
}
