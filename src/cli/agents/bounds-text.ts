import { effectiveBounds, type EffectiveBounds } from "../../compile/effective-bounds.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { createToolRegistry, type ToolRegistry } from "../../tools/registry.ts";
import { count } from "../view/figures.ts";

/** The bounds of an agent and of those that came with it, with their own tools and those of a registry. */
export function boundsOf(
  definition: AgentDefinition,
  { tools: registry }: { readonly tools: ToolRegistry },
): ReturnType<typeof effectiveBounds> {
  return effectiveBounds(
    definition,
    (name, { tools }) => createToolRegistry(tools).get(name) ?? registry.get(name),
  );
}

/**
 * Tools whose calls would be refused, but for those that an agent's own `allowed_tools` leave out. Those of servers are seen
 * by `stratagraph doctor`.
 */
export function refusedCalls({ agents, tools }: EffectiveBounds): readonly string[] {
  const [agent = "", ...around] = agents.toReversed();
  return tools.flatMap(({ name, refusals }) => {
    const isOwnChoice = refusals.some((one) => one.agent === agent && one.by === "allowed_tools");
    if (isOwnChoice) return [];
    if (around.length === 0) {
      return refusals.map(({ missing }) => {
        const what = missing.join(", ");
        return `Calls of "${name}" are refused: it requires ${what}. Add it to the agent's permissions.`;
      });
    }
    return refusals.map(({ agent: by, missing }) => {
      const calls = `Calls of "${name}" by ${agents.toReversed().join(" in ")} are refused:`;
      return missing.length === 0
        ? `${calls} allowed_tools of ${by} does not include it. Add it there, or remove it from the tools of ${agent}.`
        : `${calls} it requires ${missing.join(", ")}. Add it to the permissions of ${by}.`;
    });
  });
}

/** What an agent may call, and what not, with whose bounds say so. */
export function boundsText(bounds: EffectiveBounds): string {
  const { agents, allowed, tools, limits, rules } = bounds;
  const by = (names: readonly string[]) => [...new Set(names)].join(", ");
  const callable = tools.filter(({ refusals }) => refusals.length === 0);
  const calls = callable.map(({ name, approval }) =>
    approval.length === 0 ? name : `${name} (approval: ${by(approval.map(approvedFor))})`,
  );
  const others = bounds.hasOthers && allowed === "all" ? ["tools of its servers and packages"] : [];
  const refused = tools.flatMap(({ name, refusals }) =>
    refusals.length === 0
      ? []
      : [`${name} (${by(refusals.map((one) => `${one.by} of ${one.agent}`))})`],
  );
  const ruled = by(rules.map(({ agent, tool }) => `${tool} (${agent})`));
  return [
    `${agents.toReversed().join(" in ")} may call ${[...calls, ...others].join(", ") || "no tool"}`,
    ...(refused.length === 0 ? [] : [`not ${refused.join(", ")}`]),
    ...(ruled === "" ? [] : [`rules on the arguments of ${ruled}`]),
    ...limits.map(({ agent, maxCalls }) => `at most ${count(maxCalls, "call")} a turn (${agent})`),
  ].join("; ");
}

function approvedFor({ agent, by }: EffectiveBounds["tools"][number]["approval"][number]): string {
  return by === "tool" ? "the tool" : agent;
}

/** With the keys of definitions. */
export function boundsJson({
  agents,
  allowed,
  approval,
  tools,
  limits,
  rules,
  permissions,
}: EffectiveBounds) {
  return {
    agents,
    allowed_tools: allowed,
    require_approval: approval,
    permissions,
    max_calls_per_turn: limits.map(({ agent, maxCalls }) => ({ agent, max_calls: maxCalls })),
    rules,
    tools: tools.map(({ name, refusals, approval: asked }) => {
      return { name, refused_by: refusals, approved_for: asked };
    }),
  };
}
