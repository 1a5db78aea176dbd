import type { AgentSpec } from "../../definition/schema.ts";
import { valueAt } from "../../definition/value-at.ts";
import { StratagraphError } from "../../errors.ts";
import { ok, problemOf, warning, type AgentCheck, type Finding } from "./finding.ts";

/** Whether the models that an agent thinks with can be asked here. None is. */
export const checkModels: AgentCheck = async ({ spec }, { models }) => {
  const { llm_config: config } = spec;
  const own = await modelFinding("", async () => {
    const { ref } = await models.resolve(config);
    const isDefault = config.default_model === undefined;
    const about = { check: "model", subject: ref };
    if (isDefault && ref === "offline:rules") {
      return warning(
        about,
        "The default without a key: it answers by rules, and is no language model.",
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
  const fallback = config.fallback_model;
  const last =
    fallback === undefined || own.status === "problem"
      ? []
      : [ok({ check: "model", subject: fallback }, "Ready: takes over where the other fails.")];
  return [{ ...own, subject: named }, ...last, ...others];
};

async function modelFinding(subject: string, resolve: () => Promise<Finding>): Promise<Finding> {
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
}: AgentSpec): readonly (readonly [ref: string, use: string])[] {
  const found = new Map<string, string>();
  const add = (ref: unknown, use: string) => {
    if (typeof ref === "string" && !found.has(ref)) found.set(ref, use);
  };
  for (const node of graph?.nodes ?? []) {
    add(valueAt(node, ["config", "model"]), `node ${String(valueAt(node, ["name"]))}`);
  }
  add(context_config.summarize_results?.model, "context_config.summarize_results");
  return [...found];
}
