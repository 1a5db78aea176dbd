import { describeProblem } from "../../definition/check/problems.ts";
import { packageVersion } from "../../own-package.ts";
import type { CliIo } from "../io.ts";
import { plainText, textWidth } from "../view/terminal.ts";
import { outputLayout } from "../view/values.ts";
import type { FolderCheck } from "./dev-folder.ts";

/** What a development server prints of itself. */
export interface StartFacts {
  readonly url: string;
  /** The folder of definitions, as it is shown. */
  readonly folder: string;
  /** The model of definitions that name none. */
  readonly model: string;
  /** Where threads are stored. */
  readonly data: string;
  /** The port that was wanted and is taken; null if it was free. */
  readonly takenPort: number | null;
  /** Milliseconds from the start of the process. */
  readonly elapsedMs: number;
}

/** Renders the block that is printed when the server listens. */
export function startLines(
  facts: StartFacts,
  check: FolderCheck,
  io: Pick<CliIo, "stdout" | "env">,
): readonly string[] {
  const { style } = outputLayout(io);
  const { url, model } = facts;
  const row = (name: string, value: string, note = "") =>
    `  ${style.dim(name.padEnd(11))}${value}${note === "" ? "" : `  ${style.dim(note)}`}`;
  const about =
    model === "offline:rules"
      ? "rules, no language model: needs no key and no network"
      : "of definitions that name none";
  return [
    "",
    `  ${style.bold("stratagraph dev")} ${packageVersion()}  ${style.dim(`ready in ${(facts.elapsedMs / 1000).toFixed(1)} s`)}`,
    "",
    row("Inspector", style.cyan(`${url}/inspector/`)),
    row("API", style.cyan(`${url}/v1/docs`)),
    row("LangGraph", style.cyan(url), "for its SDK, RemoteGraph and Studio"),
    row("Model", plainText(model), about),
    row("Data", plainText(facts.data)),
    ...(facts.takenPort === null
      ? []
      : [row("Port", style.yellow(`${facts.takenPort} is taken, so this is the next free one`))]),
    "",
    ...checkLines(check, io),
    "",
    `  ${style.dim("No keys are needed: every program on this machine has all rights.")}`,
    `  ${style.dim(`Watching ${plainText(facts.folder)}. Ctrl-C stops the server.`)}`,
    "",
  ];
}

/** Renders agents, files that are left out, and problems. */
function checkLines(check: FolderCheck, io: Pick<CliIo, "stdout" | "env">): readonly string[] {
  const { style } = outputLayout(io);
  const { agents, leftOut, problems } = check;
  const titles = agents.map(({ name, version }) => `${name} ${version}`);
  const width = Math.max(
    0,
    ...titles.map(textWidth),
    ...leftOut.map(({ file }) => textWidth(file)),
  );
  const cell = (text: string) => text + " ".repeat(width - textWidth(text));
  const block = (name: string, lines: readonly string[]) =>
    lines.map((line, index) => `  ${style.dim((index === 0 ? name : "").padEnd(11))}${line}`);
  return [
    ...block(
      "Agents",
      agents.length === 0
        ? ["none yet: write one, such as agent.yaml with the line  name: helper"]
        : agents.map(
            ({ file }, index) => `${cell(titles[index] ?? "")}  ${style.dim(plainText(file))}`,
          ),
    ),
    ...block(
      "Left out",
      leftOut.map(({ file, reason }) => `${plainText(cell(file))}  ${style.dim(reason)}`),
    ),
    ...(problems.length === 0 ? [] : ["", ...problemLinesOf(check, io)]),
  ];
}

/** Problems that are printed; the route has all. */
const maxShown = 50;

function problemLinesOf(
  { problems }: FolderCheck,
  io: Pick<CliIo, "stdout" | "env">,
): readonly string[] {
  const { style } = outputLayout(io);
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  const more = problems.length - maxShown;
  return [
    `  ${style.red(count)}`,
    ...problems.slice(0, maxShown).map((problem) => `    ${plainText(describeProblem(problem))}`),
    ...(more > 0 ? [`    … and ${more} more`] : []),
  ];
}

/** Renders what a check changed; nothing if agents and problems are as before. */
export function changeLines(
  before: FolderCheck,
  after: FolderCheck,
  io: Pick<CliIo, "stdout" | "env">,
): readonly string[] {
  if (before.revision === after.revision) return [];
  const { style } = outputLayout(io);
  const known = new Map(before.agents.map((agent) => [agent.name, agent]));
  const names = new Set(after.agents.map(({ name }) => name));
  return [
    ...after.agents.flatMap(({ name, version, file }) => {
      const earlier = known.get(name);
      if (earlier?.version === version) return [];
      const verb = earlier === undefined ? "Added" : "Reloaded";
      return [`  ${style.green(verb)} ${name} ${version}  ${style.dim(plainText(file))}`];
    }),
    ...before.agents
      .filter(({ name }) => !names.has(name))
      .map(
        ({ name, version, file }) =>
          `  ${style.yellow("Removed")} ${plainText(file)}: ${name} ${version} stays in the database`,
      ),
    ...(after.problems.length > 0
      ? problemLinesOf(after, io)
      : before.problems.length > 0
        ? [`  ${style.green("No problems.")}`]
        : []),
  ];
}
