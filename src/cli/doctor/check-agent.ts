import { compileAgentWith, type CompileServices } from "../../compile/compile-agent.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { describeProblem, InvalidDefinitionError } from "../../definition/problems.ts";
import { StratagraphError } from "../../errors.ts";
import { boundsOf, refusedCalls } from "../bounds-text.ts";
import { runnable } from "../runnable.ts";
import { checkLiterals } from "./check-literals.ts";
import { checkModels } from "./check-models.ts";
import { checkPermissions } from "./check-permissions.ts";
import { checkRails } from "./check-rails.ts";
import { checkSecrets } from "./check-secrets.ts";
import { checkSources } from "./check-sources.ts";
import { checkToolRails } from "./check-tool-rails.ts";
import { ok, problem, problemOf, warning, type DoctorServices, type Finding } from "./finding.ts";

const checks = [
  checkModels,
  checkSources,
  checkPermissions,
  checkSecrets,
  checkLiterals,
  checkRails,
  checkToolRails,
];

const bounds = { check: "bounds", subject: "" };
const about = { check: "agent", subject: "" };

/** All that is looked at of an agent that was loaded. */
export async function checkAgent(
  definition: AgentDefinition,
  services: DoctorServices,
): Promise<readonly Finding[]> {
  const found = await Promise.all(checks.map(async (check) => check(definition, services)));
  const inactive = definition.spec.is_active
    ? []
    : [warning(about, "It is not active.", "Set is_active to true.")];
  return [...inactive, ...found.flat()];
}

/** What the checks of its parts do not see: only for an agent in which they found no problem. */
export async function checkCompiled(
  definition: AgentDefinition,
  services: CompileServices,
): Promise<readonly Finding[]> {
  try {
    await compileAgentWith(runnable(definition), services);
    const inside = boundsOf(definition, services).bounds.filter(({ agents }) => agents.length > 1);
    // What an agent's own definition refuses is found when that is looked at.
    const byOthers = inside.map((one) => {
      const own = one.agents.at(-1);
      const tools = one.tools.filter(({ refusals }) =>
        refusals.every(({ agent }) => agent !== own),
      );
      return { ...one, tools };
    });
    return [
      ok(about, "It loads and compiles."),
      ...byOthers.flatMap(refusedCalls).map((text) => warning(bounds, text)),
    ];
  } catch (thrown) {
    if (!(thrown instanceof StratagraphError)) throw thrown;
    return notLoaded(thrown);
  }
}

/** Why an agent could not be loaded or compiled. */
export function notLoaded(error: StratagraphError): readonly Finding[] {
  if (!(error instanceof InvalidDefinitionError)) return [problemOf(about, error)];
  return error.problems.map((one) => problem(about, describeProblem(one)));
}
