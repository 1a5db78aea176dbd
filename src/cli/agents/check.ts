import { compileAgent, type Runtime } from "../../app.ts";
import type { EffectiveBounds } from "../../compile/effective-bounds.ts";
import { memoryToolsOf } from "../../compile/memory/memory-tools.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { memoryWarnings } from "../../definition/check/memory.ts";
import { InvalidDefinitionError, problemLines } from "../../definition/check/problems.ts";
import { isClientTool } from "../../definition/tool/tool.ts";
import { StratagraphError } from "../../errors.ts";
import { MissingApiKeyError } from "../../models/errors.ts";
import { boundsJson, boundsOf, boundsText, refusedCalls } from "./bounds-text.ts";
import type { CliIo } from "../io.ts";
import { loadDefinition, loadTools } from "../load.ts";
import { printJson, printLines } from "../output.ts";
import { errorJson, exitCodes } from "../report-error.ts";
import { resolveModels } from "./resolve-models.ts";
import { withDryRunModel, withRuntime } from "./with-runtime.ts";
import { count } from "../view/figures.ts";
import { labelledLines, plainLine, plainText, type Style, wrapText } from "../view/terminal.ts";
import { outputLayout } from "../view/values.ts";

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
  /** What the agent and those inside of it may call; empty where no agent is inside. */
  readonly bounds: readonly EffectiveBounds[];
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
  const tools = given.tools === undefined ? [] : await loadTools(given.tools, io);
  const findings: Finding[] = [];
  await withRuntime({ tools, root: io.cwd }, io, async (runtime) => {
    for (const file of given.agents) findings.push(await check(file, runtime, io.cwd));
  });
  const ok = findings.every(({ problems }) => problems.length === 0);
  if (given.json) {
    printJson({ ok, files: findings.map(findingJson) }, io);
  } else {
    const view = outputLayout(io);
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
  if (definition === null) return { file, definition, problems, warnings: [], bounds: [], notes };
  const { spec } = definition;
  if (!spec.is_active) notes.push("The agent is inactive: is_active is false.");
  const ofCaller = definition.tools.filter(isClientTool).map((tool) => tool.definition.name);
  if (ofCaller.length > 0) notes.push(`The caller of a run runs (client): ${ofCaller.join(", ")}.`);
  // One by one, since compiling stops at the first that is missing.
  const own = [...definition.tools, ...memoryToolsOf(definition, runtime.tools)];
  const inline = new Set(own.map((tool) => tool.definition.name));
  const named = spec.tools.filter((tool) => typeof tool === "string");
  for (const name of new Set(named)) {
    if (!inline.has(name)) await attempt(() => runtime.tools.resolve([name]));
  }
  for (const { error } of await resolveModels(spec.llm_config, runtime.models)) {
    await attempt(() => {
      if (error !== null) throw error;
    });
  }
  const { embedding_model: embeddings, extraction_model: extracts } = spec.memory_config.long_term;
  if (embeddings !== undefined) await attempt(() => runtime.memory?.(embeddings));
  if (extracts !== undefined) {
    await attempt(() => runtime.models.resolve({ ...spec.llm_config, default_model: extracts }));
  }
  if (problems.length === 0)
    await attempt(() => compileAgent(withDryRunModel(definition), runtime));
  const { bounds, isWhole } = boundsOf(definition, runtime);
  if (!isWhole) notes.push(`Only the first ${bounds.length} nested agents were checked.`);
  const warnings = [...bounds.flatMap(refusedCalls), ...memoryWarnings(spec)];
  return { file, definition, problems, warnings, bounds: bounds.length > 1 ? bounds : [], notes };
}

function findingLines(
  finding: Finding,
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const { file, definition, problems, warnings, bounds, notes } = finding;
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
    ...bounds.flatMap((one) => {
      const options = { width, colour: style.dim, indent: 2 };
      return labelledLines("bounds:", plainText(boundsText(one)), options);
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

function findingJson({ file, definition, problems, warnings, bounds, notes }: Finding) {
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
    ...(bounds.length > 0 && { bounds: bounds.map(boundsJson) }),
    notes,
  };
}
