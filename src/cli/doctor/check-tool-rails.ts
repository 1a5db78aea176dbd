import { describeProblem } from "../../definition/problems.ts";
import { railProblems } from "../../definition/tool-name-problems.ts";
import { toolsInside } from "../../definition/agents-inside.ts";
import { count } from "../view/figures.ts";
import { ok, problem, type AgentCheck } from "./finding.ts";

/** Whether argument rules, allowed tools and tools that need approval are tools of the agent. */
export const checkToolRails: AgentCheck = (definition, { found }) => {
  const { spec } = definition;
  const about = { check: "rule", subject: "" };
  // Any name may be that of a tool whose server is down.
  if (found.sources.some(({ error }) => error !== null)) return [];
  const { rules } = spec.guardrail_config.tool_rails;
  const names = [...found.tools.keys()];
  const problems = railProblems(spec, { names }, toolsInside(spec, definition));
  if (problems.length > 0) return problems.map((one) => problem(about, describeProblem(one)));
  if (rules.length === 0) return [];
  return [ok(about, `${count(rules.length, "argument rule")}, for tools that are there.`)];
};
