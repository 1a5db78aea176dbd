import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { MemoryBusyError } from "../../memory/errors.ts";
import type { ConsolidateOptions, ConsolidationResult } from "../../memory/memory.ts";

/** Returns the options of a consolidation: those of the definition, with a caller's over them. */
export function consolidationSettings(
  { spec }: AgentDefinition,
  given: {
    readonly strategy?: ConsolidateOptions["strategy"] | undefined;
    readonly max_entries?: number | undefined;
  },
): Omit<ConsolidateOptions, "namespace"> {
  const own = spec.memory_config.long_term.consolidation;
  const options = {
    strategy: given.strategy ?? own?.strategy,
    maxEntries: given.max_entries ?? own?.max_entries,
    minAgeHours: own?.min_age_hours,
    maxTokens: own?.max_tokens,
    importanceThreshold: own?.importance_threshold,
    maxEntryTokens: own?.max_entry_tokens,
    halfLifeHours: own?.half_life_hours,
    archiveEvicted: own?.archive_evicted,
    weights: own?.weights,
  };
  const set = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set);
}

/** The consolidations of agents that run in this process. */
export class Consolidations {
  readonly #running = new Set<string>();

  /**
   * Runs a consolidation of an agent's memory.
   *
   * @throws MemoryBusyError if another one is running here, or has all of its threads in another process
   */
  async run(
    of: {
      readonly tenantId: string;
      readonly agentId: string;
      readonly threadId?: string | undefined;
    },
    work: () => Promise<ConsolidationResult>,
  ): Promise<ConsolidationResult> {
    const key = `${of.tenantId} ${of.agentId}`;
    const busy = () => new MemoryBusyError(of.threadId ?? null);
    if (this.#running.has(key)) throw busy();
    this.#running.add(key);
    try {
      const result = await work();
      const { busy: skipped, ...done } = result;
      if (skipped > 0 && Object.values(done).every((count) => count === 0)) throw busy();
      return result;
    } finally {
      this.#running.delete(key);
    }
  }
}
