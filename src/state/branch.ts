import type { CurrentStep } from "./step-record.ts";

/** Where a branch is when it has come to the end of the workflow and waits for the others. */
export const endOfWorkflow = "END";

/**
 * One way that a workflow is under way on: the node it has come to, and what it brings along. A fan-out makes several
 * of one; a join makes one of several.
 */
export interface Branch {
  readonly id: string;
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
  update: BranchUpdate,
): readonly Branch[] {
  if ("only" in update) return update.only;
  const left = new Set(update.leave);
  const stay = left.size === 0 ? branches : branches.filter(({ id }) => !left.has(id));
  return update.enter.length === 0 ? stay : [...stay, ...update.enter];
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
