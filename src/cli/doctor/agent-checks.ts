import { compileAgentWith, type CompileServices } from "../../compile/compile-agent.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { findNestedToolNames, collectAgents } from "../../definition/check/agents.ts";
import {
  describeProblem,
  InvalidDefinitionError,
  getAtPath,
} from "../../definition/check/problems.ts";
import { impliedTools, railProblems } from "../../definition/check/tools.ts";
import type { AgentSpec } from "../../definition/schema/agent.ts";
import type { InputRailSpec, OutputRailSpec } from "../../definition/schema/guardrails.ts";
import { intersectGrants, isGranted } from "../../definition/tool/tool.ts";
import { StratagraphError } from "../../errors.ts";
import { listPrices, type Price, priceOf, pricesAsOf } from "../../models/usage/prices.ts";
import { createRails } from "../../guardrails/create-rails.ts";
import { missingPermissions } from "../../tools/admit-call.ts";
import { boundsOf, refusedCalls } from "../agents/bounds-text.ts";
import { resolveModels } from "../agents/resolve-models.ts";
import { withDryRunModel } from "../agents/with-runtime.ts";
import type { ToolSource } from "../tools/find.ts";
import { count, duration } from "../view/figures.ts";
import {
  type AgentCheck,
  type DoctorServices,
  type Finding,
  ok,
  problem,
  problemOf,
  warning,
} from "./finding.ts";
import { checkMemory } from "./memory-checks.ts";
import { checkLiterals, checkSecrets } from "./secret-checks.ts";

/** Whether argument rules, allowed tools and tools that need approval are tools of the agent. */
const checkToolRails: AgentCheck = (definition, { found }) => {
  const { spec } = definition;
  const about = { check: "rule", subject: "" };
  // Any name may be that of a tool whose server is down.
  if (found.sources.some(({ error }) => error !== null)) return [];
  const { rules } = spec.guardrail_config.tool_rails;
  const names = [...found.tools.keys()];
  const problems = railProblems(spec, { names }, findNestedToolNames(spec, definition));
  if (problems.length > 0) return problems.map((one) => problem(about, describeProblem(one)));
  if (rules.length === 0) return [];
  return [ok(about, `${count(rules.length, "argument rule")}, all for existing tools.`)];
};

const aboutAgent = { check: "agent", subject: "" };

