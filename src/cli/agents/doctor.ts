import type { Runtime } from "../../app.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { collectAgents } from "../../definition/check/agents.ts";
import { StratagraphError } from "../../errors.ts";
import { checkAgent, checkCompiled, notLoaded } from "../doctor/agent-checks.ts";
import {
  checkDatabase,
  checkEncryption,
  checkFiles,
  checkNode,
  checkPictures,
  checkTracing,
} from "../doctor/environment-checks.ts";
import type { Finding } from "../doctor/finding.ts";
import { checkMemoryDatabase } from "../doctor/memory-checks.ts";
import type { CliIo } from "../io.ts";
import { loadDefinition, loadTools } from "../load.ts";
import { printJson, printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { findTools, type ToolSource } from "../tools/find.ts";
import { count } from "../view/figures.ts";
import { plainLine, type Style, textWidth, wrapText } from "../view/terminal.ts";
import { outputLayout } from "../view/values.ts";
import { withRuntime } from "./with-runtime.ts";

export interface DoctorCommandOptions {
  readonly tools?: string;
  readonly json?: boolean;
}

/** What was found of an agent. */
interface AgentGroup extends FindingGroup {
  /** As it was given. */
  readonly file: string;
  /** Null where it could not be loaded. */
  readonly definition: AgentDefinition | null;
}

/**
 * `stratagraph doctor`: checks what is around agents, and what each needs to run here. Makes nothing and asks no model;
 * servers that agents name are started, and ended.
 * @throws what loading `--tools` throws
 */
export async function doctorCommand(
  given: DoctorCommandOptions & { readonly agents: readonly string[] },
  io: CliIo,
): Promise<number> {
  const tools = given.tools === undefined ? [] : await loadTools(given.tools, io);
  const around = [
    ...checkNode(process.version),
    ...(await checkDatabase(io)),
    ...checkEncryption(io),
    ...(await checkFiles(io)),
    // Opens the embedded database, which closes its files to other users.
    ...(await checkMemoryDatabase(io)),
    ...(await checkPictures(io)),
    ...checkTracing(io),
  ];
  const agents =
    given.agents.length === 0
      ? []
      : await withRuntime({ tools, root: io.cwd }, io, (runtime) =>
          agentGroups(given.agents, runtime, io),
        );
  const groups = [{ title: "Environment", findings: around }, ...agents];
  const isOk = groups.every(({ findings }) => !hasProblem(findings));
  if (given.json) {
    printJson({ ok: isOk, environment: around, agents: agents.map(agentJson) }, io);
  } else {
    printLines(doctorLines(groups, outputLayout(io)), io);
  }
  return isOk ? exitCodes.done : exitCodes.runFailed;
}

async function agentGroups(
  files: readonly string[],
  runtime: Runtime,
  { cwd }: Pick<CliIo, "cwd">,
): Promise<readonly AgentGroup[]> {
  const asked = new Map<string, Promise<ToolSource>>();
  const loaded = await Promise.all(files.map((file) => loadAgentFile(file, cwd)));
  const groups = await Promise.all(
    loaded.map(async ({ file, outcome }): Promise<readonly AgentGroup[]> => {
      if (outcome instanceof StratagraphError) {
        return [{ file, title: file, definition: null, findings: notLoaded(outcome) }];
      }
      return groupsOf(file, outcome, { runtime, asked });
    }),
  );
  return groups.flat();
}

interface LoadedAgent {
  readonly file: string;
  readonly outcome: AgentDefinition | StratagraphError;
}

async function loadAgentFile(file: string, cwd: string): Promise<LoadedAgent> {
  try {
    return { file, outcome: await loadDefinition(file, cwd) };
  } catch (thrown) {
    if (thrown instanceof StratagraphError) return { file, outcome: thrown };
    throw thrown;
  }
}

/** The agent, and below it those that came with it. */
async function groupsOf(
  file: string,
  outermost: AgentDefinition,
  of: { readonly runtime: Runtime; readonly asked: Map<string, Promise<ToolSource>> },
): Promise<readonly AgentGroup[]> {
  const { runtime, asked } = of;
  const groups = await Promise.all(
    [...collectAgents(outermost)].map(async (definition): Promise<AgentGroup> => {
      const found = await findTools(definition, runtime, asked);
      const findings = await checkAgent(definition, { ...runtime, found });
      const { name, version } = definition.spec;
      const within = definition === outermost ? "" : `, within ${outermost.spec.name}`;
      return { file, title: `${name}@${version} (${file}${within})`, definition, findings };
    }),
  );
  if (groups.some(({ findings }) => hasProblem(findings))) return groups;
  const compiled = await checkCompiled(outermost, runtime);
  return groups.map((group) =>
    group.definition === outermost
      ? { ...group, findings: [...compiled, ...group.findings] }
      : group,
  );
}

function hasProblem(findings: readonly Finding[]): boolean {
  return findings.some(({ status }) => status === "problem");
}

function agentJson({ file, definition, findings }: AgentGroup) {
  return {
    file,
    agent: definition && { name: definition.spec.name, version: definition.spec.version },
    ok: !hasProblem(findings),
    findings,
  };
}

/** The findings of one agent, or of what is around all of them. */
interface FindingGroup {
  readonly title: string;
  readonly findings: readonly Finding[];
}

const marks: Readonly<
  Record<Finding["status"], { readonly mark: string; readonly colour: keyof Style }>
> = {
  ok: { mark: "✓", colour: "green" },
  warning: { mark: "!", colour: "yellow" },
  problem: { mark: "✗", colour: "red" },
};

/** Findings by group, one below the other, and how many are wrong. */
function doctorLines(
  groups: readonly FindingGroup[],
  options: { readonly width: number; readonly style: Style },
): string[] {
  const { style } = options;
  const all = groups.flatMap(({ findings }) => findings);
  const checkWidth = Math.max(0, ...all.map(({ check }) => textWidth(check)));
  const number = (status: Finding["status"]) => all.filter((one) => one.status === status).length;
  const [problems, warnings] = [number("problem"), number("warning")];
  const verdict = problems === 0 ? style.green("Ready") : style.red(count(problems, "problem"));
  return [
    ...groups.flatMap(({ title, findings }) => [
      style.bold(plainLine(title)),
      ...findings.flatMap((finding) => findingLines(finding, checkWidth, options)),
      "",
    ]),
    warnings === 0 ? `${verdict}.` : `${verdict}, ${count(warnings, "warning")}.`,
  ];
}

function findingLines(
  { check, status, subject, message, fix }: Finding,
  checkWidth: number,
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const { mark, colour } = marks[status];
  const margin = " ".repeat(checkWidth + 6);
  const room = Math.max(20, width - margin.length);
  const said = subject === "" ? message : `${subject}: ${message}`;
  const [first = "", ...more] = wrapText(plainLine(said), room);
  const space = " ".repeat(checkWidth - textWidth(check));
  return [
    `  ${style[colour](mark)} ${style.dim(check)}${space}  ${first}`,
    ...more.map((line) => margin + line),
    ...(fix === null ? [] : wrapText(plainLine(`→ ${fix}`), room).map((line) => margin + line)),
  ];
}
