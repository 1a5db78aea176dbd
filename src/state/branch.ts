import { isRecord } from "./is-record.ts";
import type { CurrentStep } from "./step-record.ts";
import { StateUpdateError } from "./update-error.ts";

/** Where a branch is when it has come to the end of the workflow and waits for the others. */
export const endOfWorkflow = "END";

/**
 * One way that a workflow is under way on: the node it has come to, and what it brings along. A fan-out makes several
 * of one; a join makes one of several.
 */
export interface Branch {
  readonly id: string;
  /** Number of the superstep in which it was made. */
  readonly superstep: number;
  /** The node that runs next on it, or {@link endOfWorkflow}. */
  readonly at: string;
  /** The node it comes from; empty at the entry point. */
  readonly from: string;
  /** ISO 8601: when it came to `at`. */
  readonly since: string;
  /** The llm node that spoke last on it, which `last` is about in expressions. */
  readonly last: string | null;
  /** `step_index` of the records of this attempt that were made on the way here, ascending; those of routers are left out. */
  readonly steps: readonly number[];
  /** Steps under way: their calls wait for a tool node. More than one only where branches have met. */
  readonly open: readonly CurrentStep[];
  /** Keys of the tiers (`execution.sum`) that the node it comes from has changed. */
  readonly wrote: readonly string[];
  /** How often nodes that can come round again were entered in this attempt. */
  readonly visits: Readonly<Record<string, number>>;
}

/** Branches that leave a node and those that take their place; `only` replaces all that there are. */
export type BranchUpdate =
  | { readonly leave: readonly string[]; readonly enter: readonly Branch[] }
  | { readonly only: readonly Branch[] };

/** The order in which nodes of one superstep write makes no difference to which branches are there. */
export function reduceBranches(
  branches: readonly Branch[],
  update: BranchUpdate | readonly Branch[],
): readonly Branch[] {
  // Whoever edits the state by hand writes it whole.
  if (Array.isArray(update)) return update as readonly Branch[];
  if (!isRecord(update) || !("only" in update || "leave" in update)) {
    throw new StateUpdateError("branches", "a list of branches");
  }
  if ("only" in update) return update.only;
  const left = new Set(update.leave);
  const stay = left.size === 0 ? branches : branches.filter(({ id }) => !left.has(id));
  return update.enter.length === 0 ? stay : [...stay, ...update.enter];
}

/** Two nodes of one superstep that have changed the same key of a tier, each without the change of the other. */
export function conflictOf(
  branches: readonly Branch[],
): { readonly key: string; readonly nodes: readonly [string, string] } | null {
  const writers = new Map<string, string>();
  for (const { superstep, from, wrote } of branches) {
    for (const key of wrote) {
      const place = `${superstep} ${key}`;
      const other = writers.get(place) ?? from;
      if (other !== from) return { key, nodes: [other, from] };
      writers.set(place, from);
    }
  }
  return null;
}

/** What several branches that come to one node bring along together. */
export function joinBranches(
  arrived: readonly [Branch, ...Branch[]],
): Pick<Branch, "last" | "steps" | "open" | "visits" | "since"> {
  const [first] = arrived;
  if (arrived.length === 1) return first;
  const visits: Record<string, number> = {};
  for (const branch of arrived) {
    for (const [node, count] of Object.entries(branch.visits)) {
      visits[node] = Math.max(visits[node] ?? 0, count);
    }
  }
  const steps = [...new Set(arrived.flatMap((branch) => branch.steps))].toSorted((a, b) => a - b);
  return {
    // Several may have spoken: the first in the order in which they arrived.
    last: arrived.find((branch) => branch.last !== null)?.last ?? null,
    steps,
    open: arrived.flatMap((branch) => branch.open),
    visits,
    since: arrived.reduce((latest, { since }) => (since > latest ? since : latest), first.since),
  };
}
