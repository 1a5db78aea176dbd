import type { ToolSource } from "../find-tools.ts";
import { count, duration } from "../view/figures.ts";
import { ok, problem, problemOf, warning, type AgentCheck, type Finding } from "./finding.ts";

/** Whether tools are there: servers start and list theirs, packages are installed, names are known and clash with no other. */
export const checkSources: AgentCheck = (_definition, { found }) => [
  ...found.sources.flatMap(sourceFindings),
  ...found.clashes.map((clash) => problem({ check: "tool", subject: clash.tool }, clash.message)),
];

const checks: Readonly<Record<ToolSource["kind"], string>> = {
  inline: "tool",
  registry: "tool",
  server: "server",
  package: "package",
};

function sourceFindings(source: ToolSource): readonly Finding[] {
  const { kind, name, tools, notes, error, elapsedMs } = source;
  const about = { check: checks[kind], subject: name };
  if (error !== null) return [problemOf(about, error)];
  if (kind === "package") return [ok(about, "Installed.")];
  if (kind !== "server") return [];
  const listed = `${count(tools.length, "tool")} in ${duration(elapsedMs)}.`;
  const first =
    tools.length === 0 ? warning(about, `It started and gives no tools.`) : ok(about, listed);
  return [first, ...notes.map((note) => warning(about, note))];
}
