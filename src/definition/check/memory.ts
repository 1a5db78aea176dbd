import type { AgentSpec } from "../schema/agent.ts";
import { getAtPath, type DefinitionPath, type DefinitionProblem, showFound } from "./problems.ts";

const longTerm: DefinitionPath = ["memory_config", "long_term"];
const weightNames = ["recency", "frequency", "relevance"] as const;

/** Reports problems of `memory_config` that its schema cannot express. */
export function memoryProblems(written: unknown): readonly DefinitionProblem[] {
  const path = [...longTerm, "consolidation", "weights"];
  const weights = weightNames.map((name) => getAtPath(written, [...path, name]));
  if (!weights.every((weight) => weight === 0)) return [];
  return [{ path, message: "expected at least one weight over 0", found: showFound(0) }];
}

/** Returns what an agent's `memory_config` says without effect, or hardly as it is meant: sentences for users. */
export function memoryWarnings(
  spec: Pick<AgentSpec, "memory_config" | "context_config" | "tools" | "workflow_graph">,
): readonly string[] {
  const { long_term: config, procedural } = spec.memory_config;
  return [
    ...(config.enabled ? enabledWarnings(spec) : disabledWarnings(spec)),
    ...(procedural.enabled && !hasTools(spec)
      ? ["memory_config.procedural: the agent has no tools, so it never learns a pattern."]
      : []),
    ...(procedural.enabled && procedural.min_frequency === 1
      ? [
          "memory_config.procedural.min_frequency: with 1, the tools of every successful turn become a pattern at once.",
        ]
      : []),
    ...(!procedural.enabled && procedural.min_frequency !== defaultFrequency
      ? [
          "memory_config.procedural.min_frequency: without effect, since procedural.enabled is false.",
        ]
      : []),
  ];
}

const defaultFrequency = 3;
const defaultTopK = 5;
const defaultMaxTokens = 1_500;

function hasTools({
  tools,
  workflow_graph: graph,
}: Pick<AgentSpec, "tools" | "workflow_graph">): boolean {
  return tools.length > 0 || (graph?.nodes.length ?? 0) > 0;
}

function disabledWarnings({ memory_config }: Pick<AgentSpec, "memory_config">): readonly string[] {
  const defaults: Readonly<Record<string, unknown>> = { enabled: false, top_k: defaultTopK };
  const keys = Object.entries(memory_config.long_term)
    .filter(([key, value]) => value !== undefined && value !== defaults[key])
    .map(([key]) => key);
  if (keys.length === 0) return [];
  const names = keys.join(", ");
  return [`memory_config.long_term: ${names} without effect, since long_term.enabled is false.`];
}

function enabledWarnings({
  memory_config,
  context_config: { budget },
}: Pick<AgentSpec, "memory_config" | "context_config">): readonly string[] {
  const { max_tokens: own = defaultMaxTokens, consolidation = {} } = memory_config.long_term;
  const { max_tokens: most, max_entry_tokens: longest } = consolidation;
  const figure = (tokens: number) => tokens.toLocaleString("en");
  return [
    ...(budget !== undefined && own >= budget
      ? [
          `memory_config.long_term.max_tokens: memories may take ${figure(own)} tokens of a context of ${figure(budget)} (context_config.budget).`,
        ]
      : []),
    ...(most !== undefined && longest !== undefined && longest > most
      ? [
          `memory_config.long_term.consolidation: one entry may have more tokens (max_entry_tokens ${figure(longest)}) than a thread's entries together (max_tokens ${figure(most)}).`,
        ]
      : []),
  ];
}