/** Whether every rail of a definition can be made, and the models that judge can be asked. */
const checkRails: AgentCheck = async (definition, services) => {
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

/** Whether what tools require is granted, and what is granted is required by one. */
const checkPermissions: AgentCheck = (definition, { found }) => {
  const { spec } = definition;
  const { permissions: grants } = spec;
  const { allowed_tools: allowed } = spec.guardrail_config.tool_rails;
  const tools = [...found.tools.values()]
    .map(({ tool }) => tool)
    .filter(({ definition: { name } }) => allowed === "all" || allowed.includes(name));
  const refused = tools.flatMap((tool) => {
    const missing = missingPermissions(tool, grants);
    if (missing.length === 0) return [];
    const names = missing.join(", ");
    const about = { check: "permissions", subject: tool.definition.name };
    const message = `Its calls are refused: it requires ${names}, which the agent is not granted.`;
    return [warning(about, message, `Add to the agent's permissions: ${names}`)];
  });
  const asked = tools.flatMap(({ definition: tool }) => tool.permissions.map(({ name }) => name));
  const ofMemory = Object.values(impliedTools);
  const used = spec.memory_config.long_term.enabled ? [...asked, ...ofMemory] : asked;
  const inside = [...collectAgents(definition)].filter((agent) => agent !== definition);
  // What servers that are down would ask for is not known.
  const isWhole = found.sources.every(({ error }) => error === null);
  const unused = isWhole
    ? grants
        .filter((grant) => !used.some((name) => isGranted(name, [grant])))
        // It bounds what agents inside are granted.
        .filter((grant) =>
          inside.every(
            ({ spec: { permissions } }) => intersectGrants([grant], permissions).length === 0,
          ),
        )
        .map((grant) =>
          warning(
            { check: "permissions", subject: grant },
            "It is granted, but no tool of the agent requires it.",
            "Remove it from the agent's permissions.",
          ),
        )
    : [];
  const findings = [...refused, ...unused];
  if (findings.length > 0 || asked.length === 0) return findings;
  return [
    ok(
      { check: "permissions", subject: "" },
      "All permissions that its tools require are granted.",
    ),
  ];
};

/** Whether tools are there: servers start and list theirs, packages are installed, names are known and clash with no other. */
const checkSources: AgentCheck = (_definition, { found }) => [
  ...found.sources.flatMap(sourceFindings),
  ...found.clashes.map((clash) => problem({ check: "tool", subject: clash.tool }, clash.message)),
];

const sourceChecks: Readonly<Record<ToolSource["kind"], string>> = {
  inline: "tool",
  registry: "tool",
  server: "server",
  package: "package",
  http: "tool",
};

/** Checks whether the models of an agent can be called here. It calls none. */
const checkModels: AgentCheck = async ({ spec }, { models }) => {
  const { llm_config: config } = spec;
  const [chosen, ...fallbacks] = await resolveModels(config, models);
  const own = await modelFinding("", () => {
    const { ref, error } = chosen;
    if (error !== null) throw error;
    const isDefault = config.default_model === undefined;
    const about = { check: "model", subject: ref };
    if (isDefault && ref === "offline:rules") {
      return warning(
        about,
        "The default without a key: a rule-based stand-in, not a language model.",
        "Name a model in llm_config.default_model, or set OPENAI_API_KEY or STRATAGRAPH_MODEL.",
      );
    }
    return ok(about, isDefault ? "The default, since the definition names none." : "Ready.");
  });
  const named = own.subject === "" ? (config.default_model ?? "default") : own.subject;
  const others = await Promise.all(
    otherModels(spec).map(([ref, use]) =>
      modelFinding(ref, async () => {
        await models.resolve({ ...config, default_model: ref });
        return ok({ check: "model", subject: ref }, `Ready: ${use}.`);
      }),
    ),
  );
  const last = await Promise.all(
    fallbacks.map(({ ref: subject, error }) =>
      modelFinding(subject, () => {
        if (error !== null) throw error;
        return ok({ check: "model", subject }, "Ready: fallback model.");
      }),
    ),
  );
  const refs = [
    named,
    ...[...last, ...others].filter(({ status }) => status === "ok").map(({ subject }) => subject),
  ];
  const prices = [...new Set(refs)].flatMap((ref) => priceFindings(ref, models.priceOf?.(ref)));
  return [
    { ...own, subject: named },
    ...last,
    ...others,
    ...(own.status === "problem" ? [] : prices),
  ];
};

/** What is known of a model's price; nothing for local models, and for sources of models that do not say. */
function priceFindings(ref: string, price: Price | null | undefined): readonly Finding[] {
  const about = { check: "price", subject: ref };
  if (price === null) {
    return [
      warning(
        about,
        "It is not known, so the cost of runs is unknown.",
        `Name a JSON file in STRATAGRAPH_PRICES: { "${ref}": { "input": …, "output": … } }, in US dollars for a million tokens.`,
      ),
    ];
  }
  if (price === undefined || (price.input === 0 && price.output === 0)) return [];
  const origin = price === priceOf(ref, listPrices) ? `List price as of ${pricesAsOf}` : "As set";
  return [ok(about, `${origin}: $${price.input} in, $${price.output} out for a million tokens.`)];
}

const checks = [
  checkModels,
  checkSources,
  checkPermissions,
  checkSecrets,
  checkLiterals,
  checkRails,
  checkToolRails,
  checkMemory,
];

const bounds = { check: "bounds", subject: "" };

/** All that is looked at of an agent that was loaded. */
export async function checkAgent(
  definition: AgentDefinition,
  services: DoctorServices,
): Promise<readonly Finding[]> {
  const found = await Promise.all(checks.map(async (check) => check(definition, services)));
  const inactive = definition.spec.is_active
    ? []
    : [warning(aboutAgent, "The agent is inactive.", "Set is_active to true.")];
  return [...inactive, ...found.flat()];
}

/** What the checks of its parts do not see: only for an agent in which they found no problem. */
export async function checkCompiled(
  definition: AgentDefinition,
  services: CompileServices,
): Promise<readonly Finding[]> {
  try {
    await compileAgentWith(withDryRunModel(definition), services);
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
      ok(aboutAgent, "It loads and compiles."),
      ...byOthers.flatMap(refusedCalls).map((text) => warning(bounds, text)),
    ];
  } catch (thrown) {
    if (!(thrown instanceof StratagraphError)) throw thrown;
    return notLoaded(thrown);
  }
}

/** Why an agent could not be loaded or compiled. */
export function notLoaded(error: StratagraphError): readonly Finding[] {
  if (!(error instanceof InvalidDefinitionError)) return [problemOf(aboutAgent, error)];
  return error.problems.map((one) => problem(aboutAgent, describeProblem(one)));
}

async function modelFinding(
  subject: string,
  resolve: () => Promise<Finding> | Finding,
): Promise<Finding> {
  try {
    return await resolve();
  } catch (thrown) {
    if (thrown instanceof StratagraphError) return problemOf({ check: "model", subject }, thrown);
    throw thrown;
  }
}

/** Models that single parts of a definition name, each once, and the first of the parts. */
function otherModels({
  workflow_graph: graph,
  context_config,
  memory_config: { long_term: memory },
}: AgentSpec): readonly (readonly [ref: string, use: string])[] {
  const found = new Map<string, string>();
  const add = (ref: unknown, use: string) => {
    if (typeof ref === "string" && !found.has(ref)) found.set(ref, use);
  };
  for (const node of graph?.nodes ?? []) {
    add(getAtPath(node, ["config", "model"]), `node ${String(getAtPath(node, ["name"]))}`);
  }
  add(context_config.summarize_results?.model, "context_config.summarize_results");
  if (memory.enabled) add(memory.extraction_model, "memory_config.long_term.extraction_model");
  return [...found];
}

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

function sourceFindings(source: ToolSource): readonly Finding[] {
  const { kind, name, tools, notes, error, elapsedMs } = source;
  const about = { check: sourceChecks[kind], subject: name };
  if (error !== null) return [problemOf(about, error)];
  if (kind === "package") return [ok(about, "Installed.")];
  if (kind !== "server") return [];
  const listed = `${count(tools.length, "tool")} in ${duration(elapsedMs)}.`;
  const first =
    tools.length === 0 ? warning(about, `It started, but lists no tools.`) : ok(about, listed);
  return [first, ...notes.map((note) => warning(about, note))];
}
