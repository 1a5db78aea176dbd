import type { Random } from "../random.ts";

/** How many runs there are, and how many faults of each kind. */
export interface ChaosSize {
  readonly runs: number;
  /** Processes that take runs. */
  readonly workers: number;
  /** Workers that are ended by SIGKILL. Another one starts for each. */
  readonly kills: number;
  /** Workers that are stopped beyond their lease, and continue. */
  readonly stops: number;
  /** Times that the server ends sessions of workers and of the API. */
  readonly cuts: number;
  /** Times that the server is ended without a checkpoint, and started again. */
  readonly restarts: number;
}

export interface Fault {
  readonly kind: "kill" | "stop" | "cut" | "restart";
  /** It happens when so many runs have ended. */
  readonly after: number;
}

/** Draws faults at random places between the first runs and the last ones, in order. */
export function drawFaults(size: ChaosSize, random: Random): readonly Fault[] {
  const { runs, kills, stops, cuts, restarts } = size;
  const numbers = { kill: kills, stop: stops, cut: cuts, restart: restarts } as const;
  const kinds = Object.entries(numbers) as [Fault["kind"], number][];
  return kinds
    .flatMap(([kind, count]) =>
      Array.from({ length: count }, () => ({ kind, after: random.int(1, Math.ceil(runs * 0.9)) })),
    )
    .toSorted((a, b) => a.after - b.after);
}
