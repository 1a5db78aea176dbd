import type { InputRailSpec, OutputRailSpec } from "../../definition/guardrail-schema.ts";
import { StratagraphError } from "../../errors.ts";
import { createRails } from "../../guardrails/create-rails.ts";
import { ok, problemOf, type AgentCheck, type Finding } from "./finding.ts";

/** Whether every rail of a definition can be made, and the models that judge can be asked. */
export const checkRails: AgentCheck = async (definition, services) => {
  const { spec } = definition;
  const { input_rails: input, output_rails: output } = spec.guardrail_config;
  const custom = [...definition.rails, ...(services.rails ?? [])];
  const only = (rails: object) => ({
    guardrail_config: { ...spec.guardrail_config, input_rails: [], output_rails: [], ...rails },
  });
  const judged = async (rail: InputRailSpec): Promise<string> => {
    const judge =
      rail.type === "injection" || rail.type === "topic" ? rail.config.judge : undefined;
    if (judge === undefined) return "Ready.";
    await services.models.resolve({ ...spec.llm_config, default_model: judge });
    return `Ready, with ${judge} as its judge.`;
  };
  return Promise.all([
    ...input.map((rail) =>
      railFinding(`input ${nameOf(rail)}`, async () => {
        await createRails(only({ input_rails: [rail] }), custom);
        return judged(rail);
      }),
    ),
    ...output.map((rail) =>
      railFinding(`output ${nameOf(rail)}`, async () => {
        await createRails(only({ output_rails: [rail] }), custom);
        return "Ready.";
      }),
    ),
  ]);
};

async function railFinding(subject: string, make: () => Promise<string>): Promise<Finding> {
  const about = { check: "rail", subject };
  try {
    return ok(about, await make());
  } catch (thrown) {
    if (thrown instanceof StratagraphError) return problemOf(about, thrown);
    throw thrown;
  }
}

function nameOf(rail: InputRailSpec | OutputRailSpec): string {
  return rail.type === "custom" ? rail.name : rail.type;
}
