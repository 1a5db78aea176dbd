import type { RunnableConfig } from "@langchain/core/runnables";
import { PrivateConfig } from "./private-config.ts";

/**
 * Active time of a turn while one run of its graph lasts, in milliseconds of a monotonic clock. It counts from the run's
 * first node without a gap: what checkpoints and other runs of the process take between nodes is part of it.
 */
export class TurnTime {
  #startedAt: number | null = null;

  /**
   * The turn's active time at `now`.
   * @param stored active time in the state that a node was given; null where the node begins the turn
   */
  elapsed(now: number, stored: number | null): number {
    if (stored === null) this.#startedAt = now;
    this.#startedAt ??= now - (stored ?? 0);
    return Math.max(stored ?? 0, now - this.#startedAt);
  }
}

const turnTimes = new PrivateConfig<TurnTime>("turn_time");

/** Gives a run of a graph a time of its own. */
export function withTurnTime<Config extends RunnableConfig>(config: Config): Config {
  return turnTimes.with(config, new TurnTime());
}

/** The time of the run that a node is part of. */
export function turnTime(config: RunnableConfig): TurnTime {
  return turnTimes.in(config) ?? new TurnTime();
}
