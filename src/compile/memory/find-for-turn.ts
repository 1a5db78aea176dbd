import type { MemoryHit, MemoryReasons } from "../../memory/memory.ts";
import { agentNamespace } from "../../memory/namespace.ts";
import type { MemoryNode } from "../loop/loop-config.ts";
import type { AgentMemoryOptions } from "./recall.ts";
import { isOffered, withoutPlaceholders } from "./remembered-text.ts";

/** Procedures that a turn begins with at most, and how many are read to find them: not all are offered. */
const procedures = { most: 3, read: 20 } as const;

/**
 * Searches for what a turn begins with: entries of all types for the request, then procedures.
 *
 * @throws the errors of the search
 */
export async function findForTurn(
  { memory, spec }: AgentMemoryOptions,
  { user, threadId, isInside }: MemoryNode,
  { request, signal }: { readonly request: string; readonly signal: AbortSignal },
): Promise<readonly MemoryHit[]> {
  const { long_term: longTerm, procedural } = spec.memory_config;
  const text = withoutPlaceholders(request).trim();
  if (text === "") return [];
  const common = {
    namespace: agentNamespace(spec.name, user),
    exact: true,
    text,
    ...(longTerm.min_score !== undefined && { minScore: longTerm.min_score }),
    signal,
  };
  const [entries, patterns] = await Promise.all([
    longTerm.enabled
      ? memory.search({
          ...common,
          types: ["short_term", "episodic", "semantic"],
          topK: longTerm.top_k,
          // The conversation of a nested agent begins with its turn.
          ...(threadId !== null &&
            !isInside && { except: { threadId, types: ["short_term"] as const } }),
        })
      : [],
    memory.search({ ...common, types: ["procedural"], topK: procedures.read }),
  ]);
  const offered = patterns.filter(({ entry }) => isOffered(entry, procedural.min_frequency));
  return [...entries, ...offered.slice(0, procedures.most)];
}

/** Terms and names of a reason that are stored. */
const mostTerms = 10;

export function shortReasons(why: MemoryReasons): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(why).map(([key, value]: [string, unknown]) => [
      key,
      typeof value === "number"
        ? rounded(value)
        : Array.isArray(value)
          ? value.slice(0, mostTerms)
          : value,
    ]),
  );
}

export function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
