import { resolve } from "node:path";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { existingFolder, loadDefinition, loadTools } from "../load.ts";
import {
  findTools,
  type FoundTools,
  listTools,
  rankTools,
  registryTools,
  toolProblems,
  type ToolRanking,
} from "./find.ts";
import type { CliIo } from "../io.ts";
import { printJson, printLines } from "../output.ts";
import { errorJson, exitCodes } from "../report-error.ts";
import { plainLine } from "../view/terminal.ts";
import { rankingLines, toolTable } from "../view/run/tool-line.ts";
import { outputLayout } from "../view/values.ts";
import { withRuntime } from "../agents/with-runtime.ts";

export interface ToolsOptions {
  readonly tools?: string;
  readonly root?: string;
  readonly json?: boolean;
}

export interface ToolsListOptions extends ToolsOptions {
  /** The task, in words. */
  readonly task?: string;
}

/**
 * `stratagraph tools list`: the tools of the runtime, or those of an agent, whose servers are started for it.
 * @throws what loading the agent and `--tools` throw
 */
export async function toolsListCommand(
  given: ToolsListOptions & { readonly agent: string | undefined },
  io: CliIo,
): Promise<number> {
  const { task } = given;
  const { definition, options } = await prepareTools(given, io);
  const { found, ranking } = await withRuntime(options, io, async (services, signal) => {
    const all =
      definition === null ? registryTools(services) : await findTools(definition, services);
    if (task === undefined) return { found: all, ranking: null };
    return { found: all, ranking: await rankTools(task, all, { definition, services, signal }) };
  });
  const problems = toolProblems(found);
  if (given.json) printJson(toolsJson(found, definition, ranking), io);
  else printLines(toolsLines(found, definition, ranking, io), io);
  return problems.length === 0 ? exitCodes.done : exitCodes.runFailed;
}

/**
 * The agent, and what a runtime for its tools is made of.
 * @throws what loading them throws
 */
export async function prepareTools(
  given: ToolsOptions & { readonly agent: string | undefined },
  io: CliIo,
) {
  const definition = given.agent === undefined ? null : await loadDefinition(given.agent, io.cwd);
  const tools = given.tools === undefined ? [] : await loadTools(given.tools, io);
  const root = resolve(io.cwd, given.root ?? ".");
  if (given.root !== undefined) await existingFolder(root, given.root);
  return { definition, options: { tools, root } };
}

function toolsJson(
  found: FoundTools,
  definition: AgentDefinition | null,
  ranking: ToolRanking | null,
) {
  return {
    agent: definition && { name: definition.spec.name, version: definition.spec.version },
    tools: listTools(found, definition),
    ...(ranking !== null && {
      selection: {
        task: ranking.task,
        ranked: ranking.ranked,
        refused: ranking.refused,
        above: ranking.above,
        top_k: ranking.topK,
        min_score: ranking.minScore,
      },
    }),
    problems: toolProblems(found).map(errorJson),
    notes: notesOf(found),
  };
}

function toolsLines(
  found: FoundTools,
  definition: AgentDefinition | null,
  ranking: ToolRanking | null,
  io: CliIo,
): string[] {
  const view = outputLayout(io);
  const { style } = view;
  const listed = listTools(found, definition);
  const table = ranking === null ? toolTable(listed, view) : rankingLines(ranking, view);
  const below = [
    ...notesOf(found).map((note) => `${style.yellow("!")} ${plainLine(note)}`),
    ...toolProblems(found).map(
      ({ message, code }) => `${style.red("✗")} ${plainLine(message)} ${style.dim(`[${code}]`)}`,
    ),
  ];
  return [
    ...(listed.length === 0 ? ["No tools."] : table),
    ...(below.length === 0 ? [] : ["", ...below]),
  ];
}

function notesOf({ sources }: FoundTools): readonly string[] {
  return sources.flatMap(({ notes }) => notes);
}
